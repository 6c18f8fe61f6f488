"""Dawid and Skene's confusion matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from seqtruth.errors import ParameterError
from seqtruth.methods.base import Aggregator, check_positive
from seqtruth.methods.bayes.sequence_model import CrowdHMM, fit, majority
from seqtruth.methods.bayes.worker_models import ConfusionMatrix, information
from seqtruth.methods.reliability import check_reliability, known_accuracies
from seqtruth.methods.task import Outcome, Task

__all__ = ["DawidSkene", "information"]

#: Pseudo-counts of saying what is expected, where some sources are silent: of a type that a source is silent
#: on, ``O``. Sources that hardly overlap would else let EM take one tag of a type for another (B- for I-).
TRUST_OF_SILENT = 5.0


@dataclass(frozen=True, kw_only=True)
class DawidSkene(Aggregator):
    """One confusion matrix per annotator and a class prior, by EM on single tokens.

    p(t_i = t) = p[t],   p(c^j_i = c | t_i = t) = π^j[t, c]

    E-step: q_i[t] ∝ p[t] Π_j π^j[t, c^j_i].  M-step: π^j[t, c] ∝ smoothing + Σ_i q_i[t] [c^j_i = c] and
    p[t] ∝ Σ_i q_i[t]. Starts from the majority vote. The log likelihood never falls (with
    ``smoothing`` > 0: the log posterior under a Dirichlet prior). Where some sources are found to be silent,
    five pseudo-counts say that they are right, or silent.

    Parameters
    ----------
    smoothing : added to every cell of every confusion matrix (Laplace); 0 is the original.
    reliability, reliability_strength : annotators' accuracies known beforehand, and the
        pseudo-counts they enter with; see :class:`~seqtruth.methods.bayes.bsc.BSC`.
    max_iter, tol : at most so many rounds; stop when the log likelihood moves by less than ``tol``
        of its size.

    References
    ----------
    Dawid & Skene (1979), Maximum likelihood estimation of observer error-rates using the EM
    algorithm. doi:10.2307/2346806
    """

    name: ClassVar[str] = "ds"
    adds_up: ClassVar[bool] = True

    smoothing: float = 0.01
    reliability: Mapping[str, float] | None = None
    reliability_strength: float = 100.0
    max_iter: int = 100
    tol: float = 1e-6

    def __post_init__(self) -> None:
        check_reliability(self.reliability, self.reliability_strength)
        check_positive(max_iter=self.max_iter)
        if not self.smoothing >= 0:
            raise ParameterError("smoothing must not be negative", got=str(self.smoothing))

    @property
    def silence(self) -> str:
        """Kept as a label. Without it a rule that speaks of persons only has but one answer, whatever the
        truth, and tells nothing."""
        return "keeps"

    def _fit(self, task: Task) -> Outcome:
        model = self.model(task)
        return fit(model, task, lambda: model.start(majority(task)), self.max_iter, self.tol)

    def model(self, task: Task) -> CrowdHMM:
        """The model on a crowd, for those who want to drive its rounds themselves."""
        silent = task.silent is not None and bool(task.silent.any())
        trust = TRUST_OF_SILENT if silent else 0.0
        return CrowdHMM(
            task.parts,
            ConfusionMatrix(self.smoothing, trust, self.reliability_strength),
            known=task.known,
            accuracy=known_accuracies(task.parts, self.reliability),
            silent=task.silent,
            sequence="independent",
            chain=0.0,
            variational=False,
        )
