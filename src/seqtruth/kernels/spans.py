"""Spans of tags and tags of spans, by what each label does and the type it is of."""

from __future__ import annotations

from typing import NamedTuple

from seqtruth.kernels.arrays import I8, I16, I32, I64, Tags
from seqtruth.kernels.jit import kernel

#: What a tag does, whatever letter the scheme uses for it.
OUTSIDE, BEGIN, INSIDE, END, SINGLE, PLAIN = range(6)


class Spans(NamedTuple):
    """Spans in reading order, in columns.

    sequence : int64[spans], number of the sequence.
    start, end : int32[spans], counted within the sequence; ``end`` is exclusive.
    type : int16[spans], number of the type.
    """

    sequence: I64
    start: I32
    end: I32
    type: I16


class Reading(NamedTuple):
    """How tags are read as spans.

    roles : int8[L], what each label does.
    type_of : int16[L], number of its type; -1 outside.
    begin_required : whether only BEGIN and SINGLE open a span.
    """

    roles: I8
    type_of: I16
    begin_required: bool


@kernel
def opens(role: int, kind: int, prev_role: int, prev_kind: int) -> bool:
    """Does a span begin here: conlleval's startOfChunk, written once for all schemes."""
    return role != OUTSIDE and (
        role == BEGIN
        or role == SINGLE
        or role == PLAIN
        or prev_role == OUTSIDE
        or prev_role == END
        or prev_role == SINGLE
        or prev_kind != kind
    )


@kernel
def extract_chunk(
    tags: Tags, offsets: I64, first: int, last: int, by: Reading, out: Spans, at: int
) -> int:
    """Write the spans of sequences first … last - 1 from place ``at`` on; returns the place after.

    Where ``out`` has no room they are only counted.
    """
    write = len(out.sequence) > 0
    for s in range(first, last):
        begin, end = offsets[s], offsets[s + 1]
        open_at, open_type, prev_role, prev_type = -1, -1, OUTSIDE, -1
        for i in range(begin, end + 1):
            role, this = OUTSIDE, -1
            if i < end and tags[i] >= 0:
                role, this = by.roles[tags[i]], by.type_of[tags[i]]
            if role == OUTSIDE and prev_role == OUTSIDE:
                continue
            begins = opens(role, this, prev_role, prev_type)
            if open_at >= 0 and (role == OUTSIDE or begins):
                if write:
                    out.sequence[at], out.type[at] = s, open_type
                    out.start[at], out.end[at] = open_at - begin, i - begin
                at += 1
                open_at = -1
            if begins and (not by.begin_required or role == BEGIN or role == SINGLE):
                open_at, open_type = i, this
            prev_role, prev_type = role, this
    return at


@kernel
def paint_spans(
    spans: Spans, offsets: I64, table: Tags, type_of: I16, only_if_touching: bool, tags: Tags
) -> None:
    """Spell spans into tags; of overlapping ones the later wins.

    Parameters
    ----------
    offsets : int64[sequences + 1].
    table : tag[types, roles], the label of each type and role.
    type_of : int16[L].
    only_if_touching : as in IOB1, where B- stands only where a span touches one of its own type.
    """
    for n in range(len(spans.sequence)):
        first = offsets[spans.sequence[n]]
        a, b = first + spans.start[n], first + spans.end[n]
        row = table[spans.type[n]]
        for i in range(a, b):
            tags[i] = row[INSIDE]
        if only_if_touching:
            if spans.start[n] > 0 and type_of[tags[a - 1]] == spans.type[n]:
                tags[a] = row[BEGIN]
            continue
        tags[a] = row[BEGIN]
        tags[b - 1] = row[END]
        if b - a == 1:
            tags[a] = row[SINGLE]
        elif row[END] == row[INSIDE]:
            tags[b - 1] = row[INSIDE]
