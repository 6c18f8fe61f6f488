"""Counting and renumbering tags that lie in rows one after the other, -1 where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqtruth.kernels.arrays import I32, I64, Tags
from seqtruth.kernels.jit import kernel


@kernel
def count_pairs(tags: Any, row_offsets: I64, n_labels: int) -> I64:
    """int64[L + 1, L]: how often a label stands after another one; see ``detect_from_pairs``."""
    pairs = np.zeros((n_labels + 1, n_labels), np.int64)
    for r in range(len(row_offsets) - 1):
        before = n_labels
        for i in range(row_offsets[r], row_offsets[r + 1]):
            if tags[i] >= 0:
                pairs[before, tags[i]] += 1
                before = tags[i]
            else:
                before = n_labels
    return pairs


@kernel
def recode(tags: Any, table: Tags) -> Tags:
    """tag[A]: ``table[tag]`` of every tag, in the table's type; -1 stays -1.

    Parameters
    ----------
    tags : whole numbers of any type, [A].
    table : tag[≥ labels].
    """
    out = np.empty(len(tags), table.dtype)
    for i in range(len(tags)):
        out[i] = table[tags[i]] if tags[i] >= 0 else -1
    return out


@kernel
def count_given(tags: Any, row_offsets: I64, row_annotator: I32, n_annotators: int) -> I64:
    """int64[W]: tags that each annotator gave."""
    given = np.zeros(n_annotators, np.int64)
    for r in range(len(row_annotator)):
        for i in range(row_offsets[r], row_offsets[r + 1]):
            if tags[i] >= 0:
                given[row_annotator[r]] += 1
    return given
