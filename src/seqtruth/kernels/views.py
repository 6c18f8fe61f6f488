"""The crowd as kernels walk it."""

from __future__ import annotations

from typing import NamedTuple

from seqtruth.kernels.arrays import I32, I64, Tags
from seqtruth.kernels.grammar import Grammar
from seqtruth.kernels.native import call


class CrowdView(NamedTuple):
    """A crowd's columns, and the grammar of its labels.

    tags : tag[A], every row's tags one after the other, rows sorted by sentence, then annotator.
    tag_offsets : int64[S+1], where in ``tags`` each sentence's rows begin; they follow each other.
    token_offsets : int64[S+1], where each sentence's tokens begin.
    sentence_rows : int64[S+1], first row of each sentence.
    row_annotator : int32[R], whose row it is.
    """

    tags: Tags
    tag_offsets: I64
    token_offsets: I64
    sentence_rows: I64
    row_annotator: I32
    grammar: Grammar


def count_labelled(tags: Tags, row_offsets: I64, out: I32) -> None:
    """Tokens labelled in each row, into int32[R]; ``row_offsets`` is int64[R+1]."""
    call("count_labelled", tags, row_offsets, out)
