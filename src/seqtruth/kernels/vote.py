"""The Y* step of AggSLC in one compiled pass: weighted vote, legal path, confidence, losses.

Every sum in it adds up over sentences, so that parts can be worked on apart. Tokens on which all agree
are skipped (:mod:`seqtruth.kernels.contested`), unless there is a predictor or a known label to listen to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.kernels.arrays import F32, F64, I8, I32, I64, U64, Bool
from seqtruth.kernels.chain import Chain
from seqtruth.kernels.contested import (
    loss_of,
    open_losses,
    open_places,
    open_votes,
    spread,
    swap,
)
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.random import sentence_keys
from seqtruth.kernels.repair import BIDIRECTIONAL, decode_sentence, inconsistency, mode
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.kernels.ties import order, pick

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
    probabilities : float32[T, L], the soft aggregate y*; [0, L] where not to be kept.
    confidence : float64[S], ξ of every sentence (Eq 4).
    losses : float64[W], Σ_k ξ_k Σ_i H(y^j, y*) of each annotator, as in L_agg.
    stake_losses, stakes : float64[W], the same sum over the tokens at stake, and their number: those
        where the annotator or the aggregate names an entity (every token for plain tags).
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

    @property
    def sums(self) -> F64:
        """float64[3, W]: all that the weight step needs, and all that parts need to add up."""
        return np.stack([self.losses, self.stake_losses, self.stakes])


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
    probabilities: bool = True,
    keys: U64 | None = None,
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
    decoding : see :mod:`seqtruth.kernels.repair`.
    ties : see :mod:`seqtruth.kernels.ties`.
    prediction : the predictor as one more annotator.
    known : int8[T], labels given as true (-1: none); they stay as they are.
    probabilities : whether to keep y*, the only thing here that takes 4 L bytes a token.
    keys : :func:`~seqtruth.kernels.ties.sentence_keys` of the sentences, where they are at hand.
    """
    scheme, offsets = crowd.scheme, crowd.corpus.token_offsets
    n_labels = crowd.n_labels
    tags = np.empty(crowd.n_tokens, np.int8)
    soft = np.empty((crowd.n_tokens if probabilities else 0, n_labels), np.float32)
    confidence = np.empty(crowd.n_sentences)
    chain = Chain.legal(scheme).rows()
    how, preference = mode(decoding), order(ties, scheme)
    counted = np.maximum(weights, LEAST_WEIGHT)
    if keys is None and (ties == "random" or how == BIDIRECTIONAL):
        keys = sentence_keys(crowd.corpus.sentence_ids, seed)
    keys = np.zeros(1, np.uint64) if keys is None else keys
    hint = prediction or Prediction(np.zeros((0, n_labels), np.float32), np.zeros(0, np.bool_), 0.0)

    def run(a: int, b: int) -> tuple[F64, F64]:
        losses, sums = np.zeros((3, crowd.n_annotators)), np.zeros(2)
        _vote_chunk(
            crowd.tags, crowd.sentence_tags, offsets, crowd.sentence_rows, crowd.row_annotator, a, b,
            counted, class_weights, hint.probabilities, hint.given, hint.weight,
            np.zeros(0, np.int8) if known is None else known,
            how, preference, ties == "random", keys,
            scheme.start, scheme.allowed, scheme.end, *chain, scheme.is_entity, max(scheme.outside, 0),
            tags, soft, confidence, losses, sums,
        )  # fmt: skip
        return losses, sums

    losses, sums = np.zeros((3, crowd.n_annotators)), np.zeros(2)
    for part, more in map_chunks(run, chunk_bounds(offsets)):
        losses += part
        sums += more
    return Vote(
        tags, soft, confidence, losses[0], losses[1], losses[2], float(sums[0]), int(sums[1])
    )


@kernel
def _vote_chunk(
    tags: I8,
    first_tag: I64,
    offsets: I64,
    sentence_rows: I64,
    row_annotator: I32,
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
    longest, most = 1, 1
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
        most = max(most, sentence_rows[s + 1] - sentence_rows[s])
    y, dense = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    width = log_start.shape[1]
    logs, best, back = np.zeros((longest, width)), np.empty((2, width)), np.empty((longest, width))
    path, choice = np.empty(longest, np.int8), np.empty(longest, np.int8)
    spare, places = np.empty(longest, np.int8), np.empty(longest, np.int32)
    given, slots = np.empty((longest, n_labels), np.int8), np.empty((most, longest), np.int8)
    sizes = np.empty(longest, np.int8)
    rank = np.empty(n_labels, np.int8)
    for place in range(n_labels):
        rank[preference[place]] = place
    for s in range(first, last):
        a, n, at = offsets[s], offsets[s + 1] - offsets[s], first_tag[s]
        rows = sentence_rows[s + 1] - sentence_rows[s]
        annotators = row_annotator[sentence_rows[s] : sentence_rows[s + 1]]
        hinted = len(has_prediction) > 0 and has_prediction[s]
        key = keys[s if len(keys) > 1 else 0]
        if n > 0 and rows > 0 and not (hinted or random or len(known)):
            n_open = open_places(tags, at, n, rows, path, places)
            margin = open_votes(
                tags, at, n, annotators, weights, class_weights, rank, places, n_open, given, y, slots,
                sizes, path,
            )  # fmt: skip
            if margin >= 0.0:
                xi = (n - n_open + margin) / n
                illegal = inconsistency(path[:n], start, allowed, end)
                if how != 0 and illegal > 0:
                    choice[:n] = path[:n]
                    spread(choice, n, places, n_open, given, y, sizes, dense)
                    decode_sentence(
                        how, dense[:n], start, allowed, end, log_start, log_trans, log_end,
                        is_entity, key, logs, best, back, spare[:n], path[:n],
                    )  # fmt: skip
                    n_open = swap(path, choice, n, places, n_open, rows, given, y, slots, sizes)
                    illegal = inconsistency(path[:n], start, allowed, end)
                sums[1] += illegal
                out_xi[s] = xi
                for i in range(n):
                    out_tags[a + i] = path[i]
                if len(out_y):
                    spread(path, n, places, n_open, given, y, sizes, out_y[a : a + n])
                open_losses(
                    annotators,
                    xi,
                    is_entity,
                    path,
                    n,
                    places,
                    n_open,
                    given,
                    y,
                    slots,
                    sizes,
                    dense,
                    losses,
                )
                continue
        y[:n] = 0.0
        for r in range(rows):
            weight = weights[annotators[r]]
            for i in range(n):
                tag = tags[at + r * n + i]
                if tag >= 0:
                    y[i, tag] += weight
        if hinted:
            for i in range(n):
                for k in range(n_labels):
                    y[i, k] += prediction_weight * predicted[a + i, k]
        voted = _normalise(y[:n], class_weights, preference, random, key, path[:n], outside)
        if len(known):
            for i in range(n):
                if known[a + i] >= 0:
                    voted = True
                    y[i] = 0.0
                    y[i, known[a + i]] = 1.0
                    path[i] = known[a + i]
        choice[:n] = path[:n]
        if how != 0 and voted and inconsistency(path[:n], start, allowed, end) > 0:
            decode_sentence(
                how, y[:n], start, allowed, end, log_start, log_trans, log_end, is_entity, key, logs,
                best, back, spare[:n], path[:n],
            )  # fmt: skip
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
        if len(out_y):
            out_y[a : a + n] = y[:n]
        for i in range(n):
            out_tags[a + i] = path[i] if voted else -1
            for k in range(n_labels):
                logs[i, k] = loss_of(y[i, k])
        for r in range(rows):
            loss, stake_loss, stakes = 0.0, 0.0, 0
            for i in range(n):
                tag = tags[at + r * n + i]
                if tag >= 0:
                    loss += logs[i, tag]
                    if is_entity[tag] or is_entity[path[i]]:
                        stake_loss += logs[i, tag]
                        stakes += 1
            losses[0, annotators[r]] += xi * loss
            losses[1, annotators[r]] += xi * stake_loss
            losses[2, annotators[r]] += stakes
        if hinted:
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
