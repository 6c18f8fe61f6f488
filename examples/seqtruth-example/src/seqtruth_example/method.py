"""A method that believes, in every sentence, the annotator who agrees most with the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from seqtruth.methods.base import Aggregator
from seqtruth.methods.task import Decision, Outcome, Task
from seqtruth.methods.vote.weighted import weighted_vote


@dataclass(frozen=True, kw_only=True)
class BestAnnotator(Aggregator):
    """A vote in which annotators count by how often they agree with the majority, raised to a power.

    Parameters
    ----------
    sharpness : the power; the larger, the more the best annotators decide alone.
    """

    name: ClassVar[str] = "best-annotator"
    promises_legal: ClassVar[bool] = True

    sharpness: float = 8.0

    def _fit(self, task: Task) -> Outcome:
        crowd = task.crowd
        units = np.ones(crowd.n_labels)  # how much each label's votes count
        even = weighted_vote(crowd, np.ones(crowd.n_annotators), units, known=task.known)
        weight = np.array([self._agreement(crowd, w, even.tags) for w in range(crowd.n_annotators)])
        weight = (0.05 + weight) ** self.sharpness
        vote = weighted_vote(crowd, weight, units, known=task.known, decoding="exact")
        return Outcome(Decision(vote.tags, vote.probabilities), weight)

    @staticmethod
    def _agreement(crowd, w: int, majority: np.ndarray) -> float:
        tags = crowd.labelling(w).tags  # -1 where this annotator said nothing
        said = tags >= 0
        return float(np.mean(tags[said] == majority[said])) if said.any() else 0.0
