"""Sums as rows of a table: how small arrays travel from the parts to where they are added up.

An array is cut into pieces, so that a big table of counts does not make a big row, and so that pieces
can be added up apart from each other on many machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from seqtruth.engine.base import Sums

#: Numbers in one row.
PIECE = 1024

SCHEMA = pa.schema(
    {
        "partition": pa.int32(),
        "part": pa.int32(),
        "name": pa.string(),
        "piece": pa.int32(),
        "dtype": pa.string(),
        "shape": pa.list_(pa.int64()),
        "data": pa.binary(),
    }
)


def to_rows(partition: int, part: int, sums: Sums) -> Iterator[pa.RecordBatch]:
    """Sums as rows of at most PIECE numbers each, so that batches of them stay small."""
    rows: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for name, array in sums.items():
        flat = np.ascontiguousarray(array).reshape(-1)
        for piece, a in enumerate(range(0, max(1, len(flat)), PIECE)):
            values = (partition, part, name, piece, flat.dtype.str, list(np.shape(array)))
            for column, value in zip(rows, (*values, flat[a : a + PIECE].tobytes()), strict=True):
                rows[column].append(value)
    if rows["name"]:
        yield pa.record_batch(list(rows.values()), schema=SCHEMA)


def merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pieces sorted by name, number and partition, added up over partitions, in that order."""
    rows = (row for batch in batches for row in batch.to_pylist())
    done = [_merged(same) for _, same in groupby(rows, lambda row: (row["name"], row["piece"]))]
    if done:
        yield pa.RecordBatch.from_pylist(done, schema=SCHEMA)


def _merged(rows: Iterator[dict[str, Any]]) -> dict[str, Any]:
    first = next(rows)
    total = np.frombuffer(first["data"], np.dtype(first["dtype"]))
    for row in rows:
        total = total + np.frombuffer(row["data"], total.dtype)
    return {**first, "partition": 0, "data": total.tobytes()}


def from_rows(rows: Iterable[Any]) -> list[Sums]:
    """The sums that rows in any order are of, in the order of partitions and parts."""
    parts: dict[tuple[int, int], dict[str, list[Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["partition"], row["part"], row["piece"])):
        part = parts.setdefault((row["partition"], row["part"]), {})
        part.setdefault(row["name"], []).append(row)
    return [{name: _array(pieces) for name, pieces in part.items()} for part in parts.values()]


def _array(pieces: list[Any]) -> np.ndarray:
    data = b"".join(bytes(piece["data"]) for piece in pieces)
    return np.frombuffer(data, np.dtype(pieces[0]["dtype"])).reshape(pieces[0]["shape"]).copy()
