"""HMM-crowd."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from seqtruth.data.crowd import Crowd
from seqtruth.engine import Parts
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import I8
from seqtruth.methods.base import Aggregator, Outcome, Task, check_positive
from seqtruth.methods.bayes.sequence_model import (
    CrowdHMM,
    Evidence,
    fit,
    fit_parts,
    majority,
    posteriors,
    shares,
)
from seqtruth.methods.bayes.word_emissions import Words
from seqtruth.methods.bayes.worker_models import (
    ANNOTATOR_MODELS,
    ConfusionMatrix,
)
from seqtruth.methods.loop import State
from seqtruth.methods.parts import PartsOutcome, PartsTask, unsupported
from seqtruth.methods.reliability import check_reliability, known_accuracies

STARTS = ("ds", "mv")
#: Rounds of Dawid-Skene that the chain begins from, as in the authors' code.
DS_ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class HMMCrowd(Aggregator):
    """A hidden Markov model of true tags with crowd labels and words as emissions, by EM.

    p(t, c, x) = π[t_1] Π_i τ[t_{i-1}, t_i] · Π_i ρ[t_i, x_i] · Π_i Π_j p^j(c^j_i | t_i)

    E-step: forward-backward. M-step: expected counts plus smoothing, normalised. An annotator has an
    accuracy for each true tag and all his wrong tags are equally likely, p^j(c | t) = a^j[t] if c = t
    else (1 - a^j[t]) / (L - 1): the off-diagonals are tied because rare tags leave too few counts for a
    full confusion matrix. Begins with some rounds of Dawid-Skene. The log posterior never falls.

    Parameters
    ----------
    worker_model : ``"cv"`` (tied, the authors' choice), ``"cm"``, ``"acc"`` or ``"spam"``.
    text_features : words as emissions ρ.
    smoothing : pseudo-counts of every annotator outcome, start and transition.
    word : pseudo-count of every word under every tag.
    start : ``"ds"`` or ``"mv"``.
    variational : distributions over the parameters (expected logarithms, lower bound) instead of
        point estimates; the pseudo-counts are then those of Dirichlet priors.
    reliability, reliability_strength : annotators' accuracies known beforehand, and the
        pseudo-counts they enter with; see :class:`~seqtruth.methods.bayes.bsc.BSC`.
    max_iter, tol : at most so many rounds; stop when the objective moves by less than ``tol`` of its
        size.

    Notes
    -----
    *Differs from the paper.* Transitions that the scheme forbids have probability 0, so the labels
    are legal. Words are the only text feature. The authors run a handful of rounds; we run to
    convergence. In their first code wrong tags each got the full 1 - a[t]; here, as in their later
    one, they share it. Their variational version is so for transitions and words only.

    Like every method without a model of who copies whom, it can be outvoted by colluding copies.

    References
    ----------
    Nguyen, Wallace, Li, Nenkova & Lease (2017), Aggregating and predicting sequence labels from
    crowd annotations, ACL. doi:10.18653/v1/P17-1028
    """

    name: ClassVar[str] = "hmm-crowd"
    promises_legal: ClassVar[bool] = True

    worker_model: str = "cv"
    text_features: bool = True
    smoothing: float = 0.001
    word: float = 0.1
    start: str = "ds"
    variational: bool = False
    reliability: Mapping[str, float] | None = None
    reliability_strength: float = 100.0
    max_iter: int = 100
    tol: float = 1e-6

    def __post_init__(self) -> None:
        check_reliability(self.reliability, self.reliability_strength)
        check_positive(max_iter=self.max_iter, smoothing=self.smoothing, word=self.word)
        if self.worker_model not in ANNOTATOR_MODELS:
            raise ParameterError(
                f"worker_model must be one of {', '.join(ANNOTATOR_MODELS)}",
                got=repr(self.worker_model),
            )
        if self.start not in STARTS:
            raise ParameterError(f"start must be one of {', '.join(STARTS)}", got=repr(self.start))

    def _fit(self, task: Task) -> Outcome:
        crowd = task.crowd
        words = Words.of(crowd.corpus) if self.text_features else None
        model = self._model(crowd, task.known, words)

        def begin() -> State:
            vote = majority(task)
            if self.start == "mv":
                return model.start(vote)
            tokens, state = self._tokens(model, vote)
            return model.start(tokens.expect(state).posterior)

        return fit(model, task, begin, self.max_iter, self.tol)

    def _fit_parts(self, task: PartsTask) -> PartsOutcome:
        if self.text_features:
            raise unsupported(
                self.name, "its words would be a table of all words", "set text_features=False"
            )
        model = self._model(task.parts, None, None)

        def begin() -> State:
            if self.start == "mv":
                return model.start(shares)
            tokens, state = self._tokens(model, shares)
            return model.start(partial(posteriors, tables=tokens.tables(state)))

        return fit_parts(model, task, begin, self.max_iter, self.tol)

    def _model(self, crowd: Crowd | Parts, known: I8 | None, words: Words | None) -> CrowdHMM:
        return CrowdHMM(
            crowd,
            ANNOTATOR_MODELS[self.worker_model](self.smoothing, 0.0, self.reliability_strength),
            known=known,
            accuracy=known_accuracies(crowd, self.reliability),
            chain=self.smoothing,
            words=words,
            word=self.word,
            variational=self.variational,
        )

    def _tokens(self, model: CrowdHMM, vote: Evidence) -> tuple[CrowdHMM, State]:
        """Some rounds of Dawid-Skene from the vote."""
        annotators = ConfusionMatrix(self.smoothing, 0.0, self.reliability_strength)
        tokens = replace(
            model, annotators=annotators, sequence="independent", words=None, variational=False
        )
        state = tokens.start(vote)
        for _ in range(DS_ROUNDS):
            state = tokens.advance(state).state
        return tokens, state
