"""Texts with character spans: cut into tokens so that no span ends inside one.

Offsets count characters (Unicode code points, as Python strings do); the end is exclusive.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seqtruth.data.crowd import Crowd
from seqtruth.data.spans import Spans, extract
from seqtruth.errors import InputError


class Span(NamedTuple):
    """A marked stretch of text, or of tokens."""

    start: int
    end: int
    label: str


@functools.cache
def _pattern() -> re.Pattern[str]:
    """A number, a word with its combining marks, or any other visible character with its marks."""
    points = [*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)]
    marks = [point for point in points if unicodedata.category(chr(point))[0] == "M"]
    ranges: list[list[int]] = []
    for point in marks:
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    mark = "".join(f"{chr(a)}-{chr(b)}" for a, b in ranges)
    return re.compile(rf"\d+(?:[.,]\d+)+(?![\w{mark}])|\w[\w{mark}]*|\S[{mark}]*")


def tokenise(text: str, cuts: set[int]) -> list[tuple[int, int]]:
    """Start and end of each token, with a border at each of the places in ``cuts``.

    Examples
    --------
    >>> text = "Dr. Smith-Jones paid $3.50."
    >>> [text[a:b] for a, b in tokenise(text, {7})]
    ['Dr', '.', 'Smi', 'th', '-', 'Jones', 'paid', '$', '3.50', '.']
    """
    tokens: list[tuple[int, int]] = []
    for found in _pattern().finditer(text):
        start, end = found.span()
        for cut in sorted(c for c in range(start + 1, end) if c in cuts) if cuts else ():
            tokens.append((start, cut))
            start = cut
        tokens.append((start, end))
    return tokens


def tidy(spans: list[Span], text: str, who: str, where: str) -> list[Span]:
    """One annotator's spans in reading order, without white space at their edges.

    Raises where a span lies outside the text, is empty, covers white space only, or overlaps
    another one.
    """
    trimmed = []
    for span in spans:
        start, end = span.start, span.end
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"{who}: a span must lie inside the text (0 to {len(text)}) and not be empty",
                where=where,
                got=f"{start} to {end}",
                fix="offsets count characters, the end is exclusive",
            )
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if start == end:
            raise InputError(
                f"{who}: a span covers white space only",
                where=where,
                got=f"{span.start} to {span.end}",
            )
        trimmed.append(Span(start, end, span.label))
    return in_order(trimmed, who, where)


def in_order(spans: list[Span], who: str, where: str) -> list[Span]:
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


def token_spans(spans: list[Span], tokens: list[tuple[int, int]]) -> list[Span]:
    """Character spans as token spans; every border must be a token's border."""
    first = {start: number for number, (start, _) in enumerate(tokens)}
    last = {end: number + 1 for number, (_, end) in enumerate(tokens)}
    return [Span(first[start], last[end], label) for start, end, label in spans]


class RowSpans(NamedTuple):
    """Spans of every row of a crowd, with the rows' borders among them."""

    spans: Spans
    offsets: npt.NDArray[np.int64]

    def of(self, crowd: Crowd, row: int) -> list[Span]:
        """Token spans of one row."""
        a, b = self.offsets[row : row + 2]
        types = crowd.scheme.types
        columns = (column[a:b].tolist() for column in self.spans[1:])
        return [Span(start, end, types[kind]) for start, end, kind in zip(*columns, strict=True)]


def row_spans(crowd: Crowd) -> RowSpans:
    """Spans of every row, read by ``conlleval``'s rules."""
    spans = extract(crowd.tags, crowd.row_offsets, crowd.scheme)
    return RowSpans(spans, np.searchsorted(spans.sequence, np.arange(crowd.n_rows + 1)))
