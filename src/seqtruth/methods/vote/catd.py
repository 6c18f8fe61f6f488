"""CATD: truth discovery that does not over-trust annotators with few labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64
from seqtruth.kernels.special import gamma_quantile
from seqtruth.methods.vote.truth_discovery import TruthDiscovery


@dataclass(frozen=True, kw_only=True)
class CATD(TruthDiscovery):
    """Weighted vote with weights from the upper end of a confidence interval of each error variance.

    An annotator's errors are taken as draws from N(0, σ_j²); from n_j of them with sum of squares
    loss_j, the 1-α interval of σ_j² ends at loss_j / χ²(α/2, n_j). The weight is its inverse,

        w_j = χ²(α/2, n_j) / loss_j,        loss_j = Σ_i [y^j_i ≠ y*_i],

    where χ²(p, n) is the p-quantile with n degrees of freedom. For large n it is about n, and w_j the
    inverse of the error rate; an annotator of few labels falls short of that. Labels are the weighted
    vote. Starts from the majority vote. Weights are scaled so that the largest is 1 (a vote does not
    mind).

    Parameters
    ----------
    alpha : 1 - the level of the interval; smaller is warier of annotators with few labels.

    Notes
    -----
    *Differs from the paper*, as :class:`~seqtruth.methods.vote.crh.CRH` does: tokens at stake
    (``average``), smoothed errors (``smoothing``; the paper leaves an annotator without error
    undefined), a legal path in the end (``decoding``).

    References
    ----------
    Li, Li, Gao, Su, Zhao, Demirbas, Fan & Han (2014), A confidence-aware approach for truth discovery
    on long-tail data, PVLDB 8(4). doi:10.14778/2735496.2735505

    Examples
    --------
    >>> from seqtruth.data.crowd import Crowd
    >>> votes = {"a": [["X", "Y", "X", "X"]], "b": [["X", "Y", "X", "Y"]], "c": [["Y", "X", "X", "X"]]}
    >>> result = CATD().fit(Crowd.of(votes, [["t", "u", "v", "w"]]))
    >>> [row["annotator"] for row in result.annotators.ranked()]
    ['c', 'b', 'a']
    """

    name: ClassVar[str] = "catd"
    promises_legal: ClassVar[bool] = True

    alpha: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.alpha < 1:
            raise ParameterError("alpha must be between 0 and 1", got=str(self.alpha))

    def _weigh(self, losses: F64, counts: F64) -> F64:
        # χ²(p, n) is twice the p-quantile of a gamma distribution of shape n / 2
        weights: F64 = 2.0 * gamma_quantile(counts / 2, self.alpha / 2) / losses
        return weights / weights.max() if len(weights) else weights
