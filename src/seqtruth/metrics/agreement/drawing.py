"""Intervals: documents drawn again, from their sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from seqtruth.errors import ParameterError
from seqtruth.kernels.agreement import PairSums, SpanSums
from seqtruth.kernels.arrays import F64, I64
from seqtruth.kernels.native import call
from seqtruth.metrics.agreement.counting import GROUPS, Cells

Sums = TypeVar("Sums", bound=tuple[Any, ...])
#: Numbers that a block of pairs may take for all draws.
_BLOCK = 20_000_000


class Estimate(NamedTuple):
    """A coefficient and its interval; nan where it is not defined."""

    value: float
    low: float = float("nan")
    high: float = float("nan")

    def to_dict(self) -> dict[str, float | None]:
        """Plain numbers, for JSON; None where a figure is not defined."""
        return {
            name: None if np.isnan(value) else float(value)
            for name, value in self._asdict().items()
        }


@dataclass(frozen=True, eq=False)
class Draws:
    """How often each unit is drawn, again and again.

    Parameters
    ----------
    group : int64[G], the group that each unit is drawn with.
    times : float64[R, groups].
    level : of the intervals.
    """

    group: I64
    times: F64
    level: float

    @staticmethod
    def of(n_units: int, n_resamples: int, level: float, seed: int) -> Draws:
        """Draws of ``n_units`` units, dealt into groups where there are very many; none where there is
        only one."""
        if n_resamples < 0:
            raise ParameterError("n_resamples must not be negative", got=str(n_resamples))
        if not 0 < level < 1:
            raise ParameterError("level must be between 0 and 1", got=str(level))
        rng = np.random.default_rng(seed)
        n = max(1, min(n_units, GROUPS))
        group = rng.permutation(n_units) % n
        n_resamples = n_resamples if n > 1 else 0
        times = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples)
        return Draws(group, times.astype(np.float64), level)

    def sums(self, sums: Sums) -> Sums:
        """Sums over units [G, ...] as sums of every draw [R, ...]."""
        return type(sums)(*(self.column(column) for column in sums))

    def column(self, column: F64) -> F64:
        """One of these."""
        grouped = np.zeros((self.times.shape[1], *column.shape[1:]))
        np.add.at(grouped, self.group, column)
        flat = self.times @ grouped.reshape(len(grouped), -1)
        return flat.reshape(len(flat), *column.shape[1:])

    def interval(self, drawn: F64) -> tuple[F64, F64]:
        """Percentiles over the first axis; nan where too few draws are defined."""
        if not len(drawn):
            blank = np.full(drawn.shape[1:], np.nan)
            return blank, blank
        tail = (1 - self.level) / 2
        ranked = np.sort(drawn, axis=0)  # what is not defined comes last
        known = np.isfinite(ranked).sum(axis=0)
        low, high = (_quantile(ranked, known, share) for share in (tail, 1 - tail))
        enough = known >= 0.5 * len(drawn)
        return np.where(enough, low, np.nan), np.where(enough, high, np.nan)

    def pairs(self, cells: Cells, seed: int = 0) -> Iterator[tuple[slice, PairSums, SpanSums]]:
        """Sums of every draw for blocks of pairs: which pairs, and [R, pairs, ...] each.

        Cells that were counted in units of their own are drawn by ``seed``.
        """
        if cells.n_units != len(self.group):
            own = Draws.of(cells.n_units, len(self.times), self.level, seed)
            yield from own.pairs(cells)
            return
        columns = [*cells.tokens, *cells.spans]
        shapes = [column.shape[1:] for column in columns]
        width = sum(int(np.prod(shape)) for shape in shapes)
        cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        times = np.ascontiguousarray(self.times.T, np.float64)
        group = self.group[cells.unit]
        step = max(1, _BLOCK // max(1, width * len(self.times)))
        first = np.searchsorted(cells.pair, np.arange(0, len(cells.first) + step, step))
        for number, (a, b) in enumerate(pairwise(first.tolist())):
            block = slice(number * step, min((number + 1) * step, len(cells.first)))
            n = block.stop - block.start
            if n <= 0:
                continue
            flat = np.concatenate([column[a:b].reshape(b - a, -1) for column in columns], axis=1)
            at, feature = np.nonzero(flat)
            row = (cells.pair[a:b][at] - block.start) * width + feature
            sums = np.zeros((n * width, times.shape[1]))
            call("add_scaled_rows", row, group[a:b][at], flat[at, feature], times, sums)
            drawn = sums.reshape(n, width, -1)
            parts = np.split(np.moveaxis(drawn, 2, 0), cuts, axis=2)
            made = [
                part.reshape(*part.shape[:2], *shape)
                for part, shape in zip(parts, shapes, strict=True)
            ]
            k = len(PairSums._fields)
            yield block, PairSums(*made[:k]), SpanSums(*made[k:])


def _quantile(ranked: F64, known: I64, share: float) -> F64:
    """The quantile of the first ``known`` of each column, between neighbours as the share falls."""
    place = share * np.maximum(known - 1, 0)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(known - 1, 0))
    first, second = (np.take_along_axis(ranked, at[np.newaxis], axis=0)[0] for at in (below, above))
    return np.asarray(first + (place - below) * (second - first))
