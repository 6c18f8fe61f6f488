"""Where the data lives: crowds in parts, on one machine or many (see :mod:`seqtruth.engine.base`)."""

from os import PathLike
from typing import Any

from seqtruth.data.crowd import Crowd
from seqtruth.engine.base import Facts, Labels, Parts, SparkFrame, Sums, add
from seqtruth.engine.changed import ChangedParts
from seqtruth.engine.memory import MemoryParts
from seqtruth.engine.remembered import Remembered
from seqtruth.engine.result import StoredResult
from seqtruth.engine.streaming import ParquetParts
from seqtruth.errors import DataError

__all__ = [
    "ChangedParts",
    "Facts",
    "Labels",
    "MemoryParts",
    "ParquetParts",
    "Parts",
    "Remembered",
    "SparkFrame",
    "StoredResult",
    "Sums",
    "add",
    "as_parts",
    "stream",
]


def stream(path: str | PathLike[str], scheme: str | None = None) -> ParquetParts:
    """A Parquet table that need not fit into memory, for ``method.fit``.

    Parameters
    ----------
    path : a long table of token rows (``docs/formats.md``): a file, a folder of files or a pattern.
    scheme : the label scheme; detected where not given.

    Examples
    --------
    ::

        result = st.AggSLC().fit(st.stream("labels/*.parquet"))
        result.write("truth.parquet")
    """
    return ParquetParts(path, scheme)


def as_parts(data: Any) -> Parts:
    """A crowd in parts, from itself, from a crowd in memory or from a Spark frame."""
    if isinstance(data, Parts):
        return data
    if isinstance(data, Crowd):
        return MemoryParts(data)
    from seqtruth.engine.spark import SparkParts, is_spark_frame

    if is_spark_frame(data):
        return SparkParts.of(data)
    raise DataError(
        "cannot aggregate this", got=type(data).__name__, fix="st.read it first, or st.stream it"
    )
