"""The objective of AggSLC as pure functions, each citing its equation.

F(Y*, W, w_dl) = L_agg + L_pred + L_inc                                                   (eq 1)

    L_agg  = Σ_j w_j Σ_k ξ_k Σ_i H(y^j_i, y*_i)                                           (Eq 2)
    L_pred = w_dl Σ_k ξ_k Σ_i H(ŷ_i, y*_i)                                                (Eq 5)
    L_inc  = Σ_k Σ_i l_inc(y*_{i-1}, y*_i) + l_inc(y*_i, y*_{i+1})                        (Eq 6)

H is the cross-entropy and ξ_k the confidence of sentence k (Eq 4). One pass over the crowd,
:func:`seqtruth.methods.vote.weighted.weighted_vote`, does the Y* step for given weights and collects
all that the weight step needs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F32, F64, I64, Bool, Tags
from seqtruth.kernels.native import call
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.kernels.vote import LEAST_PROBABILITY

#: An annotator who never disagrees has loss 0 and would get infinite weight: losses are clipped here.
SMALLEST_LOSS = 1e-9
WEIGHT_NORMS = ("max", "sum")
AVERAGES = ("entity", "token")


def average_losses(
    sums: F64, labelled: I64, average: str, prior: F64 | None = None, strength: float = 0.0
) -> F64:
    """float64[W]: each annotator's mean loss; nan for who labelled nothing.

    ``"token"`` divides by the tokens they labelled. ``"entity"`` averages over the tokens at stake
    only: otherwise annotators whose articles hold few names look better than they are. ``prior`` is the
    mean loss expected of each annotator beforehand (nan: none), worth ``strength`` tokens.

    Parameters
    ----------
    sums : float64[3, W], from :attr:`seqtruth.kernels.vote.Vote.sums`.
    labelled : int64[W], tokens each annotator labelled.
    """
    if average not in AVERAGES:
        raise ParameterError(f"average must be one of {', '.join(AVERAGES)}", got=repr(average))
    whole, staked, stakes = sums
    losses, counts = (whole, labelled) if average == "token" else (staked, stakes)
    if prior is not None:
        expected = ~np.isnan(prior)
        losses = losses + np.where(expected, strength * prior, 0.0)
        counts = counts + np.where(expected, strength, 0.0)
    means = np.divide(losses, counts, out=np.zeros(len(losses)), where=counts > 0)
    return np.where(labelled > 0, means, np.nan)


def prediction_losses(
    predicted: F32, given: Bool, tags: Tags, soft: F32, confidence: F64, crowd: Crowd, average: str
) -> tuple[float, int]:
    """Σ ξ H(ŷ, y*) of the predictor against the present Y*, and over how many tokens (for w_dl).

    Parameters
    ----------
    predicted, given : float32[T, L] and bool[S], ŷ and the sentences that have one.
    tags, soft, confidence : the present labels, y* and ξ.
    average : which tokens count, as in :func:`average_losses`.
    """
    lengths = np.diff(crowd.corpus.token_offsets)
    token = np.repeat(given & crowd.covered, lengths)
    if average == "entity":
        entity = crowd.scheme.is_entity
        token &= entity[tags] | entity[predicted.argmax(axis=1)]
    xi = np.repeat(confidence, lengths)[token]
    logs = -np.log(np.maximum(soft[token], LEAST_PROBABILITY))
    return float(xi @ (predicted[token] * logs).sum(axis=1)), int(token.sum())


def weights_from_losses(losses: F64, norm: str) -> F64:
    """The weight step (Eq 9, Eq 10): -log of each loss over the largest, or over their sum.

    ``"sum"`` is the exact minimiser of Σ_j w_j loss_j under Σ_j exp(-w_j) = 1 (the predictor being one
    of the j). ``"max"`` is what the paper prints: the worst annotator gets 0 and the constraint no longer
    holds. ``losses`` are averages over what each annotator labelled; nan marks an annotator who labelled
    nothing and gets weight 0.

    Examples
    --------
    >>> weights_from_losses(np.array([0.1, 0.4]), "max").round(3).tolist()
    [1.386, 0.0]
    """
    if norm not in WEIGHT_NORMS:
        raise ParameterError(
            f"weight_norm must be one of {', '.join(WEIGHT_NORMS)}", got=repr(norm)
        )
    known = ~np.isnan(losses)
    weights = np.zeros(len(losses))
    if not known.any():
        return weights
    clipped = np.maximum(losses[known], SMALLEST_LOSS)
    scale = clipped.max() if norm == "max" else clipped.sum()
    weights[known] = np.log(scale / clipped)
    if not weights.any():  # all alike: nobody is worse than the others
        weights[known] = 1.0
    return weights


def class_weights(rule: str | float, scheme: Scheme, count: Callable[[bool], I64]) -> F64:
    """U: how much a vote for each label counts (paper, "Class Weights").

    ``"inverse"`` is the paper's rule, n / (L · n_l) with n_l the number of votes for label l;
    ``"contested"`` counts only tokens on which annotators disagree, so that the mass of plain O
    does not decide; a number is the factor of every entity label against O; ``"none"`` is 1.
    Weights are scaled to 1 for the most frequent label. ``count`` is asked for the votes, all or the
    contested ones (:func:`vote_counts`), where the rule needs them.
    """
    if rule == "none":
        return np.ones(len(scheme.labels))
    if isinstance(rule, int | float) and not isinstance(rule, bool):
        if not (np.isfinite(rule) and rule > 0):
            raise ParameterError("a class weight must be positive", got=str(rule))
        return np.where(scheme.is_entity, float(rule), 1.0)
    if rule not in ("inverse", "contested"):
        raise ParameterError(
            "class_weights must be inverse, contested, none or a number", got=repr(rule)
        )
    counts = count(rule == "contested").astype(np.float64)
    counts = np.where(counts > 0, counts, np.inf if counts.any() else 1.0)
    largest = counts[np.isfinite(counts)].max() if np.isfinite(counts).any() else 1.0
    weights = largest / counts
    weights[weights == 0] = 1.0
    return weights


def vote_counts(crowd: Crowd, contested: bool) -> I64:
    """int64[L]: votes for each label, over all tokens or over those with more than one label."""
    view = crowd.view

    def run(a: int, b: int) -> I64:
        counts = np.zeros(crowd.n_labels, np.int64)
        call("count_label_votes", view, a, b, contested, counts)
        return counts

    parts = map_chunks(run, chunk_bounds(view.token_offsets))
    return sum(parts, np.zeros(crowd.n_labels, np.int64))
