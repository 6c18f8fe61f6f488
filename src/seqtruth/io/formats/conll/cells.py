"""Compiled passes over the bytes of CoNLL text: its lines, their cells, and the cells' numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.kernels.arrays import I32, I64, Bool
from seqtruth.kernels.jit import kernel

U8 = npt.NDArray[np.uint8]


@kernel
def find_lines(buffer: U8) -> tuple[I64, I64, Bool]:
    """Start and end of each line (all end in a line feed), and whether it holds anything visible."""
    n = 0
    for i in range(len(buffer)):
        n += buffer[i] == 10
    starts, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    filled = np.zeros(n, np.bool_)
    line = start = 0
    for i in range(len(buffer)):
        if buffer[i] == 10:
            starts[line], ends[line] = start, i
            line += 1
            start = i + 1
        elif buffer[i] > 32:
            filled[line] = True
    return starts, ends, filled


@kernel
def count_cells(buffer: U8, starts: I64, ends: I64, rows: I64, gap: Bool) -> I64:
    """Number of cells on each of the lines ``rows``."""
    counts = np.zeros(len(rows), np.int64)
    for k in range(len(rows)):
        inside = False
        for i in range(starts[rows[k]], line_end(buffer, starts[rows[k]], ends[rows[k]])):
            if gap[buffer[i]]:
                inside = False
            elif not inside:
                inside = True
                counts[k] += 1
    return counts


@kernel
def find_cells(
    buffer: U8, starts: I64, ends: I64, rows: I64, gap: Bool, n_cells: int
) -> tuple[I64, I64]:
    """First byte of each cell and the one after its last, line after line."""
    first, last = np.empty(n_cells, np.int64), np.empty(n_cells, np.int64)
    n = 0
    for k in range(len(rows)):
        end = line_end(buffer, starts[rows[k]], ends[rows[k]])
        inside = False
        for i in range(starts[rows[k]], end):
            if gap[buffer[i]]:
                if inside:
                    last[n] = i
                    n += 1
                inside = False
            elif not inside:
                inside = True
                first[n] = i
        if inside:
            last[n] = end
            n += 1
    return first, last


@kernel
def line_end(buffer: U8, start: int, end: int) -> int:
    """The line's end without the carriage return before the line feed."""
    return end - 1 if end > start and buffer[end - 1] == 13 else end


@kernel
def number_cells(buffer: U8, first: I64, last: I64, n_columns: int) -> tuple[I32, I32]:
    """A number for each cell but those of the first column, equal where the bytes are.

    Returns int32[rows, n_columns - 1], and the first cell that has each number.
    """
    n_rows = len(first) // n_columns
    codes = np.empty((n_rows, n_columns - 1), np.int32)
    firsts = np.empty(64, np.int32)
    table = np.full(256, -1, np.int32)
    n = 0
    for row in range(n_rows):
        for column in range(n_columns - 1):
            c = row * n_columns + column + 1
            if row:  # most often what stands above
                above = c - n_columns
                if same_bytes(buffer, first[c], last[c], first[above], last[above]):
                    codes[row, column] = codes[row - 1, column]
                    continue
            if n * 2 > len(table):  # make room, and put what is known in its new place
                table = np.full(len(table) * 4, -1, np.int32)
                for k in range(n):
                    slot = hash_bytes(buffer, first[firsts[k]], last[firsts[k]]) & (len(table) - 1)
                    while table[slot] >= 0:
                        slot = (slot + 1) & (len(table) - 1)
                    table[slot] = k
            slot = hash_bytes(buffer, first[c], last[c]) & (len(table) - 1)
            while table[slot] >= 0:
                known = firsts[table[slot]]
                if same_bytes(buffer, first[c], last[c], first[known], last[known]):
                    break
                slot = (slot + 1) & (len(table) - 1)
            if table[slot] < 0:
                if n == len(firsts):
                    firsts = np.concatenate((firsts, np.empty(n, np.int32)))
                table[slot] = n
                firsts[n] = c
                n += 1
            codes[row, column] = table[slot]
    return codes, firsts[:n]


@kernel
def hash_bytes(buffer: U8, first: int, last: int) -> int:
    """A number from the bytes (FNV-1a, 32 bits)."""
    h = 0x811C9DC5
    for i in range(first, last):
        h = ((h ^ int(buffer[i])) * 0x01000193) & 0xFFFFFFFF
    return h ^ (h >> 15)


@kernel
def same_bytes(buffer: U8, a: int, a_end: int, b: int, b_end: int) -> bool:
    """Whether two stretches of the buffer are equal."""
    if a_end - a != b_end - b:
        return False
    i = 0
    while i < a_end - a and buffer[a + i] == buffer[b + i]:
        i += 1
    return i == a_end - a


@kernel
def copy_cells(buffer: U8, first: I64, last: I64) -> tuple[I64, U8]:
    """The cells' bytes one after the other, and where each begins."""
    offsets = np.zeros(len(first) + 1, np.int64)
    for c in range(len(first)):
        offsets[c + 1] = offsets[c] + last[c] - first[c]
    data = np.empty(offsets[-1], np.uint8)
    for c in range(len(first)):
        data[offsets[c] : offsets[c + 1]] = buffer[first[c] : last[c]]
    return offsets, data


def texts(buffer: U8, first: I64, last: I64) -> pa.Array:
    """The cells as strings."""
    offsets, data = copy_cells(buffer, first, last)
    return pa.LargeStringArray.from_buffers(len(first), pa.py_buffer(offsets), pa.py_buffer(data))
