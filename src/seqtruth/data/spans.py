"""Tags to spans and back: the two readings of the literature, as compiled passes over flat tags."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.scheme import BEGIN, END, INSIDE, OUTSIDE, PLAIN, SINGLE, Scheme
from seqtruth.errors import DataError, ParameterError
from seqtruth.kernels.arrays import I8, I16, I32, I64
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.threads import chunk_bounds, map_chunks

#: ``conlleval``: a stray I- opens a span.  ``b-required``: only B- (or S-) does.
READINGS = ("conlleval", "b-required")


class Spans(NamedTuple):
    """Spans in reading order; ``end`` is exclusive and counted within the sequence."""

    sequence: I64
    start: I32
    end: I32
    type: I16


def check_reading(strict: str) -> None:
    """Raise where ``strict`` names no reading."""
    if strict not in READINGS:
        raise ParameterError(f"strict must be one of {', '.join(READINGS)}", got=repr(strict))


def extract(
    tags: I8,
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
    >>> tags = np.array([s.index(t) for t in ("I-PER", "O", "B-PER", "I-PER")], np.int8)
    >>> extract(tags, np.array([0, 4]), s).start.tolist()
    [0, 2]
    >>> extract(tags, np.array([0, 4]), s, "b-required").start.tolist()
    [2]
    """
    demand_begin = needs_begin(scheme, strict)
    bounds = chunk_bounds(offsets)

    def run(a: int, b: int, spans: Spans, at: int) -> int:
        found = _extract(
            tags, offsets, a, b, scheme.roles, scheme.type_of, demand_begin, *spans, at
        )
        return int(found)

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


@kernel
def _extract(
    tags: I8,
    offsets: I64,
    first_sequence: int,
    last_sequence: int,
    roles: I8,
    type_of: I16,
    demand_begin: bool,
    sequence: I64,
    start: I32,
    end: I32,
    kind: I16,
    n: int,
) -> int:
    """Write spans from place ``n`` on (only count them where there is no room); the place after."""
    write = len(sequence) > 0
    for s in range(first_sequence, last_sequence):
        first, last = offsets[s], offsets[s + 1]
        open_at, open_type, prev_role, prev_type = -1, -1, OUTSIDE, -1
        for i in range(first, last + 1):
            role, this = OUTSIDE, -1
            if i < last and tags[i] >= 0:
                role, this = roles[tags[i]], type_of[tags[i]]
            if role == OUTSIDE and prev_role == OUTSIDE:
                continue
            begins = opens(role, this, prev_role, prev_type)
            if open_at >= 0 and (role == OUTSIDE or begins):
                if write:
                    sequence[n], start[n], end[n] = s, open_at - first, i - first
                    kind[n] = open_type
                n += 1
                open_at = -1
            if begins and (not demand_begin or role == BEGIN or role == SINGLE):
                open_at, open_type = i, this
            prev_role, prev_type = role, this
    return n


@kernel
def opens(role: int, kind: int, prev_role: int, prev_kind: int) -> bool:
    """Does a chunk begin here: conlleval's startOfChunk, written once for all schemes."""
    return role != OUTSIDE and (
        role == BEGIN
        or role == SINGLE
        or role == PLAIN
        or prev_role == OUTSIDE
        or prev_role == END
        or prev_role == SINGLE
        or prev_kind != kind
    )


def needs_begin(scheme: Scheme, strict: str) -> bool:
    """Whether only B- (or S-) opens a span, under this reading."""
    check_reading(strict)
    return strict == "b-required" and scheme.kind not in ("io", "iob1", "plain")


def paint(spans: Spans, offsets: I64, scheme: Scheme) -> I8:
    """Tags that spell the spans in ``scheme`` (the inverse of :func:`extract`).

    Span types are numbers in ``scheme.types``. Overlapping spans: the later one wins.
    """
    if scheme.kind == "plain":
        raise DataError("plain tags have no spans to spell")
    tags = np.full(int(offsets[-1]), scheme.outside, np.int8)
    roles = {BEGIN, INSIDE, END, SINGLE} & set(scheme.roles.tolist())
    table = np.empty((len(scheme.types), SINGLE + 1), np.int8)
    for number, name in enumerate(scheme.types):
        inside = scheme.label(INSIDE, name)
        table[number] = inside
        for role in roles:
            table[number, role] = scheme.label(role, name)
        if END not in roles:
            table[number, SINGLE] = table[number, BEGIN] if BEGIN in roles else inside
    _paint(tags, offsets, *spans, table, scheme.kind == "iob1", scheme.type_of)
    return tags


@kernel
def _paint(
    tags: I8,
    offsets: I64,
    sequence: I64,
    start: I32,
    end: I32,
    kind: I16,
    table: I8,
    only_if_touching: bool,
    type_of: I16,
) -> None:
    for n in range(len(sequence)):
        first = offsets[sequence[n]]
        a, b = first + start[n], first + end[n]
        row = table[kind[n]]
        for i in range(a, b):
            tags[i] = row[INSIDE]
        if only_if_touching:  # IOB1: B- only where the span touches one of its own type
            if start[n] > 0 and type_of[tags[a - 1]] == kind[n]:
                tags[a] = row[BEGIN]
            continue
        tags[a] = row[BEGIN]
        tags[b - 1] = row[END]
        if b - a == 1:
            tags[a] = row[SINGLE]
        elif row[END] == row[INSIDE]:
            tags[b - 1] = row[INSIDE]


def convert(tags: I8, offsets: I64, source: Scheme, target: Scheme) -> I8:
    """Respell flat tags in another scheme (read by ``conlleval``'s rules); -1 stays -1.

    IO cannot hold the border between touching spans of one type: they become one.
    """
    if source == target:
        return tags
    spans = extract(tags, offsets, source)
    numbers = np.array([target.types.index(name) for name in source.types] or [0], np.int16)
    spans = spans._replace(type=numbers[spans.type])
    return np.where(tags < 0, np.int8(-1), paint(spans, offsets, target))
