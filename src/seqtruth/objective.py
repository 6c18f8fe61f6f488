"""The objective of AggSLC as pure functions, each citing its equation.

F(Y*, W, w_dl) = L_agg + L_pred + L_inc                                                   (eq 1)

    L_agg  = Σ_j w_j Σ_k ξ_k Σ_i H(y^j_i, y*_i)                                           (Eq 2)
    L_pred = w_dl Σ_k ξ_k Σ_i H(ŷ_i, y*_i)                                                (Eq 5)
    L_inc  = Σ_k Σ_i l_inc(y*_{i-1}, y*_i) + l_inc(y*_i, y*_{i+1})                        (Eq 6)

H is the cross-entropy and ξ_k the confidence of sentence k (Eq 4). One pass over the crowd,
:func:`weighted_vote`, does the Y* step for given weights and collects all that the weight step needs;
every sum in it adds up over sentences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.compiled import F32, F64, I8, I32, I64, U64, Bool, chunk_bounds, kernel, map_chunks
from seqtruth.consistency import (
    BIDIRECTIONAL,
    EXACT,
    UNIDIRECTIONAL,
    bidirectional_sentence,
    exact_sentence,
    inconsistency,
    mode,
    unidirectional_sentence,
)
from seqtruth.data import Crowd
from seqtruth.errors import ParameterError
from seqtruth.inference import Chain
from seqtruth.ties import order, pick, sentence_keys

#: H(y, y*) diverges where y* gives an annotator's label no probability: y* is clipped here.
CLIP = 1e-4
#: A worker who never disagrees has loss 0 and would get infinite weight: losses are clipped here.
SMALLEST_LOSS = 1e-9
WEIGHT_NORMS = ("max", "sum")
AVERAGES = ("entity", "token")


class Prediction(NamedTuple):
    """A predictor's say: ``probabilities[T, L]``, on sentences where ``given[S]``, with its weight."""

    probabilities: F32
    given: Bool
    weight: float


class Vote(NamedTuple):
    """Outcome of one pass.

    tags : int8[T], the labels after the consistency module; -1 where nobody voted.
    probabilities : float32[T, L], the soft aggregate y*.
    confidence : float64[S], ξ of every sentence (Eq 4).
    losses : float64[W], Σ_k ξ_k Σ_i H(y^j, y*) of each worker, as in L_agg.
    stake_losses, stakes : float64[W], the same sum over the tokens at stake, and their number: those
        where the worker or the aggregate names an entity (every token for plain tags).
    prediction_loss : as ``losses``, of the predictor.
    illegal : number of forbidden transitions left (each counts twice in L_inc, Eq 6).
    """

    tags: I8
    probabilities: F32
    confidence: F64
    losses: F64
    stake_losses: F64
    stakes: F64
    prediction_loss: float
    illegal: int


def weighted_vote(
    crowd: Crowd,
    weights: F64,
    class_weights: F64,
    *,
    decoding: str = "none",
    ties: str = "alphabetical",
    seed: int = 0,
    prediction: Prediction | None = None,
    known: I8 | None = None,
) -> Vote:
    """The Y* step (Eq 12) and everything measured on its outcome, in one pass.

    With ξ and the weights fixed, the minimiser of L_agg + L_pred, each label's terms counted U[l]
    times, is the weighted vote y*_i[l] ∝ U[l] (Σ_j w_j [y^j_i = l] + w_dl ŷ_i[l]); the consistency
    module then makes the path legal. Where the legal path departs from the vote, the two labels'
    probabilities change places, so that y* and the path agree and the next weights are judged
    against consistent labels.

    Parameters
    ----------
    weights : float64[W].
    class_weights : float64[L], U.
    decoding : see :mod:`seqtruth.consistency`.
    ties : see :mod:`seqtruth.ties`.
    prediction : the predictor as one more worker.
    known : int8[T], labels given as true (-1: none); they stay as they are.
    """
    scheme, offsets = crowd.scheme, crowd.corpus.token_offsets
    n_labels = crowd.n_labels
    tags = np.empty(crowd.n_tokens, np.int8)
    probabilities = np.empty((crowd.n_tokens, n_labels), np.float32)
    confidence = np.empty(crowd.n_sentences)
    logs = Chain.legal(scheme).logs()
    how, preference = mode(decoding), order(ties, scheme)
    keys = sentence_keys(crowd.corpus.sentence_ids, seed)
    first_tag = crowd.row_offsets[crowd.sentence_rows]
    hint = prediction or Prediction(
        np.zeros((0, n_labels), np.float32), np.zeros(crowd.n_sentences, np.bool_), 0.0
    )

    def run(a: int, b: int) -> tuple[F64, F64]:
        losses, sums = np.zeros((3, crowd.n_workers)), np.zeros(2)
        _vote_chunk(
            crowd.tags, first_tag, offsets, crowd.sentence_rows, crowd.row_worker, a, b,
            weights, class_weights, hint.probabilities, hint.given, hint.weight,
            np.zeros(0, np.int8) if known is None else known,
            how, preference, ties == "random", keys,
            scheme.start, scheme.allowed, scheme.end, *logs, scheme.is_entity, max(scheme.outside, 0),
            tags, probabilities, confidence, losses, sums,
        )  # fmt: skip
        return losses, sums

    parts = map_chunks(run, chunk_bounds(offsets))
    losses, sums = np.zeros((3, crowd.n_workers)), np.zeros(2)
    for part, more in parts:
        losses += part
        sums += more
    return Vote(
        tags,
        probabilities,
        confidence,
        losses[0],
        losses[1],
        losses[2],
        float(sums[0]),
        int(sums[1]),
    )


@kernel
def _vote_chunk(
    tags: I8,
    first_tag: I64,
    offsets: I64,
    sentence_rows: I64,
    row_worker: I32,
    first: int,
    last: int,
    weights: F64,
    class_weights: F64,
    predicted: F32,
    has_prediction: Bool,
    prediction_weight: float,
    known: I8,
    how: int,
    preference: I8,
    random: bool,
    keys: U64,
    start: Bool,
    allowed: Bool,
    end: Bool,
    log_start: F64,
    log_trans: F64,
    log_end: F64,
    is_entity: Bool,
    outside: int,
    out_tags: I8,
    out_y: F32,
    out_xi: F64,
    losses: F64,
    sums: F64,
) -> None:
    n_labels = len(class_weights)
    longest = 1
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    y, logs = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    best, back = np.empty((2, n_labels)), np.empty((longest, n_labels), np.int8)
    path, choice = np.empty(longest, np.int8), np.empty(longest, np.int8)
    spare = np.empty(longest, np.int8)
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        rows = sentence_rows[s + 1] - sentence_rows[s]
        y[:n] = 0.0
        for r in range(sentence_rows[s], sentence_rows[s + 1]):
            at, weight = first_tag[s] + (r - sentence_rows[s]) * n, weights[row_worker[r]]
            for i in range(n):
                if tags[at + i] >= 0:
                    y[i, tags[at + i]] += weight
        if has_prediction[s]:
            for i in range(n):
                for k in range(n_labels):
                    y[i, k] += prediction_weight * predicted[a + i, k]
        voted = _normalise(y[:n], class_weights, preference, random, keys[s], path[:n], outside)
        if len(known):
            for i in range(n):
                if known[a + i] >= 0:
                    voted = True
                    y[i] = 0.0
                    y[i, known[a + i]] = 1.0
                    path[i] = known[a + i]
        choice[:n] = path[:n]
        if how != 0 and voted and inconsistency(path[:n], start, allowed, end) > 0:
            if how == EXACT:
                exact_sentence(y[:n], log_start, log_trans, log_end, logs, best, back, path[:n])
            elif how == BIDIRECTIONAL:
                bidirectional_sentence(
                    y[:n], start, allowed, end, log_start, log_trans, log_end, is_entity,
                    keys[s], logs, best, back, spare[:n], path[:n],
                )  # fmt: skip
            elif how == UNIDIRECTIONAL:
                unidirectional_sentence(y[:n], start, allowed, end, path[:n])
        margin = 0.0
        for i in range(n):
            if path[i] != choice[i]:
                y[i, path[i]], y[i, choice[i]] = y[i, choice[i]], y[i, path[i]]
            margin += _margin(y[i])
        xi = margin / n if n else 0.0
        out_xi[s] = xi if voted else 0.0
        sums[1] += inconsistency(path[:n], start, allowed, end) if voted else 0
        for i in range(n):
            out_tags[a + i] = path[i] if voted else -1
            for k in range(n_labels):
                out_y[a + i, k] = y[i, k]
                logs[i, k] = -np.log(max(y[i, k], CLIP))
        for r in range(rows):
            at, worker = first_tag[s] + r * n, row_worker[sentence_rows[s] + r]
            loss, stake_loss, stakes = 0.0, 0.0, 0
            for i in range(n):
                tag = tags[at + i]
                if tag >= 0:
                    loss += logs[i, tag]
                    if is_entity[tag] or is_entity[path[i]]:
                        stake_loss += logs[i, tag]
                        stakes += 1
            losses[0, worker] += xi * loss
            losses[1, worker] += xi * stake_loss
            losses[2, worker] += stakes
        if has_prediction[s]:
            loss = 0.0
            for i in range(n):
                for k in range(n_labels):
                    loss += predicted[a + i, k] * logs[i, k]
            sums[0] += xi * loss


@kernel
def _normalise(
    y: F64, class_weights: F64, preference: I8, random: bool, key: np.uint64, path: I8, outside: int
) -> bool:
    """Class-weighted votes to probabilities and the winning label; says whether anybody voted."""
    anybody = False
    n_labels = len(class_weights)
    for i in range(len(path)):
        total = 0.0
        for k in range(n_labels):
            y[i, k] *= class_weights[k]
            total += y[i, k]
        if total > 0.0:
            anybody = True
            for k in range(n_labels):
                y[i, k] /= total
            path[i] = pick(y[i], preference, random, key, i)
        else:
            for k in range(n_labels):
                y[i, k] = 1.0 / n_labels
            path[i] = outside
    return anybody


@kernel
def _margin(y: F64) -> float:
    """Probability of the most likely label minus that of the second (Eq 4)."""
    top, second = 0.0, 0.0
    for k in range(len(y)):
        if y[k] > top:
            second = top
            top = y[k]
        elif y[k] > second:
            second = y[k]
    return top - second


def average_losses(
    vote: Vote, crowd: Crowd, average: str, prior: F64 | None = None, strength: float = 0.0
) -> F64:
    """float64[W]: each worker's mean loss; nan for who labelled nothing.

    ``"token"`` divides by the tokens he labelled. ``"entity"`` averages over the tokens at stake
    only: otherwise workers whose articles hold few names look better than they are. ``prior`` is the
    mean loss expected of each worker beforehand (nan: none), worth ``strength`` tokens.
    """
    if average not in AVERAGES:
        raise ParameterError(f"average must be one of {', '.join(AVERAGES)}", got=repr(average))
    labelled = crowd.worker_tokens
    sums, counts = (
        (vote.losses, labelled) if average == "token" else (vote.stake_losses, vote.stakes)
    )
    if prior is not None:
        expected = ~np.isnan(prior)
        sums = sums + np.where(expected, strength * prior, 0.0)
        counts = counts + np.where(expected, strength, 0.0)
    means = np.divide(sums, counts, out=np.zeros(len(sums)), where=counts > 0)
    return np.where(labelled > 0, means, np.nan)


def prediction_loss(predicted: F32, given: Bool, vote: Vote, crowd: Crowd, average: str) -> float:
    """The predictor's mean loss H(ŷ, y*) against the present Y*, over what it predicted (for w_dl)."""
    lengths = np.diff(crowd.corpus.token_offsets)
    token = np.repeat(given & crowd.covered, lengths)
    if average == "entity":
        entity = crowd.scheme.is_entity
        token &= entity[vote.tags] | entity[predicted.argmax(axis=1)]
    if not token.any():
        return float("nan")
    xi = np.repeat(vote.confidence, lengths)[token]
    logs = -np.log(np.maximum(vote.probabilities[token], CLIP))
    return float(xi @ (predicted[token] * logs).sum(axis=1) / token.sum())


def weights_from_losses(losses: F64, norm: str) -> F64:
    """The weight step (Eq 9, Eq 10): -log of each loss over the largest, or over their sum.

    ``"sum"`` is the exact minimiser of Σ_j w_j loss_j under Σ_j exp(-w_j) = 1 (the predictor being one
    of the j). ``"max"`` is what the paper prints: the worst worker gets 0 and the constraint no longer
    holds. ``losses`` are averages over what each worker labelled; nan marks a worker who labelled
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
    weights[known] = -np.log(clipped / scale)
    if not weights.any():  # all alike: nobody is worse than the others
        weights[known] = 1.0
    return weights


def class_weights(rule: str | float, crowd: Crowd) -> F64:
    """U: how much a vote for each label counts (paper, "Class Weights").

    ``"inverse"`` is the paper's rule, n / (L · n_l) with n_l the number of votes for label l;
    ``"contested"`` counts only tokens on which annotators disagree, so that the mass of plain O
    does not decide; a number is the factor of every entity label against O; ``"none"`` is 1.
    Weights are scaled to 1 for the most frequent label.
    """
    n_labels = crowd.n_labels
    if rule == "none":
        return np.ones(n_labels)
    if isinstance(rule, int | float) and not isinstance(rule, bool):
        if not (np.isfinite(rule) and rule > 0):
            raise ParameterError("a class weight must be positive", got=str(rule))
        return np.where(crowd.scheme.is_entity, float(rule), 1.0)
    if rule not in ("inverse", "contested"):
        raise ParameterError(
            "class_weights must be inverse, contested, none or a number", got=repr(rule)
        )
    counts = vote_counts(crowd, contested=rule == "contested").astype(np.float64)
    counts = np.where(counts > 0, counts, np.inf if counts.any() else 1.0)
    largest = counts[np.isfinite(counts)].max() if np.isfinite(counts).any() else 1.0
    weights = largest / counts
    weights[weights == 0] = 1.0
    return weights


def vote_counts(crowd: Crowd, *, contested: bool) -> I64:
    """int64[L]: votes for each label, over all tokens or over those with more than one label."""
    counts = np.zeros(crowd.n_labels, np.int64)
    _count_votes(
        crowd.tags, crowd.row_offsets[crowd.sentence_rows], crowd.corpus.token_offsets,
        crowd.sentence_rows, contested, counts,
    )  # fmt: skip
    return counts


@kernel
def _count_votes(
    tags: I8, first_tag: I64, offsets: I64, sentence_rows: I64, contested: bool, counts: I64
) -> None:
    for s in range(len(offsets) - 1):
        n, rows = offsets[s + 1] - offsets[s], sentence_rows[s + 1] - sentence_rows[s]
        for i in range(n):
            seen, differ = -1, False
            for r in range(rows):
                tag = tags[first_tag[s] + r * n + i]
                if tag >= 0:
                    differ = differ or (seen >= 0 and tag != seen)
                    seen = tag
            if differ or not contested:
                for r in range(rows):
                    tag = tags[first_tag[s] + r * n + i]
                    if tag >= 0:
                        counts[tag] += 1
