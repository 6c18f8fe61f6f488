"""Annotators held against each other.

Everything is counted by *unit* (the documents that are drawn again in a bootstrap), so that any coefficient
is a function of sums over units. A source that is mute on a type (its ``O`` is silence) did not label the
token as far as that type goes.
"""

from __future__ import annotations

from typing import NamedTuple

from seqtruth.kernels.arrays import F64, I16, I64, Bool
from seqtruth.kernels.native import call
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


def count_tokens(
    crowd: CrowdView, type_of: I16, unit: I64, mute: Mute, whole: TokenSums, typed: TokenSums
) -> None:
    """Add every token's labels to ``whole`` [G, L] and, each type against the rest, ``typed`` [G, K, 2].

    ``unit`` is int64[S].
    """
    call("count_tokens", crowd, type_of, unit, mute, whole, typed)


def compare_rows(
    crowd: CrowdView, row_offsets: I64, type_of: I16, both: RowPairs, mute: Mute, out: PairSums
) -> None:
    """Add the tokens that both of each pair labelled; ``row_offsets`` is int64[R+1]."""
    call("compare_rows", crowd, row_offsets, type_of, both, mute, out)


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
    call("compare_spans", crowd, row_offsets, spans, row_spans, both, mute, out)


def unitising_differences(
    spans: Spans,
    row_spans: I64,
    row_sentence: I64,
    both: RowPairs,
    heard: Bool,
    voices: I64,
    unit: I64,
    out: F64,
) -> None:
    """Add Krippendorff's Σ δ² over both orders of each pair, each divided by the others there are.

    Spans of one type that overlap differ by the squares of how far their ends lie apart, a span in a gap of
    the other by its squared length. ``heard`` bool[R, K] is whose word on a type is compared, at least two on
    each text; spans of others are not among ``spans``, and that they mark nothing says nothing. ``voices``
    int64[S, K] is how many are heard. ``out`` is float64[G, K].
    """
    call("unitising_differences", spans, row_spans, row_sentence, both, heard, voices, unit, out)


class Walk(NamedTuple):
    """Rows in the order in which gaps run on, [N].

    row : its number; unit : where it counts; length : its tokens; goes_on : whether it follows the row before
    in one text, read by one annotator.
    """

    row: I64
    unit: I64
    length: I64
    goes_on: Bool


def count_lengths(walk: Walk, spans: Spans, row_spans: I64, heard: Bool, out: Lengths) -> None:
    """Lengths of the units, and of the gaps between them, that each annotator leaves on each text.

    ``heard`` bool[N, K]: whether the row counts for a type.
    """
    call("count_lengths", walk, spans, row_spans, heard, out)
