"""Tags to spans and back, under the two readings of the literature."""

from __future__ import annotations

import numpy as np

from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError, ParameterError
from seqtruth.kernels.arrays import I64, Tags
from seqtruth.kernels.spans import (
    BEGIN,
    END,
    INSIDE,
    SINGLE,
    Reading,
    Spans,
    extract_chunk,
    paint_spans,
)
from seqtruth.kernels.threads import chunk_bounds, map_chunks

__all__ = ["READINGS", "Spans", "check_reading", "convert", "extract", "paint", "reading"]

#: ``conlleval``: a stray I- opens a span.  ``b-required``: only B- (or S-) does.
READINGS = ("conlleval", "b-required")


def check_reading(strict: str) -> None:
    """Raise where ``strict`` names no reading."""
    if strict not in READINGS:
        raise ParameterError(f"strict must be one of {', '.join(READINGS)}", got=repr(strict))


def extract(
    tags: Tags,
    offsets: I64,
    scheme: Scheme,
    strict: str = "conlleval",
) -> Spans:
    """Spans of every sequence.

    Parameters
    ----------
    tags : flat tag numbers; -1 (not labelled) counts as outside.
    offsets : start of each sequence in ``tags`` and the total length.
    strict : ``"conlleval"`` follows the rules of the CoNLL evaluation script (also for IO, IOB1
        and BIOES); ``"b-required"`` drops spans that do not open with B- or S- (for IO and IOB1,
        which open without it by design, the two are the same).

    Examples
    --------
    >>> s = Scheme.of("iob2", ["B-PER"])
    >>> tags = s.encode(["I-PER", "O", "B-PER", "I-PER"])
    >>> extract(tags, np.array([0, 4]), s).start.tolist()
    [0, 2]
    >>> extract(tags, np.array([0, 4]), s, "b-required").start.tolist()
    [2]
    """
    by = reading(scheme, strict)
    bounds = chunk_bounds(offsets)

    def run(a: int, b: int, spans: Spans, at: int) -> int:
        return int(extract_chunk(tags, offsets, a, b, by, spans, at))

    # once to count and once to write, so that nothing as long as the tags is needed
    counts = map_chunks(lambda a, b: run(a, b, _room(0), 0), bounds)
    place = dict(zip(bounds.tolist(), np.cumsum([0, *counts]).tolist(), strict=True))
    n = sum(counts)
    spans = _room(n)
    if n:
        map_chunks(lambda a, b: run(a, b, spans, place[a]), bounds)
    return spans


def _room(n: int) -> Spans:
    """Columns for n spans."""
    return Spans(
        np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int16)
    )


def reading(scheme: Scheme, strict: str) -> Reading:
    """The scheme's tables, and whether only B- (or S-) opens a span."""
    check_reading(strict)
    begin_required = strict == "b-required" and scheme.kind not in ("io", "iob1", "plain")
    return Reading(scheme.roles, scheme.type_of, begin_required)


def paint(spans: Spans, offsets: I64, scheme: Scheme) -> Tags:
    """Tags that spell the spans in ``scheme`` (the inverse of :func:`extract`).

    Span types are numbers in ``scheme.types``. Overlapping spans: the later one wins.
    """
    if scheme.kind == "plain":
        raise DataError("plain tags have no spans to spell")
    tags = np.full(int(offsets[-1]), scheme.outside, scheme.tag_dtype)
    roles = {BEGIN, INSIDE, END, SINGLE} & set(scheme.roles.tolist())
    table = np.empty((len(scheme.types), SINGLE + 1), scheme.tag_dtype)
    for number, name in enumerate(scheme.types):
        inside = scheme.label(INSIDE, name)
        table[number] = inside
        for role in roles:
            table[number, role] = scheme.label(role, name)
        if END not in roles:
            table[number, SINGLE] = table[number, BEGIN] if BEGIN in roles else inside
    paint_spans(spans, offsets, table, scheme.type_of, scheme.kind == "iob1", tags)
    return tags


def convert(tags: Tags, offsets: I64, source: Scheme, target: Scheme) -> Tags:
    """Respell flat tags in another scheme (read by ``conlleval``'s rules); -1 stays -1.

    IO cannot hold the border between touching spans of one type: they become one.
    """
    if source == target:
        return tags
    spans = extract(tags, offsets, source)
    numbers = np.array([target.types.index(name) for name in source.types] or [0], np.int16)
    spans = spans._replace(type=numbers[spans.type])
    painted = paint(spans, offsets, target)
    return np.where(tags < 0, painted.dtype.type(-1), painted)
