"""Sums of chosen rows of a table: all that the CRF does with its features, forwards and backwards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F64, I32, I64
from seqtruth.kernels.native import call
from seqtruth.kernels.threads import map_chunks, threads

#: So many rows are added up in less time than it takes to wake another thread a few times.
FEW = 200_000


class RowSums(NamedTuple):
    """Row r of the result is the sum of the rows ``chosen[start[r]:start[r + 1]]`` of a table.

    start : int64[R+1].
    chosen : int32[N]; a row chosen twice counts twice.
    """

    start: I64
    chosen: I32

    def of(self, table: F64, out: F64 | None = None) -> F64:
        """float64[R, L] from a table [*, L], each row added up in the order of ``chosen``.

        >>> RowSums(np.array([0, 2, 2]), np.array([0, 2], np.int32)).of(np.arange(6.0).reshape(3, 2))
        array([[4., 6.],
               [0., 0.]])
        """
        found = np.empty((len(self.start) - 1, table.shape[1])) if out is None else out
        map_chunks(
            lambda a, b: call("sum_rows", self.start, self.chosen, table, a, b, found),
            _bounds(self.start),
        )
        return found

    def turned(self, n_rows: int) -> RowSums:
        """The way back from results to a table of ``n_rows``: who chose each row, in their order."""
        start = np.zeros(n_rows + 1, np.int64)
        start[1:] = np.cumsum(np.bincount(self.chosen, minlength=n_rows))
        back = np.empty(len(self.chosen), np.int32)
        call("turn_rows", self.start, self.chosen, start[:-1].copy(), back)
        return RowSums(start, back)


def _bounds(start: I64) -> I64:
    """Where to cut the work, if it is worth it; rows are added up one by one, wherever it is cut."""
    shares = threads()
    if shares == 1 or start[-1] <= FEW:
        return np.array([0, len(start) - 1])
    marks = np.arange(1, shares) * (start[-1] / shares)
    return np.concatenate([[0], np.searchsorted(start, marks), [len(start) - 1]])
