"""Annotators held against each other.

Everything is counted by *unit* (the documents that are drawn again in a bootstrap), so that any coefficient
is a function of sums over units. A source that is mute on a type (its ``O`` is silence) did not label the
token as far as that type goes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F64, I16, I64, Bool
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.spans import Spans
from seqtruth.kernels.views import CrowdView


class Mute(NamedTuple):
    """Whose ``O`` is no opinion.

    outside : number of ``O``; -1 where the scheme has none.
    on : bool[W, K], on each type.
    any : bool[W], on some type, so that ``O`` does not deny all of them.
    some : whether anybody is.
    """

    outside: int
    on: Bool
    any: Bool
    some: bool


class TokenSums(NamedTuple):
    """Sums over the tokens of each unit, for C categories (last axis; for one-against-rest C = 2).

    pairable : float64[..., C], labels on tokens that two or more labelled.
    disagreement : float64[...], Krippendorff's Σ_u (m_u² - Σ_c n_uc²) / (m_u - 1).
    agreement : float64[...], Σ_u of the share of agreeing pairs.
    tokens : float64[..., 2], labelled by one or more, and by two or more.
    share : float64[..., C], Σ_u n_uc / m_u over all labelled tokens.
    """

    pairable: F64
    disagreement: F64
    agreement: F64
    tokens: F64
    share: F64


class RowPairs(NamedTuple):
    """Every two rows of one sentence, [N]: their numbers, and the cell their counts go to.

    A cell is a pair of annotators in a unit.
    """

    left: I64
    right: I64
    cell: I64


class PairSums(NamedTuple):
    """Tokens that both of a pair labelled, by cell.

    tokens, agree : float64[E].
    margins : float64[E, 2, L], labels that each of the two gave.
    typed_tokens, typed_agree : float64[E, K], tokens on which both have an opinion of the type, and on
        which both say that it is there.
    typed : float64[E, 2, K], on which each says so.
    """

    tokens: F64
    agree: F64
    margins: F64
    typed_tokens: F64
    typed_agree: F64
    typed: F64


class SpanSums(NamedTuple):
    """Spans of both of a pair, by cell.

    found : float64[E, 2, K], spans of each of the two (where the other is mute: those they speak of).
    same : float64[E, K], with the same ends and type.
    covered : float64[E, 2, K], Σ of the share of each span that spans of the other, of its type, cover.
    same_ends : float64[E], with the same ends, of whatever type.
    """

    found: F64
    same: F64
    covered: F64
    same_ends: F64


class Lengths(NamedTuple):
    """Lengths of units and gaps of each type, cut at M, by unit of the bootstrap.

    units : float64[G, K, M+1], how many spans have each length.
    gaps, gap_sum : float64[G, K, M+1], how many gaps have each length (M: M or more), and their sum.
    """

    units: F64
    gaps: F64
    gap_sum: F64


@kernel
def count_tokens(
    crowd: CrowdView, type_of: I16, unit: I64, mute: Mute, whole: TokenSums, typed: TokenSums
) -> None:
    """Add every token's labels to ``whole`` [G, L] and, each type against the rest, ``typed`` [G, K, 2].

    ``unit`` is int64[S].
    """
    n_labels, n_types = whole.share.shape[1], typed.share.shape[1]
    counts = np.zeros(n_labels, np.int64)
    of_type = np.zeros(n_types, np.int64)
    unheard = np.zeros(n_types, np.int64)
    for s in range(len(crowd.sentence_rows) - 1):
        n = crowd.token_offsets[s + 1] - crowd.token_offsets[s]
        g = unit[s]
        for i in range(n):
            counts[:] = 0
            of_type[:] = 0
            unheard[:] = 0
            votes, labels = 0, 0
            at = crowd.tag_offsets[s] + i
            for r in range(crowd.sentence_rows[s], crowd.sentence_rows[s + 1]):
                tag = crowd.tags[at]
                at += n
                if tag < 0:
                    continue
                labels += 1
                if type_of[tag] >= 0:
                    of_type[type_of[tag]] += 1
                if mute.some and tag == mute.outside:
                    w = crowd.row_annotator[r]
                    for k in range(n_types):
                        unheard[k] += mute.on[w, k]
                    if mute.any[w]:
                        continue
                counts[tag] += 1
                votes += 1
            if labels == 0:
                continue
            squares = 0
            for c in range(n_labels):
                if counts[c] > 0:
                    squares += counts[c] * counts[c]
                    whole.share[g, c] += counts[c] / votes
                    if votes >= 2:
                        whole.pairable[g, c] += counts[c]
            whole.tokens[g, 0] += votes > 0
            if votes >= 2:
                whole.tokens[g, 1] += 1
                whole.disagreement[g] += (votes * votes - squares) / (votes - 1)
                whole.agreement[g] += (squares - votes) / (votes * (votes - 1))
            for k in range(n_types):
                yes, m = of_type[k], labels - unheard[k]
                if m == 0:
                    continue
                typed.tokens[g, k, 0] += 1
                typed.share[g, k, 0] += yes / m
                typed.share[g, k, 1] += 1 - yes / m
                if m >= 2:
                    apart = 2.0 * yes * (m - yes)
                    typed.tokens[g, k, 1] += 1
                    typed.pairable[g, k, 0] += yes
                    typed.pairable[g, k, 1] += m - yes
                    typed.disagreement[g, k] += apart / (m - 1)
                    typed.agreement[g, k] += 1 - apart / (m * (m - 1))


@kernel
def compare_rows(
    crowd: CrowdView, row_offsets: I64, type_of: I16, both: RowPairs, mute: Mute, out: PairSums
) -> None:
    """Add the tokens that both of each pair labelled; ``row_offsets`` is int64[R+1]."""
    tags, n_types = crowd.tags, out.typed.shape[2]
    for p in range(len(both.left)):
        e, left, right = both.cell[p], both.left[p], both.right[p]
        a, b = row_offsets[left], row_offsets[right]
        v, w = crowd.row_annotator[left], crowd.row_annotator[right]
        some = mute.some and (mute.any[v] or mute.any[w])
        n_both = 0
        for i in range(row_offsets[left + 1] - a):
            x, y = tags[a + i], tags[b + i]
            if x < 0 or y < 0:
                continue
            kx, ky = type_of[x], type_of[y]
            if kx >= 0:
                out.typed[e, 0, kx] += 1
            if ky >= 0:
                out.typed[e, 1, ky] += 1
                if kx == ky:
                    out.typed_agree[e, kx] += 1
            if some:
                quiet_v, quiet_w = x == mute.outside, y == mute.outside
                for k in range(n_types):
                    silent = (quiet_v and mute.on[v, k]) or (quiet_w and mute.on[w, k])
                    if not silent:
                        out.typed_tokens[e, k] += 1
                    else:  # what the other says of the type was said to nobody
                        out.typed[e, 0, k] -= kx == k
                        out.typed[e, 1, k] -= ky == k
                if (quiet_v and mute.any[v]) or (quiet_w and mute.any[w]):
                    continue
            n_both += 1
            out.margins[e, 0, x] += 1
            out.margins[e, 1, y] += 1
            if x == y:
                out.agree[e] += 1
        out.tokens[e] += n_both
        if not some:
            for k in range(n_types):
                out.typed_tokens[e, k] += n_both


@kernel
def compare_spans(
    crowd: CrowdView,
    row_offsets: I64,
    spans: Spans,
    row_spans: I64,
    both: RowPairs,
    mute: Mute,
    out: SpanSums,
) -> None:
    """Add the spans of both of each pair; ``row_spans`` int64[R+1] is the first span of each row.

    A span on tokens of which the other said nothing is not counted.
    """
    start, end, kind = spans.start, spans.end, spans.type
    for p in range(len(both.left)):
        e = both.cell[p]
        for side in range(2):
            mine, other = both.left[p], both.right[p]
            if side == 1:
                mine, other = other, mine
            j, last = row_spans[other], row_spans[other + 1]
            whose, begin = crowd.row_annotator[other], row_offsets[other]
            for i in range(row_spans[mine], row_spans[mine + 1]):
                while j < last and end[j] <= start[i]:
                    j += 1
                touched, covered = False, 0
                for h in range(j, last):
                    if start[h] >= end[i]:
                        break
                    touched = True
                    if kind[h] == kind[i]:
                        covered += min(end[h], end[i]) - max(start[h], start[i])
                    if side == 0 and start[h] == start[i] and end[h] == end[i]:
                        out.same_ends[e] += 1
                        out.same[e, kind[i]] += kind[h] == kind[i]
                said = touched or not mute.on[whose, kind[i]]
                if not touched:
                    for t in range(begin + start[i], begin + end[i]):
                        said = said and crowd.tags[t] >= 0
                if said:
                    out.found[e, side, kind[i]] += 1
                    out.covered[e, side, kind[i]] += covered / (end[i] - start[i])


@kernel
def unitising_differences(
    spans: Spans,
    row_spans: I64,
    row_sentence: I64,
    both: RowPairs,
    voices: I64,
    unit: I64,
    out: F64,
) -> None:
    """Add Krippendorff's Σ δ² over both orders of each pair, each divided by the others there are.

    Spans of one type that overlap differ by the squares of how far their ends lie apart, a span in a gap of
    the other by its squared length. ``voices`` int64[S, K] is how many can be compared (1: nobody else);
    spans of annotators who cannot are not among ``spans``. ``out`` is float64[G, K].
    """
    start, end, kind = spans.start, spans.end, spans.type
    for p in range(len(both.left)):
        s = row_sentence[both.left[p]]
        for side in range(2):
            mine, other = both.left[p], both.right[p]
            if side == 1:
                mine, other = other, mine
            j, last = row_spans[other], row_spans[other + 1]
            for i in range(row_spans[mine], row_spans[mine + 1]):
                while j < last and end[j] <= start[i]:
                    j += 1
                met, apart = False, 0.0
                for h in range(j, last):
                    if start[h] >= end[i]:
                        break
                    if kind[h] == kind[i]:
                        met = True
                        if side == 0:
                            apart += (start[h] - start[i]) ** 2 + (end[h] - end[i]) ** 2
                if not met:
                    apart = float((end[i] - start[i]) ** 2)
                if voices[s, kind[i]] >= 2:
                    out[unit[s], kind[i]] += 2 * apart / (voices[s, kind[i]] - 1)


class Walk(NamedTuple):
    """Rows in the order in which gaps run on, [N].

    row : its number; unit : where it counts; length : its tokens; goes_on : whether it follows the row before
    in one text, read by one annotator.
    """

    row: I64
    unit: I64
    length: I64
    goes_on: Bool


@kernel
def count_lengths(
    walk: Walk, spans: Spans, row_spans: I64, heard: Bool, out: Lengths, open_gap: I64
) -> None:
    """Lengths of the units, and of the gaps between them, that each annotator leaves on each text.

    ``heard`` bool[N, K]: whether the row counts for a type; ``open_gap`` int64[K] is work space.
    """
    n_types, most = out.units.shape[1], out.units.shape[2] - 1
    open_gap[:] = 0
    for at in range(len(walk.row)):
        if not walk.goes_on[at]:
            for k in range(n_types):
                if at > 0:
                    _close(out, walk.unit[at - 1], k, open_gap[k], most)
                open_gap[k] = 0
        for k in range(n_types):
            if not heard[at, k] and open_gap[k] > 0:
                _close(out, walk.unit[at], k, open_gap[k], most)
                open_gap[k] = 0
            elif heard[at, k]:
                open_gap[k] += walk.length[at]
        left = walk.length[at]
        for i in range(row_spans[walk.row[at]], row_spans[walk.row[at] + 1]):
            k = spans.type[i]
            if heard[at, k]:
                # the gap so far counted the whole row: what lies behind this span's start is not in it
                before = open_gap[k] - (left - spans.start[i])
                _close(out, walk.unit[at], k, before, most)
                open_gap[k] = left - spans.end[i]
                out.units[walk.unit[at], k, spans.end[i] - spans.start[i]] += 1
    if len(walk.row) > 0:
        for k in range(n_types):
            _close(out, walk.unit[-1], k, open_gap[k], most)


@kernel
def _close(out: Lengths, unit: int, kind: int, length: int, most: int) -> None:
    if length > 0:
        out.gaps[unit, kind, min(length, most)] += 1
        out.gap_sum[unit, kind, min(length, most)] += length
