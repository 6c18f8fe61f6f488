"""Dawid and Skene's confusion matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from seqtruth.aggregators.base import Aggregator, Outcome, Task, check_positive
from seqtruth.aggregators.loop import Round, State, iterate
from seqtruth.compiled import F64
from seqtruth.errors import ParameterError
from seqtruth.inference import Expectations, crowd_expectations
from seqtruth.objective import weighted_vote

#: Probabilities are kept above this, so that one unseen confusion does not veto a label.
SMALLEST = 1e-10


@dataclass(frozen=True, kw_only=True)
class DawidSkene(Aggregator):
    """One confusion matrix per annotator and a class prior, by EM on single tokens.

    p(t_i = t) = p[t],   p(c^j_i = c | t_i = t) = π^j[t, c]

    E-step: q_i[t] ∝ p[t] Π_j π^j[t, c^j_i].  M-step: π^j[t, c] ∝ smoothing + Σ_i q_i[t] [c^j_i = c] and
    p[t] ∝ Σ_i q_i[t]. Starts from the majority vote. The log likelihood never falls (with
    ``smoothing`` > 0: the log posterior under a Dirichlet prior).

    Parameters
    ----------
    smoothing : added to every cell of every confusion matrix (Laplace); 0 is the original.
    max_iter, tol : at most so many rounds; stop when the log likelihood moves by less than ``tol``
        of its size.

    References
    ----------
    Dawid & Skene (1979), Maximum likelihood estimation of observer error-rates using the EM
    algorithm. doi:10.2307/2346806
    """

    name: ClassVar[str] = "ds"

    smoothing: float = 0.01
    max_iter: int = 100
    tol: float = 1e-6

    def __post_init__(self) -> None:
        check_positive(max_iter=self.max_iter)
        if not self.smoothing >= 0:
            raise ParameterError("smoothing must not be negative", got=str(self.smoothing))

    def _fit(self, task: Task) -> Outcome:
        crowd = task.crowd

        def start() -> State:
            vote = weighted_vote(
                crowd, np.ones(crowd.n_workers), np.ones(crowd.n_labels), known=task.known
            )
            # The vote as log evidence with flat tables gives the vote's own expected counts.
            flat = np.zeros((crowd.n_workers, 1, crowd.n_labels, crowd.n_labels))
            logs = np.log(np.maximum(vote.probabilities, SMALLEST))
            even = np.full(crowd.n_labels, 1.0 / crowd.n_labels)
            counts = crowd_expectations(crowd, flat, even, None, evidence=logs)
            return self._maximise(counts)

        def advance(state: State) -> Round:
            found = crowd_expectations(
                crowd, state["table"], state["prior"], None, known=task.known
            )
            value = found.log_likelihood + self.smoothing * float(state["table"].sum())
            return Round(self._maximise(found), value, {})

        state, trace = iterate(
            start, advance, task.rules(self.max_iter, self.tol, "log likelihood")
        )
        table, prior = state["table"], state["prior"]
        last = crowd_expectations(crowd, table, prior, None, known=task.known)
        tags = last.posterior.argmax(axis=1).astype(np.int8)
        confusion = np.exp(table[:, 0]).transpose(0, 2, 1)
        return Outcome(
            tags, last.posterior, information(confusion, prior), trace,
            confusion=confusion.astype(np.float32),
        )  # fmt: skip

    def _maximise(self, found: Expectations) -> State:
        counts = found.workers + self.smoothing
        total = counts.sum(axis=2, keepdims=True)
        shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
        prior = found.prior / max(found.prior.sum(), SMALLEST)
        return {
            "table": np.log(np.maximum(shares, SMALLEST)),
            "prior": np.maximum(prior, SMALLEST),
        }


def information(confusion: F64, prior: F64) -> F64:
    """float64[W]: mutual information, in nats a token, between an annotator's tag and the truth.

    A spammer has 0 whatever he answers; with O on most tokens, plain accuracy would flatter him.

    >>> good, spam = np.eye(2), np.full((2, 2), 0.5)
    >>> information(np.array([good, spam]), np.array([0.5, 0.5])).round(3).tolist()
    [0.693, 0.0]
    """
    p = prior / prior.sum()
    joint = confusion * p[None, :, None]
    joint = joint / np.maximum(joint.sum(axis=(1, 2), keepdims=True), SMALLEST)
    product = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    ratio = np.divide(joint, product, out=np.ones_like(joint), where=(joint > 0) & (product > 0))
    return np.asarray(np.maximum((joint * np.log(ratio)).sum(axis=(1, 2)), 0.0))
