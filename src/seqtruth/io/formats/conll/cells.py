"""Compiled passes over the bytes of CoNLL text: its lines, their cells, and the cells' numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.kernels.arrays import I32, I64, Bool
from seqtruth.kernels.native import call

U8 = npt.NDArray[np.uint8]


def find_lines(buffer: U8) -> tuple[I64, I64, Bool]:
    """Start and end of each line (all end in a line feed), and whether it holds anything visible."""
    n = call("count_lines", buffer)
    starts, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    filled = np.zeros(n, np.bool_)
    call("find_lines", buffer, starts, ends, filled)
    return starts, ends, filled


def count_cells(buffer: U8, starts: I64, ends: I64, rows: I64, gap: Bool) -> I64:
    """Number of cells on each of the lines ``rows``."""
    counts = np.empty(len(rows), np.int64)
    call("count_cells", buffer, starts, ends, rows, gap, counts)
    return counts


def find_cells(
    buffer: U8, starts: I64, ends: I64, rows: I64, gap: Bool, n_cells: int
) -> tuple[I64, I64]:
    """First byte of each cell and the one after its last, line after line."""
    first, last = np.empty(n_cells, np.int64), np.empty(n_cells, np.int64)
    call("find_cells", buffer, starts, ends, rows, gap, first, last)
    return first, last


def number_cells(buffer: U8, first: I64, last: I64, n_columns: int) -> tuple[I32, I32]:
    """A number for each cell but those of the first column, equal where the bytes are.

    Returns int32[rows, n_columns - 1], and the first cell that has each number.
    """
    codes = np.empty((len(first) // n_columns, n_columns - 1), np.int32)
    firsts = np.empty(codes.size, np.int32)
    return codes, firsts[: call("number_cells", buffer, first, last, codes, firsts)].copy()


def copy_cells(buffer: U8, first: I64, last: I64) -> tuple[I64, U8]:
    """The cells' bytes one after the other, and where each begins."""
    offsets = np.zeros(len(first) + 1, np.int64)
    np.cumsum(last - first, out=offsets[1:])
    data = np.empty(offsets[-1], np.uint8)
    call("copy_cells", buffer, first, offsets, data)
    return offsets, data


def texts(buffer: U8, first: I64, last: I64) -> pa.Array:
    """The cells as strings."""
    offsets, data = copy_cells(buffer, first, last)
    return pa.LargeStringArray.from_buffers(len(first), pa.py_buffer(offsets), pa.py_buffer(data))
