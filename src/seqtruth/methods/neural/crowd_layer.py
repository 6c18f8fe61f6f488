"""DL-CL: a neural tagger with a crowd layer on top."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F32, F64, Tags
from seqtruth.methods.neural.base import TaggerFromCrowd
from seqtruth.methods.task import Outcome, Task
from seqtruth.methods.vote.weighted import weighted_vote

if TYPE_CHECKING:
    from torch import Tensor

    from seqtruth.methods.neural.training import Epoch, Loss, Said
    from seqtruth.predictors.torch.network import Batch


@dataclass(frozen=True, kw_only=True)
class CrowdLayer(TaggerFromCrowd):
    """One map per annotator from the tagger's opinion to what they would say.

    p_i = soft-max output of a tagger at token i (the bottleneck),
    p(c^j_i = c) = softmax( f_j(p_i) )[c]   with, for annotator j,

    ========  ======================  =============================================
    variant   f_j(p)                  starts from
    ========  ======================  =============================================
    ``MW``    p · W_j  (L × L)        the identity
    ``VW``    w_j ∘ p                 ones
    ``VW+B``  w_j ∘ p + b_j           ones, zeros
    ``S``     s_j · p                 one
    ========  ======================  =============================================

    Tagger and maps are trained end to end on -Σ_j Σ_i log p(c^j_i), over the tags that were given: a
    silent annotator adds nothing. The labels are the legal path of largest probability under p; the
    tagger is the bottleneck. Known labels supervise the bottleneck directly and are kept.

    What an annotator says where the truth is surely t, C_j[t, c] = softmax(f_j(e_t))[c], is their
    confusion matrix here; their weight is the information it carries about the truth.

    Parameters
    ----------
    variant : see above. The authors' best is ``MW``; with our tagger ``VW`` was better on
        ``nguyen_val``, and ``MW`` drifts from the truth when trained longer.
    pretrain : epochs on the majority vote before the crowd layer is put on (the authors': 5 for MW).
    max_iter : epochs after those. The learning rate runs one cycle over all of them, so the run
        always ends at the last; ``stop_reason`` says ``"rounds"``.
    crowd_rate : peak learning rate of the maps.
    predictor : the network and how it is trained; its ``epochs``, ``output`` and ``seed`` are not
        used.
    seed : initial values, batches, dropout.

    Notes
    -----
    *Differs from the paper.* The authors' tagger is a convolution and a GRU on 300-dimensional GloVe
    (71 F1 on CoNLL testa when trained on gold, by their published notebook); ours is the shared
    BiLSTM with characters, far stronger, so figures for DL-CL here are higher than theirs for
    reasons that are not the crowd layer. They train 30 epochs in batches of 64 with constant Adam, we
    a one-cycle of fewer epochs in batches of 16. The soft-max over f_j(p) is theirs (their loss takes
    f_j(p) as logits). Their networks have no rule against illegal paths; our output is decoded.
    The weight of an annotator is ours.

    References
    ----------
    Rodrigues & Pereira (2018), Deep learning from crowds, AAAI. doi:10.1609/aaai.v32i1.11506
    """

    name: ClassVar[str] = "dl-cl"
    variants: ClassVar[tuple[str, ...]] = ("MW", "VW", "VW+B", "S")

    variant: str = "VW"
    pretrain: int = 3
    max_iter: int = 5
    crowd_rate: float = 0.02

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pretrain < 0:
            raise ParameterError("pretrain must not be negative", got=str(self.pretrain))

    def _fit(self, task: Task) -> Outcome:
        from seqtruth.methods.neural import training as neural

        data = neural.ordered(task)
        crowd = data.crowd
        vote = weighted_vote(
            crowd, np.ones(crowd.n_annotators), np.ones(crowd.n_labels), known=data.known
        )
        voted = np.repeat(crowd.covered, np.diff(crowd.corpus.token_offsets))
        maps = identity_maps(self.variant, crowd.n_annotators, crowd.n_labels)
        training = neural.Training(
            replace(self.predictor, output="softmax", seed=self.seed), data, maps, self.crowd_rate,
            self._loss(maps, np.where(voted, vote.tags, vote.tags.dtype.type(-1))),
            self.pretrain + self.max_iter,
        )  # fmt: skip

        def habits(probabilities: F32) -> tuple[F64, F64]:
            prior = probabilities.mean(axis=0, dtype=np.float64) + 1e-9
            return confusions(self.variant, maps, crowd.n_labels), prior

        return self._taught(training, task, habits)

    def _loss(self, maps: dict[str, Tensor], vote: Tags) -> Loss:
        def loss(epoch: Epoch, batch: Batch, said: Said, known: Tensor) -> dict[str, Tensor]:
            import torch

            rng, rate = epoch.rng, epoch.dropout
            scores = epoch.network.scores(epoch.network.read(batch, rate, rng), rate, rng)
            logs = scores.log_softmax(dim=2)
            zero = scores.new_zeros(())
            if epoch.number < self.pretrain:
                wanted = torch.from_numpy(vote)[batch.token].masked_fill(~batch.mask, -1).long()
                return {"crowd": zero, "majority": masked(logs, wanted), "known": zero}
            rows = crowd_scores(self.variant, maps, logs.exp(), said)
            return {
                "crowd": masked(rows.log_softmax(dim=2), said.tags),
                "majority": zero,
                "known": masked(logs, known),
            }

        return loss


def identity_maps(variant: str, n_annotators: int, n_labels: int) -> dict[str, Tensor]:
    """Every annotator repeats the bottleneck."""
    import torch

    start = {
        "MW": torch.eye(n_labels).repeat(n_annotators, 1, 1),
        "VW": torch.ones(n_annotators, n_labels),
        "VW+B": torch.ones(n_annotators, n_labels),
        "S": torch.ones(n_annotators, 1),
    }
    maps = {"scale": start[variant]}
    if variant == "VW+B":
        maps["bias"] = torch.zeros(n_annotators, n_labels)
    return {name: tensor.requires_grad_(True) for name, tensor in maps.items()}


def crowd_scores(variant: str, maps: dict[str, Tensor], p: Tensor, said: Said) -> Tensor:
    """float[R, N, L]: f_j(p_i) for each row's annotator, from p [B, N, L]."""
    of_row, scale = p[said.sentence], maps["scale"][said.annotator]
    if variant == "MW":
        return of_row @ scale
    found = of_row * scale[:, None, :]
    return found + maps["bias"][said.annotator][:, None, :] if "bias" in maps else found


def masked(logs: Tensor, tags: Tensor) -> Tensor:
    """Cross-entropy -Σ logs[…, tag], over the tags that are not -1."""
    each = logs.gather(-1, tags.clamp(min=0)[..., None])[..., 0]
    return -(each * (tags >= 0)).sum()


def confusions(variant: str, maps: dict[str, Tensor], n_labels: int) -> F64:
    """float64[W, L, L]: softmax(f_j(e_t))."""
    import torch

    from seqtruth.methods.neural.training import Said

    n_annotators = len(maps["scale"])
    rows = torch.arange(n_annotators)
    said = Said(torch.zeros(n_annotators, dtype=torch.int64), rows, torch.zeros(0))
    with torch.no_grad():
        found = crowd_scores(variant, maps, torch.eye(n_labels)[None], said).softmax(dim=2)
    return np.asarray(found.numpy(), np.float64)
