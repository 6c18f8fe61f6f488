"""Majority vote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from seqtruth.methods.base import Seeded
from seqtruth.methods.task import Outcome, Task, voted


@dataclass(frozen=True, kw_only=True)
class MajorityVote(Seeded):
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
    adds_up: ClassVar[bool] = True

    ties: str = "alphabetical"

    def _fit(self, task: Task) -> Outcome:
        ones, units = np.ones(task.parts.n_annotators), np.ones(task.parts.n_labels)
        labels = partial(
            voted, weights=ones, units=units, ties=self.ties, seed=self.seed, known=task.known
        )
        return Outcome(labels, ones)
