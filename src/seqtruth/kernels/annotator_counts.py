"""Spans that each annotator names, and how many of them a gold standard names, too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import I32, I64, Tags
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.spans import BEGIN, OUTSIDE, SINGLE, Reading, opens
from seqtruth.kernels.views import CrowdView, longest_sentence


class Gold(NamedTuple):
    """What annotators are held against.

    partner : int64[S], the gold sentence of each of the crowd's; -1: not to be judged.
    tags : tag[gold tokens]; -1: no label.
    offsets : int64[gold sentences + 1].
    """

    partner: I64
    tags: Tags
    offsets: I64


@kernel
def _read_spans(
    tags: Tags, table: Tags, at: int, n: int, by: Reading, out: I32
) -> tuple[int, bool]:
    """Spans of ``tags[at : at + n]``, recoded by the table, as (start, end, type) into int32[≥ n, 3].

    Returns how many, and whether any tag is given.
    """
    found, known = 0, False
    open_at, open_type, prev_role, prev_type = -1, -1, OUTSIDE, -1
    for i in range(n + 1):
        role, this = OUTSIDE, -1
        if i < n and tags[at + i] >= 0:
            known = True
            tag = table[tags[at + i]]
            role, this = by.roles[tag], by.type_of[tag]
        if role == OUTSIDE and prev_role == OUTSIDE:
            continue
        begins = opens(role, this, prev_role, prev_type)
        if open_at >= 0 and (role == OUTSIDE or begins):
            out[found, 0], out[found, 1], out[found, 2] = open_at, i, open_type
            found += 1
            open_at = -1
        if begins and (not by.begin_required or role == BEGIN or role == SINGLE):
            open_at, open_type = i, this
        prev_role, prev_type = role, this
    return found, known


@kernel
def count_spans_chunk(
    crowd: CrowdView, first: int, last: int, table: Tags, gold: Gold, by: Reading, out: I64
) -> None:
    """Add to int64[4, W]: sentences, correct, predicted and gold spans of each annotator.

    Parameters
    ----------
    table : tag[labels of the crowd], numbers of the gold's labels.
    """
    offsets, sentence_rows = crowd.token_offsets, crowd.sentence_rows
    longest = longest_sentence(offsets, first, last)
    wanted, given = np.empty((longest, 3), np.int32), np.empty((longest, 3), np.int32)
    same = np.arange(len(by.roles)).astype(gold.tags.dtype)
    for s in range(first, last):
        if gold.partner[s] < 0 or sentence_rows[s] == sentence_rows[s + 1]:
            continue
        n, at = offsets[s + 1] - offsets[s], gold.offsets[gold.partner[s]]
        n_gold, known = _read_spans(gold.tags, same, at, n, by, wanted)
        # a row counts where they said anything and there is anything to compare it with
        if n > 0 and not known:
            continue
        for r in range(sentence_rows[s], sentence_rows[s + 1]):
            row = crowd.tag_offsets[s] + (r - sentence_rows[s]) * n
            n_given, said = _read_spans(crowd.tags, table, row, n, by, given)
            if n > 0 and not said:
                continue
            annotator, j = crowd.row_annotator[r], 0
            out[0, annotator] += 1
            out[3, annotator] += n_gold
            for m in range(n_given):
                start, end = given[m, 0], given[m, 1]
                # what lies on a token without gold cannot be judged
                judged = True
                for i in range(start, end):
                    judged = judged and gold.tags[at + i] >= 0
                if not judged:
                    continue
                out[2, annotator] += 1
                while j < n_gold and wanted[j, 0] < start:
                    j += 1
                if j < n_gold and wanted[j, 0] == start:
                    if wanted[j, 1] == end and wanted[j, 2] == given[m, 2]:
                        out[1, annotator] += 1
