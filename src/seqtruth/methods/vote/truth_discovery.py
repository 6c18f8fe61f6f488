"""What CRH and CATD share: 0-1 losses -> weights -> weighted vote, until no label changes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64, I8, I32, I64, Bool
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.kernels.vote import weighted_vote
from seqtruth.methods.base import Aggregator, Outcome, Task, check_positive
from seqtruth.methods.loop import Round, State, iterate
from seqtruth.methods.reliability import check_reliability, known_accuracies
from seqtruth.methods.vote.objective import AVERAGES


@dataclass(frozen=True, kw_only=True)
class TruthDiscovery(Aggregator):
    """A weighted vote whose weights come from how often each annotator differs from its outcome.

    Parameters
    ----------
    average : which tokens an annotator is judged on. ``"entity"``: those where he or the vote names an
        entity; ``"token"``: all he labelled, as the papers would have it. Where nine tokens in ten
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

    average: str = "entity"
    smoothing: float = 10.0
    decoding: str = "exact"
    ties: str = "alphabetical"
    reliability: Mapping[str, float] | None = None
    reliability_strength: float = 100.0
    max_iter: int = 50
    tol: float = 1e-6
    seed: int = 0

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
        crowd = task.crowd
        accuracies = known_accuracies(crowd, self.reliability)
        labelled = crowd.annotator_tokens > 0
        flat = np.ones(crowd.n_labels)

        def judge(tags: I8) -> tuple[F64, F64]:
            wrong, stakes = zero_one_losses(crowd, tags)
            seen = stakes if self.average == "entity" else crowd.annotator_tokens
            # where nobody erred, half an error in all, so that the mean is not 0
            mean = max(float(wrong.sum()), 0.5) / max(float(seen.sum()), 1.0)
            losses = wrong.astype(np.float64) + self.smoothing * mean
            counts = seen.astype(np.float64) + self.smoothing
            known = ~np.isnan(accuracies)
            losses[known] += self.reliability_strength * (1.0 - accuracies[known])
            counts[known] += self.reliability_strength
            return losses, counts

        def vote(weights: F64) -> State:
            found = weighted_vote(
                crowd, weights, flat, decoding=self.decoding, ties=self.ties, seed=self.seed,
                known=task.known,
            )  # fmt: skip
            return {"tags": found.tags, "probabilities": found.probabilities, "weights": weights}

        def advance(state: State) -> Round:
            losses, counts = judge(state["tags"])
            weights = np.where(labelled, 1.0, 0.0)
            weights[labelled] = self._weigh(losses[labelled], counts[labelled])
            new = vote(weights)
            losses, counts = judge(new["tags"])
            value = float(weights @ (losses / counts))
            change = float((new["tags"] != state["tags"]).mean()) if len(new["tags"]) else 0.0
            return Round(new, value, {"weighted loss": value}, change)

        state, history = iterate(
            lambda: vote(np.ones(crowd.n_annotators)), advance, task.rules(self.max_iter, self.tol)
        )
        return Outcome(state["tags"], state["probabilities"], state["weights"], history)


def zero_one_losses(crowd: Crowd, tags: I8) -> tuple[I64, I64]:
    """int64[W] twice: tokens on which each annotator differs from ``tags``, and tokens at stake.

    At stake are those where he or ``tags`` names an entity (for plain tags: all). Tokens that
    ``tags`` leaves at -1 are not judged.
    """
    offsets = crowd.corpus.token_offsets
    first_tag = crowd.sentence_tags

    def run(a: int, b: int) -> I64:
        counts = np.zeros((2, crowd.n_annotators), np.int64)
        _zero_one_chunk(
            crowd.tags, first_tag, offsets, crowd.sentence_rows, crowd.row_annotator, a, b, tags,
            crowd.scheme.is_entity, counts,
        )  # fmt: skip
        return counts

    counts = np.zeros((2, crowd.n_annotators), np.int64)
    for part in map_chunks(run, chunk_bounds(offsets)):
        counts += part
    return counts[0], counts[1]


@kernel
def _zero_one_chunk(
    tags: I8,
    first_tag: I64,
    offsets: I64,
    sentence_rows: I64,
    row_annotator: I32,
    first: int,
    last: int,
    truth: I8,
    is_entity: Bool,
    counts: I64,
) -> None:
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        for r in range(sentence_rows[s], sentence_rows[s + 1]):
            at, annotator = first_tag[s] + (r - sentence_rows[s]) * n, row_annotator[r]
            for i in range(n):
                tag, true = tags[at + i], truth[a + i]
                if tag >= 0 and true >= 0:
                    if tag != true:
                        counts[0, annotator] += 1
                    if is_entity[tag] or is_entity[true]:
                        counts[1, annotator] += 1
