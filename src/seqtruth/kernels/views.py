"""The crowd as kernels walk it."""

from __future__ import annotations

from typing import NamedTuple

from seqtruth.kernels.arrays import I32, I64, Tags
from seqtruth.kernels.grammar import Grammar
from seqtruth.kernels.jit import kernel


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


@kernel
def longest_sentence(offsets: I64, first: int, last: int) -> int:
    """Number of tokens of the longest of the sentences first … last - 1, at least 1."""
    longest = 1
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest


@kernel
def most_rows(sentence_rows: I64, first: int, last: int) -> int:
    """Number of rows of the sentence that has the most, at least 1."""
    most = 1
    for s in range(first, last):
        most = max(most, sentence_rows[s + 1] - sentence_rows[s])
    return most


@kernel
def most_tags(crowd: CrowdView, first: int, last: int) -> int:
    """Number of tags of the sentence that has the most."""
    most = 0
    for s in range(first, last):
        most = max(most, crowd.tag_offsets[s + 1] - crowd.tag_offsets[s])
    return most


@kernel
def count_labelled(tags: Tags, row_offsets: I64, out: I32) -> None:
    """Tokens labelled in each row, into int32[R]; ``row_offsets`` is int64[R+1]."""
    for r in range(len(out)):
        n = 0
        for i in range(row_offsets[r], row_offsets[r + 1]):
            n += tags[i] >= 0
        out[r] = n
