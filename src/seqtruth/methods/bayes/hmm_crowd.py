"""HMM-crowd."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from seqtruth.errors import ParameterError
from seqtruth.methods.base import Aggregator, check_positive
from seqtruth.methods.bayes.sequence_model import (
    CrowdHMM,
    Evidence,
    fit,
    majority,
    posteriors,
)
from seqtruth.methods.bayes.word_emissions import NO_WORDS, WordFeatures
from seqtruth.methods.bayes.worker_models import (
    ANNOTATOR_MODELS,
    ConfusionMatrix,
)
from seqtruth.methods.loop import State
from seqtruth.methods.reliability import check_reliability, known_accuracies
from seqtruth.methods.task import Outcome, Task

STARTS = ("ds", "mv")
#: Rounds of Dawid-Skene that the chain begins from, as in the authors' code.
DS_ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class HMMCrowd(Aggregator):
    """A hidden Markov model of true tags with crowd labels and words as emissions, by EM.

    p(t, c, x) = π[t_1] Π_i τ[t_{i-1}, t_i] · Π_i ρ[t_i, x_i] · Π_i Π_j p^j(c^j_i | t_i)

    E-step: forward-backward. M-step: expected counts plus smoothing, normalised. An annotator has an
    accuracy for each true tag and all their wrong tags are equally likely, p^j(c | t) = a^j[t] if c = t
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
    adds_up: ClassVar[bool] = True

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

    def _needs_memory(self) -> tuple[str, str] | None:
        return NO_WORDS if self.text_features else super()._needs_memory()

    @property
    def silence(self) -> str:
        """Kept as a label by models that know what a source says of each true tag; where all wrong tags
        are tied, silence would pass for a mistake."""
        return "keeps" if self.worker_model == "cm" else "drops"

    def _fit(self, task: Task) -> Outcome:
        model = CrowdHMM(
            task.parts,
            ANNOTATOR_MODELS[self.worker_model](self.smoothing, 0.0, self.reliability_strength),
            known=task.known,
            accuracy=known_accuracies(task.parts, self.reliability),
            silent=task.silent,
            chain=self.smoothing,
            words=WordFeatures.of(task.crowd.corpus) if self.text_features else None,
            word=self.word,
            variational=self.variational,
        )

        def begin() -> State:
            if self.start == "mv":
                return model.start(majority(task))
            return model.start(self._tokens(model, majority(task)))

        return fit(model, task, begin, self.max_iter, self.tol)

    def _tokens(self, model: CrowdHMM, vote: Evidence) -> Evidence:
        """What some rounds of Dawid-Skene make of the vote."""
        annotators = ConfusionMatrix(self.smoothing, 0.0, self.reliability_strength)
        tokens = replace(
            model, annotators=annotators, sequence="independent", words=None, variational=False
        )
        state = tokens.start(vote)
        for _ in range(DS_ROUNDS):
            state = tokens.advance(state).state
        return partial(posteriors, tables=tokens.tables(state), known=model.known)
