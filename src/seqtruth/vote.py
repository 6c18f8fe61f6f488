"""The Y* step of AggSLC in one compiled pass: weighted vote, legal path, confidence, losses.

Every sum in it adds up over sentences, so that parts can be worked on apart. Where all who labelled a
token agree, weights cannot change its label, its margin is 1 and nobody loses anything: such tokens
are *settled*, found by comparing bytes, and skipped by the rest of the pass unless their sentence
has to be decoded.
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
from seqtruth.lanes import TIE
from seqtruth.registers import load_word, store_word
from seqtruth.ties import order, pick, sentence_keys

#: H(y, y*) diverges where y* gives an annotator's label no probability: y* is clipped here.
CLIP = 1e-4
LOG_CLIP = float(np.log(CLIP))
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
    decoding : see :mod:`seqtruth.consistency`.
    ties : see :mod:`seqtruth.ties`.
    prediction : the predictor as one more worker.
    known : int8[T], labels given as true (-1: none); they stay as they are.
    probabilities : whether to keep y*, the only thing here that takes 4 L bytes a token.
    keys : :func:`~seqtruth.ties.sentence_keys` of the sentences, where they are at hand.
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
        losses, sums = np.zeros((3, crowd.n_workers)), np.zeros(2)
        _vote_chunk(
            crowd.tags, crowd.sentence_tags, offsets, crowd.sentence_rows, crowd.row_worker, a, b,
            counted, class_weights, hint.probabilities, hint.given, hint.weight,
            np.zeros(0, np.int8) if known is None else known,
            how, preference, ties == "random", keys,
            scheme.start, scheme.allowed, scheme.end, *chain, scheme.is_entity, max(scheme.outside, 0),
            tags, soft, confidence, losses, sums,
        )  # fmt: skip
        return losses, sums

    losses, sums = np.zeros((3, crowd.n_workers)), np.zeros(2)
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
        workers = row_worker[sentence_rows[s] : sentence_rows[s + 1]]
        hinted = len(has_prediction) > 0 and has_prediction[s]
        key = keys[s if len(keys) > 1 else 0]
        if n > 0 and rows > 0 and not (hinted or random or len(known)):
            n_open = _open_places(tags, at, n, rows, path, places)
            margin = _sparse_votes(
                tags, at, n, workers, weights, class_weights, rank, places, n_open, given, y, slots,
                sizes, path,
            )  # fmt: skip
            if margin >= 0.0:
                xi = (n - n_open + margin) / n
                illegal = inconsistency(path[:n], start, allowed, end)
                if how != 0 and illegal > 0:
                    choice[:n] = path[:n]
                    _spread(choice, n, places, n_open, given, y, sizes, dense)
                    _decode(
                        how, dense[:n], start, allowed, end, log_start, log_trans, log_end,
                        is_entity, key, logs, best, back, spare[:n], path[:n],
                    )  # fmt: skip
                    n_open = _swap(path, choice, n, places, n_open, rows, given, y, slots, sizes)
                    illegal = inconsistency(path[:n], start, allowed, end)
                sums[1] += illegal
                out_xi[s] = xi
                for i in range(n):
                    out_tags[a + i] = path[i]
                if len(out_y):
                    _spread(path, n, places, n_open, given, y, sizes, out_y[a : a + n])
                _sparse_losses(
                    workers,
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
            weight = weights[workers[r]]
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
            _decode(
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
                logs[i, k] = _loss(y[i, k])
        for r in range(rows):
            loss, stake_loss, stakes = 0.0, 0.0, 0
            for i in range(n):
                tag = tags[at + r * n + i]
                if tag >= 0:
                    loss += logs[i, tag]
                    if is_entity[tag] or is_entity[path[i]]:
                        stake_loss += logs[i, tag]
                        stakes += 1
            losses[0, workers[r]] += xi * loss
            losses[1, workers[r]] += xi * stake_loss
            losses[2, workers[r]] += stakes
        if hinted:
            loss = 0.0
            for i in range(n):
                for k in range(n_labels):
                    loss += predicted[a + i, k] * logs[i, k]
            sums[0] += xi * loss


@kernel
def _open_places(tags: I8, at: int, n: int, rows: int, path: I8, places: I32) -> int:
    """Tokens of a sentence that are not settled; ``path`` gets the first row's tags.

    Rows are compared eight tags at a time; the last eight may have been looked at before.
    """
    if n < 8:
        for i in range(n):
            path[i] = 0
            for r in range(1, rows):
                path[i] |= tags[at + r * n + i] ^ tags[at + i]
    else:
        i = 0
        while i < n:
            i = min(i, n - 8)
            first, differs = load_word(tags, at + i), np.uint64(0)
            for r in range(1, rows):
                differs |= first ^ load_word(tags, at + r * n + i)
            store_word(path, i, differs)
            i += 8
    n_open = 0
    for i in range(n):
        places[n_open] = i
        n_open += (path[i] != 0) | (tags[at + i] < 0)
        path[i] = tags[at + i]
    return n_open


@kernel
def _sparse_votes(
    tags: I8,
    at: int,
    n: int,
    workers: I32,
    weights: F64,
    class_weights: F64,
    rank: I8,
    places: I32,
    n_open: int,
    given: I8,
    y: F64,
    slots: I8,
    sizes: I8,
    path: I8,
) -> float:
    """The vote on open tokens, of labels that somebody gave; their margins, -1 where a vote is missing.

    The c-th open token has the labels ``given[c, :sizes[c]]`` with probabilities ``y[c, :sizes[c]]``;
    row r gave the one in ``slots[r, c]`` (-1: none). Winners go to ``path``.
    """
    margin = 0.0
    for c in range(n_open):
        i = places[c]
        size = _two_labels(tags, at + i, n, workers, weights, given, y, slots, c)
        if size == 0:
            size = _any_labels(tags, at + i, n, workers, weights, given, y, slots, c)
        total = 0.0
        for slot in range(size):
            y[c, slot] *= class_weights[given[c, slot]]
            total += y[c, slot]
        if not total > 0.0:
            return -1.0
        top, second = 0.0, 0.0
        for slot in range(size):
            value = y[c, slot] / total
            y[c, slot] = value
            second = max(second, min(value, top))
            top = max(top, value)
        margin += top - second
        bar, chosen = top - TIE * top, -1
        for slot in range(size):
            if y[c, slot] >= bar and (chosen < 0 or rank[given[c, slot]] < rank[chosen]):
                chosen = given[c, slot]
        path[i], sizes[c] = chosen, size
    return margin


@kernel
def _two_labels(
    tags: I8, at: int, n: int, workers: I32, weights: F64, given: I8, y: F64, slots: I8, c: int
) -> int:
    """Votes on a token that all label, with two labels between them, as most open tokens are.

    Returns 2, or 0 where it is not so. No branch in it depends on who gave which.
    """
    rows = len(workers)
    first, other = tags[at], tags[at]
    for r in range(1, rows):
        tag = tags[at + r * n]
        other = tag if other == first else other
    yes, no, rest = 0.0, 0.0, first < 0 or other < 0
    for r in range(rows):
        tag = tags[at + r * n]
        weight = weights[workers[r]]
        same = tag == first
        rest |= not (same or tag == other)
        yes += weight if same else 0.0
        no += 0.0 if same else weight
        slots[r, c] = 0 if same else 1
    if rest:
        return 0
    given[c, 0], given[c, 1] = first, other
    y[c, 0], y[c, 1] = yes, no
    return 2


@kernel
def _any_labels(
    tags: I8, at: int, n: int, workers: I32, weights: F64, given: I8, y: F64, slots: I8, c: int
) -> int:
    """Votes on any token; returns the number of labels."""
    size = 0
    for r in range(len(workers)):
        tag = tags[at + r * n]
        slot = -1
        if tag >= 0:
            slot = 0
            while slot < size and given[c, slot] != tag:
                slot += 1
            if slot == size:
                given[c, slot], y[c, slot] = tag, 0.0
                size += 1
            y[c, slot] += weights[workers[r]]
        slots[r, c] = slot
    return size


@kernel
def _decode(
    how: int,
    y: F64,
    start: Bool,
    allowed: Bool,
    end: Bool,
    log_start: F64,
    log_trans: F64,
    log_end: F64,
    is_entity: Bool,
    key: np.uint64,
    logs: F64,
    best: F64,
    back: F64,
    spare: I8,
    path: I8,
) -> None:
    """The consistency module on one sentence; ``path`` comes in as the vote's winners."""
    if how == EXACT:
        exact_sentence(y, log_start, log_trans, log_end, logs, best, back, path)
    elif how == BIDIRECTIONAL:
        bidirectional_sentence(
            y, start, allowed, end, log_start, log_trans, log_end, is_entity, key, logs, best, back,
            spare, path,
        )  # fmt: skip
    elif how == UNIDIRECTIONAL:
        unidirectional_sentence(y, start, allowed, end, path)


@kernel
def _swap(
    path: I8,
    choice: I8,
    n: int,
    places: I32,
    n_open: int,
    rows: int,
    given: I8,
    y: F64,
    slots: I8,
    sizes: I8,
) -> int:
    """Where the path departs from the vote, the two labels change places; returns all open tokens."""
    now, c = n_open, 0
    for i in range(n):
        while c < n_open and places[c] < i:
            c += 1
        if path[i] == choice[i]:
            continue
        at = c
        if c == n_open or places[c] != i:  # it was settled, all rows in one slot
            at = now
            now += 1
            places[at], sizes[at] = i, 1
            given[at, 0], y[at, 0] = choice[i], 1.0
            for r in range(rows):
                slots[r, at] = 0
        old, new = 0, sizes[at]
        for slot in range(sizes[at]):
            if given[at, slot] == choice[i]:
                old = slot
            elif given[at, slot] == path[i]:
                new = slot
        if new == sizes[at]:
            given[at, new], y[at, new] = path[i], 0.0
            sizes[at] += 1
        y[at, old], y[at, new] = y[at, new], y[at, old]
    return now


@kernel
def _sparse_losses(
    workers: I32,
    xi: float,
    is_entity: Bool,
    path: I8,
    n: int,
    places: I32,
    n_open: int,
    given: I8,
    y: F64,
    slots: I8,
    sizes: I8,
    stakes: F64,
    losses: F64,
) -> None:
    """Add the workers' losses; at settled tokens nobody has any, but entities are at stake.

    ``stakes[c, m]`` is work space: whether the m-th label of an open token puts it at stake.
    """
    settled = 0
    for i in range(n):
        settled += is_entity[path[i]]
    for c in range(n_open):
        named = is_entity[path[places[c]]]
        settled -= named
        for slot in range(sizes[c]):
            y[c, slot] = _loss(y[c, slot])
            stakes[c, slot] = 1.0 if named or is_entity[given[c, slot]] else 0.0
    for r in range(len(workers)):
        loss, stake_loss, staked = 0.0, 0.0, float(settled)
        for c in range(n_open):
            slot = slots[r, c]
            if slot >= 0:
                loss += y[c, slot]
                stake_loss += y[c, slot] * stakes[c, slot]
                staked += stakes[c, slot]
        losses[0, workers[r]] += xi * loss
        losses[1, workers[r]] += xi * stake_loss
        losses[2, workers[r]] += staked


@kernel
def _spread(
    path: I8, n: int, places: I32, n_open: int, given: I8, y: F64, sizes: I8, out: F32 | F64
) -> None:
    """y* of a whole sentence from that of its open tokens."""
    for i in range(n):
        out[i] = 0.0
        out[i, path[i]] = 1.0
    for c in range(n_open):
        out[places[c], path[places[c]]] = 0.0
        for slot in range(sizes[c]):
            out[places[c], given[c, slot]] = y[c, slot]


@kernel
def _loss(y: float) -> float:
    """H of a label that y* gives this probability."""
    return float(-np.log(y)) if y > CLIP else -LOG_CLIP


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
