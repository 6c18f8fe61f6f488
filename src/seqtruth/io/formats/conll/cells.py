"""Compiled passes over the bytes of CoNLL text: its lines, their cells, and the cells' numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seqtruth.io.text_batch import Texts
from seqtruth.kernels.arrays import I32, I64, Bool
from seqtruth.kernels.native import call

U8 = npt.NDArray[np.uint8]


class Room:
    """Arrays that serve one block after the other: new memory costs as much as what is put into it."""

    def __init__(self) -> None:
        self._held: dict[str, npt.NDArray[Any]] = {}

    def take(self, name: str, n: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """The array of that name, with room for ``n``; it holds what it held before."""
        held = self._held.get(name)
        if held is None or len(held) < n:
            held = self._held[name] = np.empty(n + n // 8, dtype)
        return held[:n]


def find_lines(buffer: U8, room: Room) -> tuple[I64, I64, Bool]:
    """Start and end of each line (all end in a line feed), and whether it holds anything visible."""
    n = call("count_lines", buffer)
    starts, ends = room.take("starts", n, np.int64), room.take("ends", n, np.int64)
    filled = room.take("filled", n, np.bool_)
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


def read_cells(
    buffer: U8, lines: tuple[I64, I64, I64], gap: Bool, n_columns: int, room: Room
) -> Cells | None:
    """The cells of lines that have ``n_columns`` each; None where one has another number.

    Parameters
    ----------
    lines : starts and ends of all lines, and which to read.
    gap : bytes that separate cells.
    n_columns : 0: any number, and only the first cell is read.
    room : where what is read is put; it is overwritten when the next block is read.
    """
    n, n_tags = len(lines[2]), max(0, n_columns - 1)
    codes = room.take("codes", n * n_tags, np.int32).reshape(n, n_tags)
    sizes = room.take("sizes", n, np.int32)
    data, names = (room.take(name, len(buffer), np.uint8) for name in ("data", "names"))
    offsets = room.take("offsets", codes.size + 2, np.int32)
    state = np.zeros(2, np.int64)
    out = (sizes, data, codes, names, offsets, state)
    if call("read_cells", buffer, *lines, gap, n_columns, *out) < n:
        return None
    n_names, n_bytes = state.tolist()
    held = names[: offsets[n_names]].tobytes()
    borders = offsets[: n_names + 1].tolist()
    texts = [held[a:b].decode() for a, b in pairwise(borders)]
    return Cells(Texts(sizes, data[:n_bytes]), codes, texts)
