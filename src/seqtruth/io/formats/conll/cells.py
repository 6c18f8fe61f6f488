"""Compiled passes over the bytes of CoNLL text: its lines, their cells, and the cells' numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seqtruth.io.text_batch import Texts
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


class Cells(NamedTuple):
    """The first cell of each line, and numbers in ``names`` for the others, [rows, columns - 1]."""

    tokens: Texts
    codes: I32
    names: list[str]


def read_cells(buffer: U8, lines: tuple[I64, I64, I64], gap: Bool, n_columns: int) -> Cells | None:
    """The cells of lines that have ``n_columns`` each; None where one has another number.

    Parameters
    ----------
    lines : starts and ends of all lines, and which to read.
    gap : bytes that separate cells.
    n_columns : 0: any number, and only the first cell is read.
    """
    rows = lines[2]
    codes = np.empty((len(rows), max(0, n_columns - 1)), np.int32)
    sizes, data = np.empty(len(rows), np.int32), np.empty(len(buffer), np.uint8)
    names, offsets = np.empty(len(buffer), np.uint8), np.empty(codes.size + 2, np.int32)
    state = np.zeros(2, np.int64)
    room = (sizes, data, codes, names, offsets, state)
    if call("read_cells", buffer, *lines, gap, n_columns, *room) < len(rows):
        return None
    n_names, n_bytes = state.tolist()
    held = names[: offsets[n_names]].tobytes()
    borders = offsets[: n_names + 1].tolist()
    texts = [held[a:b].decode() for a, b in pairwise(borders)]
    return Cells(Texts(sizes, data[:n_bytes]), codes, texts)
