"""Spans of tags and tags of spans, by what each label does and the type it is of."""

from __future__ import annotations

from typing import NamedTuple

from seqtruth.kernels.arrays import I8, I16, I32, I64, Tags
from seqtruth.kernels.native import call

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


def extract_chunk(
    tags: Tags, offsets: I64, first: int, last: int, by: Reading, out: Spans, at: int
) -> int:
    """Write the spans of sequences first … last - 1 from place ``at`` on; returns the place after.

    Where ``out`` has no room they are only counted.
    """
    return int(call("extract_spans", tags, offsets, first, last, by, out, at))


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
    call("paint_spans", spans, offsets, table, type_of, only_if_touching, tags)
