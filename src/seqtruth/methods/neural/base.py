"""What the neural methods share: a tagger trained on the crowd, whose opinion is the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F32, F64
from seqtruth.methods.base import Seeded, check_positive
from seqtruth.methods.bayes.dawid_skene import information
from seqtruth.methods.task import Decision, Outcome, Task
from seqtruth.predictors.tagger import Tagger
from seqtruth.predictors.torch.bilstm import BiLSTM

if TYPE_CHECKING:
    from seqtruth.methods.neural.training import Training

#: Confusion matrices float64[W, L, L] and the share of each label, from the tagger's float32[T, L].
Habits = Callable[[F32], tuple[F64, F64]]


@dataclass(frozen=True, kw_only=True)
class TaggerFromCrowd(Seeded):
    """A network that is taught by all annotators at once; labels are its most probable legal paths.

    Parameters
    ----------
    variant : one of :attr:`variants`.
    max_iter : epochs. The learning rate runs one cycle over them, so the run always ends at the last.
    crowd_rate : peak learning rate of what belongs to annotators.
    predictor : the network and how it is trained; its ``epochs``, ``output`` and ``seed`` are not
        used.
    """

    promises_legal: ClassVar[bool] = True
    #: The extra it needs.
    extra: ClassVar[str] = "torch"
    exempt: ClassVar[dict[str, str]] = {
        "check_unanimous_labels_come_back": (
            "labels are a trained tagger's opinion and not a vote: one odd label may be outlearnt"
        ),
        "check_never_below_the_vote": (
            "labels are a trained tagger's opinion, and a few hundred sentences do not train a network"
        ),
    }
    #: What ``variant`` may be.
    variants: ClassVar[tuple[str, ...]] = ()

    variant: str = ""
    max_iter: int = 8
    crowd_rate: float = 0.01
    predictor: BiLSTM = field(default_factory=BiLSTM)

    @property
    def trains_tagger(self) -> bool:
        return True

    def __post_init__(self) -> None:
        check_positive(max_iter=self.max_iter, crowd_rate=self.crowd_rate)
        if self.variant not in self.variants:
            raise ParameterError(
                f"variant must be one of {', '.join(self.variants)}", got=repr(self.variant)
            )

    def _taught(self, training: Training, task: Task, habits: Habits) -> Outcome:
        """Train, and read off labels, weights and tagger."""
        from seqtruth.methods.neural import training as neural

        history = training.run(task)
        data, probabilities = training.data, training.probabilities()
        placed = neural.put_back(neural.decode(probabilities, data), probabilities, data, task)
        confusion, prior = habits(probabilities)
        learnt = training.steps > 0
        sure = np.full(task.crowd.n_sentences, learnt)
        return Outcome(
            Decision(placed.tags, placed.probabilities, sure),
            neural.annotators_back(information(confusion, prior), data),
            history,
            Tagger(training.predictor, task.crowd.scheme) if learnt else None,
            neural.annotators_back(confusion, data).astype(np.float32),
        )
