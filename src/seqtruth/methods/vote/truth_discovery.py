"""What CRH and CATD share: 0-1 losses -> weights -> weighted vote, until no label changes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.engine import Sums
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64, I64, Tags
from seqtruth.kernels.native import call
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.methods.base import Seeded, check_positive
from seqtruth.methods.loop import Round, State, iterate
from seqtruth.methods.reliability import check_reliability, known_accuracies
from seqtruth.methods.task import Outcome, Task
from seqtruth.methods.vote.labeller import Labeller
from seqtruth.methods.vote.objective import AVERAGES
from seqtruth.schema import Column, Schema


@dataclass(frozen=True, kw_only=True)
class TruthDiscovery(Seeded):
    """A weighted vote whose weights come from how often each annotator differs from its outcome.

    Parameters
    ----------
    average : which tokens an annotator is judged on. ``"entity"``: those where they or the vote name an
        entity; ``"token"``: all they labelled, as the papers would have it. Where nine tokens in ten
        are plainly ``O``, agreement on those makes everybody look alike.
    smoothing : tokens, judged at the crowd's mean error rate, added to each annotator's own, so that a
        annotator who has not erred yet does not get infinite weight.
    decoding : how the vote becomes a path (:mod:`seqtruth.kernels.repair`); ``"none"`` is the papers'.
    ties : as in :class:`~seqtruth.methods.vote.majority.MajorityVote`.
    reliability : accuracy (0 to 1) of annotators known beforehand, by name.
    reliability_strength : how many tokens of evidence that is worth.
    max_iter, tol : at most so many rounds; stop when no label changes, or when the weighted loss
        moves by less than ``tol`` of its size.
    seed : for random ties.
    """

    adds_up: ClassVar[bool] = True

    average: str = "entity"
    smoothing: float = 10.0
    decoding: str = "exact"
    ties: str = "alphabetical"
    reliability: Mapping[str, float] | None = None
    reliability_strength: float = 100.0
    max_iter: int = 50
    tol: float = 1e-6

    def __post_init__(self) -> None:
        check_positive(max_iter=self.max_iter, smoothing=self.smoothing)
        check_reliability(self.reliability, self.reliability_strength)
        if self.average not in AVERAGES:
            raise ParameterError(
                f"average must be one of {', '.join(AVERAGES)}", got=repr(self.average)
            )

    @abstractmethod
    def _weigh(self, losses: F64, counts: F64) -> F64:
        """float64[W]: weights from each annotator's number of errors among so many tokens (> 0)."""

    def _fit(self, task: Task) -> Outcome:
        run = _Run(self, task)
        rules = task.rules(self.max_iter, self.tol)
        state, history = iterate(run.start, run.advance, rules, run.schema)
        return Outcome(run.labeller(state["weights"]), state["weights"], history)


class _Run:
    """One run: the round as a function from sums to sums."""

    def __init__(self, method: TruthDiscovery, task: Task) -> None:
        self.method, self.task, self.parts = method, task, task.parts
        self.accuracies = known_accuracies(self.parts, method.reliability)
        self.labelled = self.parts.facts.annotator_tokens > 0
        self._now: Labeller | None = None

    def labeller(self, weights: F64) -> Labeller:
        """What makes labels by these weights."""
        if self._now is None or self._now.weights is not weights:
            method = self.method
            self._now = Labeller(
                weights, np.ones(self.parts.n_labels), method.decoding, method.ties, method.seed,
                self.task.known,
            )  # fmt: skip
        return self._now

    def schema(self) -> Schema:
        """What a state is."""
        n = self.parts.n_annotators
        return Schema({
            "weights": Column("float64", (n,)), "errors": Column("int64", (2, n), 0),
        })  # fmt: skip

    def start(self) -> State:
        """The majority vote."""
        weights = np.ones(self.parts.n_annotators)
        found = self.parts.add_up(partial(_errors, now=self.labeller(weights), before=None))
        return {"weights": weights, "errors": found["errors"]}

    def advance(self, state: State) -> Round:
        """Weights, then labels."""
        before = self.labeller(state["weights"])
        losses, counts = self._rates(state["errors"])
        weights = np.where(self.labelled, 1.0, 0.0)
        weights[self.labelled] = self.method._weigh(losses[self.labelled], counts[self.labelled])
        function = partial(_errors, now=self.labeller(weights), before=before)
        found = self.parts.add_up(function)
        losses, counts = self._rates(found["errors"])
        value = float(weights @ (losses / counts))
        change = float(found["changed"][0]) / max(self.parts.facts.n_tokens, 1)
        new = {"weights": weights, "errors": found["errors"]}
        return Round(new, value, {"weighted loss": value}, change)

    def _rates(self, errors: I64) -> tuple[F64, F64]:
        """Each annotator's smoothed number of errors, and among how many tokens."""
        method, (wrong, stakes) = self.method, errors
        seen = stakes if method.average == "entity" else self.parts.facts.annotator_tokens
        # where nobody erred, half an error in all, so that the mean is not 0
        mean = max(float(wrong.sum()), 0.5) / max(float(seen.sum()), 1.0)
        losses = wrong.astype(np.float64) + method.smoothing * mean
        counts = seen.astype(np.float64) + method.smoothing
        known = ~np.isnan(self.accuracies)
        losses[known] += method.reliability_strength * (1.0 - self.accuracies[known])
        counts[known] += method.reliability_strength
        return losses, counts


def _errors(part: Crowd, now: Labeller, before: Labeller | None) -> Sums:
    tags = now.vote(part).tags
    changed = 0 if before is None else np.count_nonzero(tags != before.vote(part).tags)
    return {"errors": np.stack(zero_one_losses(part, tags)), "changed": np.array([changed])}


def zero_one_losses(crowd: Crowd, tags: Tags) -> tuple[I64, I64]:
    """int64[W] twice: tokens on which each annotator differs from ``tags``, and tokens at stake.

    At stake are those where they or ``tags`` names an entity (for plain tags: all). Tokens that
    ``tags`` leaves at -1 are not judged.
    """
    view = crowd.view

    def run(a: int, b: int) -> I64:
        counts = np.zeros((2, crowd.n_annotators), np.int64)
        call("count_errors", view, a, b, tags, counts)
        return counts

    counts = np.zeros((2, crowd.n_annotators), np.int64)
    for part in map_chunks(run, chunk_bounds(view.token_offsets)):
        counts += part
    return counts[0], counts[1]
