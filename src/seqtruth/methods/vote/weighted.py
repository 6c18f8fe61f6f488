"""The weighted vote on a crowd: what every vote method and many a first guess is made of."""

from __future__ import annotations

from seqtruth.data.crowd import Crowd
from seqtruth.kernels.arrays import F64, U64, Tags
from seqtruth.kernels.random import sentence_keys
from seqtruth.kernels.vote import Prediction, Vote, ballot, count_votes


def weighted_vote(
    crowd: Crowd,
    weights: F64,
    class_weights: F64,
    *,
    decoding: str = "none",
    ties: str = "alphabetical",
    seed: int = 0,
    prediction: Prediction | None = None,
    known: Tags | None = None,
) -> Vote:
    """The Y* step (Eq 12) and everything measured on its outcome, in one pass.

    With ξ and the weights fixed, the minimiser of L_agg + L_pred, each label's terms counted U[l]
    times, is the weighted vote y*_i[l] ∝ U[l] (Σ_j w_j [y^j_i = l] + w_dl ŷ_i[l]); the consistency
    module then makes the path legal. Where the legal path departs from the vote, the two labels'
    probabilities change places, so that y* and the path agree and the next weights are judged
    against consistent labels.

    Parameters
    ----------
    crowd : what the annotators said.
    weights : float64[W].
    class_weights : float64[L], U.
    decoding : see :mod:`seqtruth.kernels.repair`.
    ties, seed : see :mod:`seqtruth.kernels.ties`.
    prediction : the predictor as one more annotator.
    known : tag[T], labels given as true (-1: none); they stay as they are.
    """
    by = ballot(
        crowd.scheme.grammar, weights, class_weights, decoding=decoding, ties=ties,
        keys=keys_for(crowd, decoding, ties, seed), prediction=prediction, known=known,
    )  # fmt: skip
    return count_votes(crowd.view, by, True)


def keys_for(crowd: Crowd, decoding: str, ties: str, seed: int) -> U64 | None:
    """uint64[S], what a sentence's draws depend on; None where this way of voting draws nothing."""
    if ties == "random" or decoding == "bidirectional":
        return sentence_keys(crowd.corpus.sentence_ids, seed)
    return None
