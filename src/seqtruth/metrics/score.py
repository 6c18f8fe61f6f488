"""Precision, recall and F1 from counts: the one place where they are divided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Score:
    """Three counts, and what follows from them.

    Parameters
    ----------
    correct : units found in both.
    predicted : units in the labelling that is judged.
    gold : units in the gold standard.

    Examples
    --------
    >>> score = Score(correct=1, predicted=2, gold=4)
    >>> score.precision, score.recall, round(score.f1, 3)
    (0.5, 0.25, 0.333)
    """

    correct: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """Share of what was predicted that is right; 0 where nothing was predicted."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold that was found; 0 where there is no gold."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 where both are."""
        total = self.predicted + self.gold
        return 2 * self.correct / total if total else 0.0

    def to_dict(self) -> dict[str, float | int]:
        """Plain numbers, for JSON."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "correct": self.correct,
            "predicted": self.predicted,
            "gold": self.gold,
        }


@dataclass(frozen=True)
class Averages:
    """Precision, recall and F1, each averaged on its own over labels or sentences.

    The F1 here is a mean of F1s and therefore *not* the harmonic mean of the other two.

    Parameters
    ----------
    precision, recall, f1 : the means.
    """

    precision: float
    recall: float
    f1: float

    def to_dict(self) -> dict[str, float]:
        """Plain numbers, for JSON."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1}


def ratio(
    numerator: npt.NDArray[np.generic], denominator: npt.NDArray[np.generic]
) -> npt.NDArray[np.float64]:
    """Element-wise division that gives 0 where the denominator is 0.

    >>> ratio(np.array([1, 0]), np.array([2, 0])).tolist()
    [0.5, 0.0]
    """
    out = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out
