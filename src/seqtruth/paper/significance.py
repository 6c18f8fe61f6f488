"""Is a win more than luck with the documents? Paired bootstrap, corrected for asking many times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.metrics import Comparison, paired_bootstrap
from seqtruth.paper.tables import markdown, signed

RESAMPLES = 2000
LEVEL = 0.05


@dataclass(frozen=True)
class Contest:
    """A claimed win; ``p`` is corrected over the contests asked together (Holm)."""

    table: str
    data: str
    split: str
    first: str
    second: str
    comparison: Comparison
    p: float

    @property
    def verdict(self) -> str:
        if self.p >= LEVEL:
            return "not told apart"
        return "won" if self.comparison.difference > 0 else "lost"

    def to_dict(self) -> dict[str, Any]:
        found = self.comparison
        points = {"difference": found.difference, "low": found.low, "high": found.high}
        return {
            "table": self.table, "data": self.data, "split": self.split,
            "first": self.first, "second": self.second,
            **{name: round(100 * value, 4) for name, value in points.items()},
            "p": round(found.p, 5), "p_holm": round(self.p, 5),
            "units": found.n_units, "verdict": self.verdict,
        }  # fmt: skip


def contests(
    where: tuple[str, str, str],
    first: tuple[str, Labelling],
    others: Sequence[tuple[str, Labelling]],
    gold: Crowd,
    sentences: np.ndarray,
) -> list[Contest]:
    """One system against each of the others; ``where`` is table, data set and split."""
    found = [
        Contest(*where, first[0], name, comparison, comparison.p)
        for name, comparison in (
            (name, paired_bootstrap(first[1], other, gold, sentences, n_resamples=RESAMPLES))
            for name, other in others
            if name != first[0]
        )
    ]
    corrected = holm([one.p for one in found])
    return [replace(one, p=p) for one, p in zip(found, corrected, strict=True)]


def holm(p: Sequence[float]) -> list[float]:
    """Holm's correction.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    scaled = np.asarray(p)[order] * np.arange(len(p), 0, -1)
    out = np.empty(len(p))
    out[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(f"{value:.12g}") for value in out]


def contest_table(found: Sequence[Contest]) -> str:
    head = ["contest", "difference in F1", "95 % interval", "p", "p, Holm", "verdict"]
    return markdown(
        head,
        [
            [
                f"{one.first} against {one.second}", signed(100 * one.comparison.difference),
                f"{signed(100 * one.comparison.low)} to {signed(100 * one.comparison.high)}",
                f"{one.comparison.p:.3f}", f"{one.p:.3f}", one.verdict,
            ]
            for one in found
        ],
    )  # fmt: skip
