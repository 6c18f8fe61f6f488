"""The vote on the tokens that are contested.

Where all who labelled a token agree, weights cannot change its label, its margin is 1 and nobody loses
anything: it is *settled*. Settled tokens are found by comparing bytes; the others, one in five or
ten, are worked on here, with the few labels that somebody gave them instead of all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F32, F64, I32, Tags
from seqtruth.kernels.jit import inlined, kernel
from seqtruth.kernels.simd import load_word, store_word
from seqtruth.kernels.ties import SCORE_TIE
from seqtruth.kernels.views import CrowdView

#: H(y, y*) diverges where y* gives an annotator's label no probability: y* is clipped here.
LEAST_PROBABILITY = 1e-4
LOG_LEAST_PROBABILITY = float(np.log(LEAST_PROBABILITY))


class Contested(NamedTuple):
    """The contested tokens of one sentence, in work space for the longest; c counts them.

    path : tag[n], the label of every token of the sentence.
    places : int32[n], which token each contested one is.
    sizes : tag[n], how many labels each has.
    given : tag[n, L], the labels that somebody gave it, ``given[c, :sizes[c]]``.
    y : float64[n, L], their probabilities, ``y[c, :sizes[c]]``.
    slots : tag[rows, n], which of them each row gave, ``slots[r, c]`` (-1: none).
    """

    path: Tags
    places: I32
    sizes: Tags
    given: Tags
    y: F64
    slots: Tags


@kernel
def contested_space(longest: int, rows: int, preference: Tags) -> Contested:
    """Work space; tags are kept as in ``preference`` tag[L]."""
    n_labels, kind = len(preference), preference.dtype
    return Contested(
        np.empty(longest, kind),
        np.empty(longest, np.int32),
        np.empty(longest, kind),
        np.empty((longest, n_labels), kind),
        np.empty((longest, n_labels)),
        np.empty((rows, longest), kind),
    )


# The functions below are called for every sentence. They take the view and the work space whole and
# name their fields where they use them: a field kept in a variable is a reference that is counted, and
# so much counting would take as long as the vote.


@inlined
def find_contested(crowd: CrowdView, s: int, on: Contested) -> int:
    """Number of tokens that are not settled; ``on.path`` gets the first row's tags.

    Rows are compared a word (eight tags of one byte) at a time; the last word's may have been looked
    at before.
    """
    n, at = crowd.token_offsets[s + 1] - crowd.token_offsets[s], crowd.tag_offsets[s]
    rows = crowd.sentence_rows[s + 1] - crowd.sentence_rows[s]
    step = 8 // crowd.tags.itemsize
    if n < step:
        for i in range(n):
            on.path[i] = 0
            for r in range(1, rows):
                on.path[i] |= crowd.tags[at + r * n + i] ^ crowd.tags[at + i]
    else:
        i = 0
        while i < n:
            i = min(i, n - step)
            first, differs = load_word(crowd.tags, at + i), np.uint64(0)
            for r in range(1, rows):
                differs |= first ^ load_word(crowd.tags, at + r * n + i)
            store_word(on.path, i, differs)
            i += step
    found = 0
    for i in range(n):
        on.places[found] = i
        found += (on.path[i] != 0) | (crowd.tags[at + i] < 0)
        on.path[i] = crowd.tags[at + i]
    return found


@inlined
def vote_on_contested(
    crowd: CrowdView,
    s: int,
    weights: F64,
    class_weights: F64,
    rank: Tags,
    found: int,
    on: Contested,
) -> float:
    """The vote on contested tokens, of labels that somebody gave; winners go to ``on.path``.

    Returns the sum of their margins, -1 where a vote is missing.

    Parameters
    ----------
    weights : float64[W].
    class_weights : float64[L].
    rank : tag[L], place of each label among those that a tie prefers.
    found : number of contested tokens.
    """
    margin = 0.0
    for c in range(found):
        size = _two_labels(crowd, s, weights, on, c)
        if size == 0:
            size = _any_labels(crowd, s, weights, on, c)
        total = 0.0
        for slot in range(size):
            on.y[c, slot] *= class_weights[on.given[c, slot]]
            total += on.y[c, slot]
        if not total > 0.0:
            return -1.0
        top, second = 0.0, 0.0
        for slot in range(size):
            value = on.y[c, slot] / total
            on.y[c, slot] = value
            second = max(second, min(value, top))
            top = max(top, value)
        margin += top - second
        bar, chosen = top - SCORE_TIE * top, -1
        for slot in range(size):
            label = on.given[c, slot]
            if on.y[c, slot] >= bar and (chosen < 0 or rank[label] < rank[chosen]):
                chosen = label
        on.path[on.places[c]], on.sizes[c] = chosen, size
    return margin


@inlined
def _two_labels(crowd: CrowdView, s: int, weights: F64, on: Contested, c: int) -> int:
    """Votes on a token that all label, with two labels between them, as most contested tokens are.

    Returns 2, or 0 where it is not so. No branch in it depends on who gave which.
    """
    n, at = crowd.token_offsets[s + 1] - crowd.token_offsets[s], crowd.tag_offsets[s] + on.places[c]
    row, rows = crowd.sentence_rows[s], crowd.sentence_rows[s + 1] - crowd.sentence_rows[s]
    first, other = crowd.tags[at], crowd.tags[at]
    for r in range(1, rows):
        tag = crowd.tags[at + r * n]
        other = tag if other == first else other
    yes, no, rest = 0.0, 0.0, first < 0 or other < 0
    for r in range(rows):
        tag = crowd.tags[at + r * n]
        weight = weights[crowd.row_annotator[row + r]]
        same = tag == first
        rest |= not (same or tag == other)
        yes += weight if same else 0.0
        no += 0.0 if same else weight
        on.slots[r, c] = 0 if same else 1
    if rest:
        return 0
    on.given[c, 0], on.given[c, 1] = first, other
    on.y[c, 0], on.y[c, 1] = yes, no
    return 2


@inlined
def _any_labels(crowd: CrowdView, s: int, weights: F64, on: Contested, c: int) -> int:
    """Votes on any token; returns the number of labels."""
    n, at = crowd.token_offsets[s + 1] - crowd.token_offsets[s], crowd.tag_offsets[s] + on.places[c]
    row, size = crowd.sentence_rows[s], 0
    for r in range(crowd.sentence_rows[s + 1] - row):
        tag = crowd.tags[at + r * n]
        slot = -1
        if tag >= 0:
            slot = 0
            while slot < size and on.given[c, slot] != tag:
                slot += 1
            if slot == size:
                on.given[c, slot], on.y[c, slot] = tag, 0.0
                size += 1
            on.y[c, slot] += weights[crowd.row_annotator[row + r]]
        on.slots[r, c] = slot
    return size


@kernel
def swap(voted: Tags, n: int, rows: int, found: int, on: Contested) -> int:
    """Where the path departs from the vote, the two labels change places.

    Tokens that were settled are then contested; returns the number of all.

    Parameters
    ----------
    voted : tag[≥ n], the path as the vote had it.
    rows : number of the sentence's rows.
    """
    now, c = found, 0
    for i in range(n):
        while c < found and on.places[c] < i:
            c += 1
        new, old = on.path[i], voted[i]
        if new == old:
            continue
        at = c
        if c == found or on.places[c] != i:  # it was settled, all rows in one slot
            at = now
            now += 1
            on.places[at], on.sizes[at] = i, 1
            on.given[at, 0], on.y[at, 0] = old, 1.0
            for r in range(rows):
                on.slots[r, at] = 0
        old_slot, new_slot = 0, on.sizes[at]
        for slot in range(on.sizes[at]):
            if on.given[at, slot] == old:
                old_slot = slot
            elif on.given[at, slot] == new:
                new_slot = slot
        if new_slot == on.sizes[at]:
            on.given[at, new_slot], on.y[at, new_slot] = new, 0.0
            on.sizes[at] += 1
        on.y[at, old_slot], on.y[at, new_slot] = on.y[at, new_slot], on.y[at, old_slot]
    return now


@inlined
def add_losses(crowd: CrowdView, s: int, xi: float, found: int, on: Contested, losses: F64) -> None:
    """Add the annotators' losses; at settled tokens nobody has any, but entities are at stake.

    Parameters
    ----------
    xi : confidence of the sentence.
    losses : float64[3, W], as in :class:`~seqtruth.kernels.vote.Vote`.
    """
    settled = 0
    for i in range(crowd.token_offsets[s + 1] - crowd.token_offsets[s]):
        settled += crowd.grammar.is_entity[on.path[i]]
    for c in range(found):
        settled -= crowd.grammar.is_entity[on.path[on.places[c]]]
        for slot in range(on.sizes[c]):
            on.y[c, slot] = loss_of(on.y[c, slot])
    row = crowd.sentence_rows[s]
    for r in range(crowd.sentence_rows[s + 1] - row):
        loss, stake_loss, staked = 0.0, 0.0, float(settled)
        for c in range(found):
            slot = on.slots[r, c]
            if slot >= 0:
                named = crowd.grammar.is_entity[on.path[on.places[c]]]
                stake = 1.0 if named or crowd.grammar.is_entity[on.given[c, slot]] else 0.0
                loss += on.y[c, slot]
                stake_loss += on.y[c, slot] * stake
                staked += stake
        annotator = crowd.row_annotator[row + r]
        losses[0, annotator] += xi * loss
        losses[1, annotator] += xi * stake_loss
        losses[2, annotator] += staked


@inlined
def spread(path: Tags, n: int, found: int, on: Contested, out: F32 | F64, at: int) -> None:
    """y* of a whole sentence, into rows ``at`` … of [≥ at + n, L], from that of its contested tokens."""
    for i in range(n):
        for k in range(out.shape[1]):
            out[at + i, k] = 0.0
        out[at + i, path[i]] = 1.0
    for c in range(found):
        i = on.places[c]
        out[at + i, path[i]] = 0.0
        for slot in range(on.sizes[c]):
            out[at + i, on.given[c, slot]] = on.y[c, slot]


@kernel
def loss_of(y: float) -> float:
    """H of a label that y* gives this probability."""
    return float(-np.log(y)) if y > LEAST_PROBABILITY else -LOG_LEAST_PROBABILITY
