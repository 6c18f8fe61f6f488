"""Where the data lives: crowds in parts, on one machine or many (see :mod:`seqtruth.engine.base`)."""

from typing import Any

from seqtruth.engine.base import Facts, Labels, Parts, SparkFrame, Sums, add
from seqtruth.engine.result import PartsResult
from seqtruth.errors import DataError

__all__ = ["Facts", "Labels", "Parts", "PartsResult", "SparkFrame", "Sums", "add", "as_parts"]


def as_parts(data: Any) -> Parts:
    """A crowd in parts, from itself or from a Spark frame."""
    if isinstance(data, Parts):
        return data
    if hasattr(data, "mapInArrow"):
        from seqtruth.engine.spark import SparkParts

        return SparkParts.of(data)
    raise DataError(
        "cannot aggregate this", got=type(data).__name__, fix="st.read it first, or st.stream it"
    )
