"""The vote on the tokens that are still open.

Where all who labelled a token agree, weights cannot change its label, its margin is 1 and nobody loses
anything: it is *settled*. Settled tokens are found by comparing bytes; the others, one in five or
ten, are worked on here, with the few labels that somebody gave them instead of all.
"""

from __future__ import annotations

import numpy as np

from seqtruth.kernels.arrays import F32, F64, I8, I32, Bool
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.score_rows import TIE
from seqtruth.kernels.vectors import load_word, store_word

#: H(y, y*) diverges where y* gives an annotator's label no probability: y* is clipped here.
CLIP = 1e-4
LOG_CLIP = float(np.log(CLIP))


@kernel
def open_places(tags: I8, at: int, n: int, rows: int, path: I8, places: I32) -> int:
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
def open_votes(
    tags: I8,
    at: int,
    n: int,
    annotators: I32,
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
        size = _two_labels(tags, at + i, n, annotators, weights, given, y, slots, c)
        if size == 0:
            size = _any_labels(tags, at + i, n, annotators, weights, given, y, slots, c)
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
    tags: I8, at: int, n: int, annotators: I32, weights: F64, given: I8, y: F64, slots: I8, c: int
) -> int:
    """Votes on a token that all label, with two labels between them, as most open tokens are.

    Returns 2, or 0 where it is not so. No branch in it depends on who gave which.
    """
    rows = len(annotators)
    first, other = tags[at], tags[at]
    for r in range(1, rows):
        tag = tags[at + r * n]
        other = tag if other == first else other
    yes, no, rest = 0.0, 0.0, first < 0 or other < 0
    for r in range(rows):
        tag = tags[at + r * n]
        weight = weights[annotators[r]]
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
    tags: I8, at: int, n: int, annotators: I32, weights: F64, given: I8, y: F64, slots: I8, c: int
) -> int:
    """Votes on any token; returns the number of labels."""
    size = 0
    for r in range(len(annotators)):
        tag = tags[at + r * n]
        slot = -1
        if tag >= 0:
            slot = 0
            while slot < size and given[c, slot] != tag:
                slot += 1
            if slot == size:
                given[c, slot], y[c, slot] = tag, 0.0
                size += 1
            y[c, slot] += weights[annotators[r]]
        slots[r, c] = slot
    return size


@kernel
def swap(
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
def open_losses(
    annotators: I32,
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
    """Add the annotators' losses; at settled tokens nobody has any, but entities are at stake.

    ``stakes[c, m]`` is work space: whether the m-th label of an open token puts it at stake.
    """
    settled = 0
    for i in range(n):
        settled += is_entity[path[i]]
    for c in range(n_open):
        named = is_entity[path[places[c]]]
        settled -= named
        for slot in range(sizes[c]):
            y[c, slot] = loss_of(y[c, slot])
            stakes[c, slot] = 1.0 if named or is_entity[given[c, slot]] else 0.0
    for r in range(len(annotators)):
        loss, stake_loss, staked = 0.0, 0.0, float(settled)
        for c in range(n_open):
            slot = slots[r, c]
            if slot >= 0:
                loss += y[c, slot]
                stake_loss += y[c, slot] * stakes[c, slot]
                staked += stakes[c, slot]
        losses[0, annotators[r]] += xi * loss
        losses[1, annotators[r]] += xi * stake_loss
        losses[2, annotators[r]] += staked


@kernel
def spread(
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
def loss_of(y: float) -> float:
    """H of a label that y* gives this probability."""
    return float(-np.log(y)) if y > CLIP else -LOG_CLIP
