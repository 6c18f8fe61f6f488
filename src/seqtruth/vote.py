"""The Y* step of AggSLC in one compiled pass: weighted vote, legal path, confidence, losses.

Every sum in it adds up over sentences, so that partitions can be worked on apart.
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
from seqtruth.inference import Chain
from seqtruth.ties import order, pick, sentence_keys

#: H(y, y*) diverges where y* gives an annotator's label no probability: y* is clipped here.
CLIP = 1e-4
#: The worst annotator has weight 0 (Eq 10, "max"); where he is the only one, his vote still counts.
LEAST_WEIGHT = 1e-12


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
            at = first_tag[s] + (r - sentence_rows[s]) * n
            weight = max(weights[row_worker[r]], LEAST_WEIGHT)
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
        if len(known):  # what is known stays, even where it breaks the scheme
            for i in range(n):
                if known[a + i] >= 0:
                    path[i] = known[a + i]
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
