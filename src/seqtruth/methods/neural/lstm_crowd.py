"""LSTM-Crowd: a neural tagger that learns from all annotators, with a vector for each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F32, F64
from seqtruth.kernels.estep import expected_counts
from seqtruth.methods.base import check_positive
from seqtruth.methods.neural.base import TaggerFromCrowd
from seqtruth.methods.task import Outcome, Task

if TYPE_CHECKING:
    from torch import Tensor

    from seqtruth.methods.neural.training import Epoch, Loss, Said
    from seqtruth.predictors.torch.network import Batch


@dataclass(frozen=True, kw_only=True)
class LSTMCrowd(TaggerFromCrowd):
    """BiLSTM-CRF in which every annotator's habits are a vector, left out when predicting.

    For annotator j, with h_i what the LSTM has read at token i:

    - ``add`` (LSTM-Crowd): s^j_i = W tanh(P h_i) + v_j, the vector (L) added to the label scores;
    - ``cat`` (LSTM-Crowd-cat): s^j_i = W tanh(P [h_i; v_j]), the vector joined to the hidden layer.

    p(y^j | x) is a CRF over s^j. Training maximises Σ_j Σ_s ( log p(y^j_s | x_s) - penalty/2 ‖v_j‖² )
    over the sequences that were given; missing tags are summed over. Prediction uses v = 0: what an
    annotator without habits would say. Known labels are one more annotator whose vector is 0 for
    good, and are kept.

    The model has no reliability of its own (a vector says what an annotator leans to, not whether they
    are right). ``annotators`` gives the information their tags carry about the tagger's opinion:
    C_j[t, c] ∝ 1/L + Σ_i p_i[t] [c^j_i = c].

    Parameters
    ----------
    variant : ``"cat"`` (better on ``nguyen_val``) or ``"add"``.
    width : length of the vectors of ``cat``.
    penalty : pulls vectors to zero, so that what is common to all stays in the tagger.
    max_iter : epochs. The learning rate runs one cycle over them, so the run always ends at the
        last; ``stop_reason`` says ``"rounds"``.
    crowd_rate : peak learning rate of the vectors.
    predictor : the network and how it is trained; its ``epochs``, ``output`` and ``seed`` are not
        used.
    seed : initial values, batches, dropout.

    Notes
    -----
    *Differs from the paper.* The authors' tagger is Lample et al.'s LSTM-CRF (characters by an LSTM);
    ours is the shared network with a character convolution. Vectors start at zero. The penalty is
    ours, 0 switches it off. A sentence is read once for all of its annotators.

    References
    ----------
    Nguyen, Wallace, Li, Nenkova & Lease (2017), Aggregating and predicting sequence labels from
    crowd annotations, ACL. doi:10.18653/v1/P17-1028
    """

    name: ClassVar[str] = "lstm-crowd"
    variants: ClassVar[tuple[str, ...]] = ("cat", "add")

    variant: str = "cat"
    width: int = 16
    penalty: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(width=self.width)
        if not self.penalty >= 0:
            raise ParameterError("penalty must not be negative", got=str(self.penalty))

    def _fit(self, task: Task) -> Outcome:
        from seqtruth.methods.neural import training as neural

        data = neural.ordered(task)
        crowd = data.crowd
        model = replace(self.predictor, output="crf", seed=self.seed)
        vectors = self._vectors(crowd.n_annotators, crowd.n_labels, model.hidden)
        training = neural.Training(
            model, data, vectors, self.crowd_rate, self._loss(vectors), self.max_iter
        )
        return self._taught(training, task, lambda opinions: agreement(crowd, opinions))

    def _vectors(self, n_annotators: int, n_labels: int, hidden: int) -> dict[str, Tensor]:
        """One vector per annotator and, for ``cat``, the columns of P that it meets."""
        import torch

        if self.variant == "add":
            made = {"vector": torch.zeros(n_annotators, n_labels)}
        else:
            rng = np.random.default_rng([self.seed, 2])
            spread = rng.normal(0.0, self.width**-0.5, (self.width, hidden)).astype(np.float32)
            made = {
                "vector": torch.zeros(n_annotators, self.width),
                "join": torch.from_numpy(spread),
            }
        return {name: tensor.requires_grad_(True) for name, tensor in made.items()}

    def _loss(self, vectors: dict[str, Tensor]) -> Loss:
        def loss(epoch: Epoch, batch: Batch, said: Said, known: Tensor) -> dict[str, Tensor]:
            import torch

            from seqtruth.predictors.torch.crf_layer import negative_log_likelihood

            network, rng, rate = epoch.network, epoch.rng, epoch.dropout
            read = network.read(batch, rate, rng)
            told, sure = (said.tags >= 0).any(dim=1), (known >= 0).any(dim=1)
            sentence, annotator = said.sentence[told], said.annotator[told]
            vector = vectors["vector"][annotator]
            blank = vector.new_zeros(int(sure.sum()), vector.shape[1])
            vector = torch.cat([vector, blank])[:, None, :]
            of_row = torch.cat([read[sentence], read[sure]])
            if self.variant == "add":
                scores = network.scores(of_row, rate, rng) + vector
            else:
                scores = network.scores(of_row + vector @ vectors["join"], rate, rng)
            tags = torch.cat([said.tags[told], known[sure]])
            target = torch.nn.functional.one_hot(tags.clamp(min=0), scores.shape[2]).float()
            target = target * (tags >= 0)[..., None]
            mask = torch.cat([batch.mask[sentence], batch.mask[sure]])
            each = negative_log_likelihood(scores, mask, network.chain, target)
            lean = 0.5 * self.penalty * (vector**2).sum()
            parts = {"crowd": each[: len(sentence)], "known": each[len(sentence) :]}
            return {name: part.sum() for name, part in parts.items()} | {"penalty": lean}

        return loss


def agreement(crowd: Crowd, probabilities: F32) -> tuple[F64, F64]:
    """Confusion matrices float64[W, L, L] against given opinions, and the share of each label."""
    n_labels = crowd.n_labels
    even = np.full(n_labels, 1.0 / n_labels)
    flat = np.zeros((crowd.n_annotators, 1, n_labels, n_labels))
    logs = np.log(np.maximum(probabilities, 1e-10))
    found = expected_counts(crowd.view, flat, even, None, evidence=logs)
    counts = found.annotators[:, 0].transpose(0, 2, 1) + 1.0 / n_labels
    return counts / counts.sum(axis=2, keepdims=True), found.prior + 1e-9
