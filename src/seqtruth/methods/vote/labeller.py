"""The weighted vote as a function of a part: labels of a round, made where the part is.

Labels follow from the weights (and the predictor's models), so that nothing as long as the crowd is
kept between rounds; where a part is read anew, the labels of the round before are made again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.engine import Remembered, Sums
from seqtruth.kernels.arrays import F32, F64, U64, Bool, Tags
from seqtruth.kernels.vote import Prediction, Vote, ballot, count_votes
from seqtruth.methods.task import Decision
from seqtruth.methods.vote.objective import prediction_losses
from seqtruth.methods.vote.weighted import keys_for


class Predicts(Protocol):
    """A predictor's say on every part."""

    @property
    def on(self) -> Callable[[Crowd], tuple[F32, Bool]]:
        """ŷ[T, L] on a part, and bool[S], the sentences that have one."""


class Voted(Protocol):
    """Labels of a part and how sure they are."""

    @property
    def tags(self) -> Tags:
        """tag[T]."""

    @property
    def confidence(self) -> F64:
        """float64[S], ξ."""


class Votes(Protocol):
    """Whoever makes the labels of a part."""

    @property
    def vote(self) -> Callable[[Crowd], Voted]:
        """The labels of a part."""


@dataclass(frozen=True, eq=False)
class Labeller:
    """Everything a part needs for its labels.

    Parameters
    ----------
    weights, units : of the annotators and of the labels.
    decoding, ties, seed, known : as in :func:`~seqtruth.methods.vote.weighted.weighted_vote`.
    keys : the sentences' keys on a part, where rounds share them.
    predictions, w_dl : the predictor's say and its weight.
    soft : keep y*, which takes 4 L bytes a token.
    """

    weights: F64
    units: F64
    decoding: str = "none"
    ties: str = "alphabetical"
    seed: int = 0
    known: Tags | None = None
    keys: Callable[[Crowd], U64] | None = None
    predictions: Predicts | None = None
    w_dl: float = 0.0
    soft: bool = False

    @cached_property
    def vote(self) -> Remembered[Vote]:
        """The Y* step on a part."""
        return Remembered(self._vote)

    def _vote(self, part: Crowd) -> Vote:
        hint = None
        if self.predictions is not None:
            hint = Prediction(*self.predictions.on(part), self.w_dl)
        drawn = (
            keys_for(part, self.decoding, self.ties, self.seed)
            if self.keys is None
            else self.keys(part)
        )
        by = ballot(
            part.scheme.grammar, self.weights, self.units, decoding=self.decoding, ties=self.ties,
            keys=drawn, prediction=hint, known=self.known,
        )  # fmt: skip
        return count_votes(part.view, by, self.soft)

    def __call__(self, part: Crowd) -> Decision:
        """Labels and probabilities of a part."""
        vote = (self if self.soft else replace(self, soft=True)).vote(part)
        judged = None if self.predictions is None else self.predictions.on(part)[1]
        return Decision(vote.tags, vote.probabilities, judged)


def round_sums(part: Crowd, now: Labeller, before: Labeller | None) -> Sums:
    """A part's share of a round: losses of the labels by ``now``, and how many ``before`` had otherwise."""
    vote = now.vote(part)
    changed = 0 if before is None else np.count_nonzero(vote.tags != before.vote(part).tags)
    return {
        "losses": vote.sums,
        "illegal": np.array([vote.illegal]),
        "prediction_loss": np.array([vote.prediction_loss]),
        "changed": np.array([changed]),
    }


def prediction_sums(part: Crowd, predictions: Predicts, now: Labeller, average: str) -> Sums:
    """The predictor's loss against the present labels, and over how many tokens."""
    vote = now.vote(part)
    loss = prediction_losses(
        *predictions.on(part), vote.tags, vote.probabilities, vote.confidence, part, average
    )
    return {"prediction": np.array(loss, np.float64)}
