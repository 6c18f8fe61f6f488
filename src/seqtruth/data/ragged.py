"""Segments of different lengths in one flat array, marked off by offsets (CSR): how to select them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.errors import DataError

Selection = npt.NDArray[Any] | Sequence[Any] | slice


def offsets_of(lengths: Sequence[int] | npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Offsets (one more entry) of segments with these lengths."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, dtype=np.int64, out=offsets[1:])
    return offsets


def whole_numbers(column: npt.ArrayLike) -> npt.NDArray[np.integer[Any]]:
    """A column of numbers as it is, where it is one; lists become long numbers."""
    found = np.asarray(column)
    return found if found.dtype in (np.int32, np.int64) else np.asarray(column, np.int64)


def in_order(first: npt.NDArray[np.integer[Any]], second: npt.NDArray[np.integer[Any]]) -> bool:
    """Whether pairs are sorted by the first and then the second, none twice."""
    same = first[1:] == first[:-1]
    return bool((first[1:] >= first[:-1]).all() and (second[1:] > second[:-1])[same].all())


def gather(
    offsets: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """CSR selection: offsets of the chosen segments laid side by side, and the flat places to take.

    >>> gather(np.array([0, 2, 2, 5]), np.array([2, 0]))[1].tolist()
    [2, 3, 4, 0, 1]
    """
    starts = offsets[:-1][chosen]
    lengths = offsets[1:][chosen] - starts
    out = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return out, np.repeat(starts - out[:-1], lengths) + np.arange(out[-1])


def places(selection: Selection, n: int) -> npt.NDArray[np.int64]:
    """Numbers of the chosen among ``n``, from a mask, numbers (negative ones count back) or a slice."""
    if isinstance(selection, slice):
        return np.arange(n)[selection]
    array = np.asarray(selection)
    if array.dtype == np.bool_:
        if array.shape != (n,):
            raise DataError(f"a mask must have {n} entries", got=str(array.shape))
        return np.flatnonzero(array)
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise DataError("select sentences by a mask, a slice or numbers", got=str(array.dtype))
    if array.min() < -n or array.max() >= n:
        raise DataError(f"sentence numbers must be below {n}", got=str(array.max()))
    return np.where(array < 0, array + n, array).astype(np.int64)


def column_bytes(column: pa.Array) -> Iterator[Any]:
    """A column of texts as bytes to be hashed: the lengths of all, then the texts themselves."""
    flat = column.cast(pa.large_string())
    offsets = np.frombuffer(flat.buffers()[1], np.int64)[flat.offset : flat.offset + len(flat) + 1]
    yield np.diff(offsets).data
    if flat.buffers()[2] is not None:
        yield memoryview(flat.buffers()[2])[offsets[0] : offsets[-1]]
