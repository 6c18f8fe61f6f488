"""Anything that can be aggregated, opened: files, frames, crowds in memory or in parts."""

from __future__ import annotations

from typing import Any

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.engine.base import Parts
from seqtruth.errors import DataError
from seqtruth.io import read

#: A crowd, a crowd in parts, anything that :func:`seqtruth.read` reads (a path, several paths, a pandas,
#: Polars or Arrow table), or a Spark frame.
Readable = Any


def opened(
    source: Readable, format: str | None = None, scheme: str | None = None, **options: Any
) -> Crowd | Parts:
    """The crowd, in memory or in parts, that ``source`` is or holds.

    Parameters
    ----------
    source : anything :data:`Readable`.
    format, scheme : of files, where they are not to be found from the content.
    options : of :func:`seqtruth.read`.
    """
    if isinstance(source, Crowd | Parts):
        return source
    if isinstance(source, Labelling):
        return source.as_crowd()
    from seqtruth.engine.spark import SparkParts, is_spark_frame

    if is_spark_frame(source):
        return SparkParts.of(source)
    return read(source, format, scheme, **options)


def in_parts(source: Readable) -> bool:
    """Whether ``source`` is a crowd in parts or a Spark frame, told without opening it."""
    from seqtruth.engine.spark import is_spark_frame

    return isinstance(source, Parts) or is_spark_frame(source)


def opened_crowd(
    source: Readable, format: str | None = None, scheme: str | None = None, **options: Any
) -> Crowd:
    """Likewise, where it must be in memory."""
    found = opened(source, format, scheme, **options)
    if isinstance(found, Parts):
        raise DataError(
            "the whole crowd is needed in memory",
            got="a crowd in parts",
            fix="read it with st.read",
        )
    return found
