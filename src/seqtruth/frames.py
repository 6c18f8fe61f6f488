"""Tables in the library a user works with: Arrow always, pandas or Polars where asked for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from seqtruth.errors import MissingExtraError, ParameterError

LIBRARIES = ("arrow", "pandas", "polars")


def in_library(table: pa.Table, library: str = "arrow") -> Any:
    """An Arrow table as a table of ``library``.

    >>> in_library(pa.table({"label": ["B-PER"]}), "pandas")["label"].tolist()
    ['B-PER']
    """
    if library not in LIBRARIES:
        raise ParameterError(f"library must be one of {', '.join(LIBRARIES)}", got=repr(library))
    if library == "arrow":
        return table
    try:
        if library == "pandas":
            return table.to_pandas()
        import polars

        return polars.from_arrow(table)
    except ImportError as error:
        raise MissingExtraError(library, "frames", f"library={library!r}") from error
