"""Annotators held against each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import I64, Tags
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.spans import Spans
from seqtruth.kernels.views import CrowdView


class RowPairs(NamedTuple):
    """Every two rows of one sentence, [K]: their numbers, and that of the pair of annotators."""

    left: I64
    right: I64
    pair: I64


@kernel
def compare_rows(tags: Tags, row_offsets: I64, both: RowPairs, agree: I64, margins: I64) -> None:
    """Tokens that both of each pair labelled.

    Parameters
    ----------
    tags : tag[A].
    row_offsets : int64[R+1].
    agree : int64[pairs], on how many they agree (added to).
    margins : int64[pairs, 2, L], how often each of the two gave each label (added to).
    """
    for k in range(len(both.left)):
        p = both.pair[k]
        a, b = row_offsets[both.left[k]], row_offsets[both.right[k]]
        for i in range(row_offsets[both.left[k] + 1] - a):
            x, y = tags[a + i], tags[b + i]
            if x >= 0 and y >= 0:
                margins[p, 0, x] += 1
                margins[p, 1, y] += 1
                if x == y:
                    agree[p] += 1


@kernel
def compare_spans(spans: Spans, row_spans: I64, both: RowPairs, common: I64, total: I64) -> None:
    """Spans that both of each pair named.

    Parameters
    ----------
    spans : of all rows, in order.
    row_spans : int64[R+1], first span of each row.
    common, total : int64[pairs], spans of both, and of one and of the other (added to).
    """
    start, end, kind = spans.start, spans.end, spans.type
    for k in range(len(both.left)):
        p = both.pair[k]
        i, i_end = row_spans[both.left[k]], row_spans[both.left[k] + 1]
        j, j_end = row_spans[both.right[k]], row_spans[both.right[k] + 1]
        total[p] += (i_end - i) + (j_end - j)
        while i < i_end and j < j_end:
            if start[i] < start[j]:
                i += 1
            elif start[i] > start[j]:
                j += 1
            else:
                if end[i] == end[j] and kind[i] == kind[j]:
                    common[p] += 1
                i += 1
                j += 1


@kernel
def alpha_sums(crowd: CrowdView, totals: I64) -> float:
    """Krippendorff's Σ_u (m_u² - Σ_c n_uc²) / (m_u - 1); adds n_c to ``totals`` int64[L]."""
    counts = np.zeros(len(totals), np.int64)
    disagreement = 0.0
    for s in range(len(crowd.sentence_rows) - 1):
        n = crowd.token_offsets[s + 1] - crowd.token_offsets[s]
        for i in range(n):
            counts[:] = 0
            votes = 0
            for at in range(crowd.tag_offsets[s] + i, crowd.tag_offsets[s + 1], n):
                tag = crowd.tags[at]
                if tag >= 0:
                    counts[tag] += 1
                    votes += 1
            if votes >= 2:
                squares = 0
                for c in range(len(counts)):
                    squares += counts[c] * counts[c]
                    totals[c] += counts[c]
                disagreement += (votes * votes - squares) / (votes - 1)
    return disagreement
