"""OptSLA: the optimisation approach that AggSLC extends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seqtruth.methods.vote.aggslc import AggSLC


@dataclass(frozen=True, kw_only=True)
class OptSLA(AggSLC):
    """Weighted vote, tagger and a left-to-right repair, optimised together.

    min F = L_agg + L_pred + L_inc over the labels Y*, the annotators' weights w_j and the tagger's w_dl,

        L_agg  = Σ_j w_j Σ_k ξ_k Σ_i H(y^j_i, y*_i)
        L_pred = w_dl Σ_k ξ_k Σ_i H(ŷ_i, y*_i)
        L_inc  = number of forbidden transitions (i, i+1)

    by turns: weights from the confidence-weighted cross-entropies, w_j = -log(loss_j / max loss);
    the tagger learns from sentences of high confidence ξ and predicts the others; labels by the
    weighted vote, with class weights for the rare labels. It is the loop of
    :class:`~seqtruth.methods.vote.aggslc.AggSLC`, which see for all parameters. What sets it apart is
    the *unidirectional* consistency step: from left to right, given the label chosen for token i-1,
    take the first of (best, best), (best, second), (second, best), (second, second) for the tokens
    i and i+1 that holds no forbidden transition, and keep the best label where none does. A repair
    looks one token ahead and never back, so that the labels need not be legal in the end.

    Notes
    -----
    *Differs from the paper.* Its tagger is a BiLSTM over GloVe vectors, trained with focal loss; here
    any predictor will do, by default the CRF. ``average``, ``class_weights`` and the
    closed form of the vote are those of our AggSLC, chosen on ``nguyen_val``. Written from the
    summary of the method in the AggSLC paper and our design notes, not from the paper's own text.

    References
    ----------
    Sabetpour, Kulkarni & Li (2020), OptSLA: an optimization-based approach for sequential label
    aggregation, Findings of EMNLP. doi:10.18653/v1/2020.findings-emnlp.119

    Examples
    --------
    >>> from seqtruth.data.crowd import Crowd
    >>> votes = {"a": [["B-PER", "O"]], "b": [["B-PER", "O"]], "c": [["O", "O"]]}
    >>> result = OptSLA(predictor=None).fit(Crowd.of(votes, [["Ann", "ran"]]))
    >>> [result.scheme.labels[t] for t in result.tags]
    ['B-PER', 'O']
    """

    name: ClassVar[str] = "optsla"
    promises_legal: ClassVar[bool] = False

    decoding: str = "unidirectional"
    prediction: str = "low-confidence"
    threshold: float = 0.9
