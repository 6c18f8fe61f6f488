"""CRH: truth discovery by minimising the weighted distance to the sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64
from seqtruth.methods.vote.objective import WEIGHT_NORMS, weights_from_losses
from seqtruth.methods.vote.truth_discovery import TruthDiscovery


@dataclass(frozen=True, kw_only=True)
class CRH(TruthDiscovery):
    """Weighted vote with weights -log of each annotator's share of the loss.

    min Σ_j w_j loss_j  over the labels y* and the weights, subject to Σ_j exp(-w_j) = 1, with

        loss_j = mean over their tokens of [y^j_i ≠ y*_i]                              (0-1 loss)

    The two exact steps, by turns from the majority vote:

        y*_i = argmax_l Σ_j w_j [y^j_i = l],        w_j = -log(loss_j / Σ_j' loss_j')

    ``weight_norm="max"`` divides by the largest loss instead, as AggSLC prints it: the worst annotator
    then has no say, and differences among the others count for more.

    Parameters
    ----------
    weight_norm : ``"max"`` or ``"sum"`` (the minimiser under the constraint).

    Notes
    -----
    *Differs from the paper.* Tokens are the entries, all of one kind. Annotators are judged on the tokens
    at stake (``average``), errors are smoothed (``smoothing``), and the outcome is made a legal path
    (``decoding``). The paper's own: ``weight_norm="sum", average="token", smoothing=1e-9,
    decoding="none"``. With known gold or the repair of illegal paths, the y* step is no longer the
    free minimiser.

    References
    ----------
    Li, Li, Gao, Zhao, Fan & Han (2014), Resolving conflicts in heterogeneous data by truth discovery
    and source reliability estimation, SIGMOD. doi:10.1145/2588555.2610509

    Examples
    --------
    >>> from seqtruth.data.crowd import Crowd
    >>> votes = {"a": [["X", "Y", "X", "X"]], "b": [["X", "Y", "X", "Y"]], "c": [["Y", "X", "X", "X"]]}
    >>> result = CRH().fit(Crowd.of(votes, [["t", "u", "v", "w"]]))
    >>> [row["annotator"] for row in result.annotators.ranked()]
    ['c', 'b', 'a']
    """

    name: ClassVar[str] = "crh"
    promises_legal: ClassVar[bool] = True

    weight_norm: str = "max"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weight_norm not in WEIGHT_NORMS:
            raise ParameterError(
                f"weight_norm must be one of {', '.join(WEIGHT_NORMS)}", got=repr(self.weight_norm)
            )

    def _weigh(self, losses: F64, counts: F64) -> F64:
        return weights_from_losses(losses / counts, self.weight_norm)
