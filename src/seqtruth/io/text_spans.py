"""Texts with character spans: cut into tokens so that no span ends inside one.

Offsets count characters (Unicode code points, as Python strings do); the end is exclusive.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seqtruth.data.crowd import Crowd
from seqtruth.data.spans import Spans, extract
from seqtruth.errors import InputError
from seqtruth.io.tokens import trimmed


class TextSpan(NamedTuple):
    """A marked stretch of text, or of tokens."""

    start: int
    end: int
    label: str


def tidy(spans: list[TextSpan], text: str, who: str, where: str) -> list[TextSpan]:
    """One annotator's spans in reading order, without white space at their edges.

    Raises where a span lies outside the text, is empty, covers white space only, or overlaps
    another one.
    """
    return in_order([tidy_span(span, text, who, where) for span in spans], who, where)


def tidy_span(span: TextSpan, text: str, who: str, where: str) -> TextSpan:
    """A span without white space at its edges; raises where nothing is left, or it is not in the text."""
    if not 0 <= span.start < span.end <= len(text):
        raise InputError(
            f"{who}: a span must lie inside the text (0 to {len(text)}) and not be empty",
            where=where,
            got=f"{span.start} to {span.end}",
            fix="offsets count characters, the end is exclusive",
        )
    start, end = trimmed(text, span.start, span.end)
    if start == end:
        raise InputError(
            f"{who}: a span covers white space only",
            where=where,
            got=f"{span.start} to {span.end}",
        )
    return TextSpan(start, end, span.label)


def in_order(spans: list[TextSpan], who: str, where: str) -> list[TextSpan]:
    """The spans sorted; raises where two overlap."""
    spans = sorted(spans)
    for one, two in itertools.pairwise(spans):
        if two.start < one.end:
            raise InputError(
                f"{who}: two spans overlap",
                where=where,
                got=f"{one.start} to {one.end} {one.label!r} and "
                f"{two.start} to {two.end} {two.label!r}",
                fix="keep one of them, or give the second layer an annotator name of its own",
            )
    return spans


def token_spans(spans: list[TextSpan], tokens: list[tuple[int, int]]) -> list[TextSpan]:
    """Character spans as token spans; every border must be a token's border."""
    first = {start: number for number, (start, _) in enumerate(tokens)}
    last = {end: number + 1 for number, (_, end) in enumerate(tokens)}
    return [TextSpan(first[start], last[end], label) for start, end, label in spans]


class RowSpans(NamedTuple):
    """Spans of every row of a crowd, with the rows' borders among them."""

    spans: Spans
    offsets: npt.NDArray[np.int64]

    def of(self, crowd: Crowd, row: int) -> list[TextSpan]:
        """Token spans of one row."""
        a, b = self.offsets[row : row + 2]
        types = crowd.scheme.types
        columns = (column[a:b].tolist() for column in self.spans[1:])
        return [
            TextSpan(start, end, types[kind]) for start, end, kind in zip(*columns, strict=True)
        ]


def row_spans(crowd: Crowd) -> RowSpans:
    """Spans of every row, read by ``conlleval``'s rules."""
    spans = extract(crowd.tags, crowd.row_offsets, crowd.scheme)
    return RowSpans(spans, np.searchsorted(spans.sequence, np.arange(crowd.n_rows + 1)))
