"""Majority vote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from seqtruth.kernels.vote import weighted_vote
from seqtruth.methods.base import Aggregator, Outcome, Task
from seqtruth.methods.parts import PartsOutcome, PartsTask, voted


@dataclass(frozen=True, kw_only=True)
class MajorityVote(Aggregator):
    """The label with most votes, token by token.

    y_i = argmax_l Σ_j [y^j_i = l]

    The tie rule is part of the method: on crowd data it moves strict F1 by several points.
    Neighbouring tokens are not looked at, so the labels need not obey the scheme.

    Parameters
    ----------
    ties : ``"alphabetical"`` (B- before I- before O), ``"entity"`` (any entity label before O),
        ``"O"`` (O first) or ``"random"`` (by ``seed``).
    seed : for random ties.

    Examples
    --------
    >>> from seqtruth.data.crowd import Crowd
    >>> votes = {"a": [["B-PER"]], "b": [["B-PER"]], "c": [["O"]]}
    >>> MajorityVote().fit(Crowd.of(votes, [["Ann"]])).tags.tolist()
    [0]
    """

    name: ClassVar[str] = "mv"

    ties: str = "alphabetical"
    seed: int = 0

    def _fit(self, task: Task) -> Outcome:
        crowd = task.crowd
        ones = np.ones(crowd.n_annotators)
        vote = weighted_vote(
            crowd, ones, np.ones(crowd.n_labels), ties=self.ties, seed=self.seed, known=task.known
        )
        return Outcome(vote.tags, vote.probabilities, ones)

    def _fit_parts(self, task: PartsTask) -> PartsOutcome:
        parts = task.parts
        ones = np.ones(parts.n_annotators)
        units = np.ones(parts.n_labels)
        label = partial(voted, weights=ones, units=units, ties=self.ties, seed=self.seed)
        return PartsOutcome(label, ones)
