"""Counting and renumbering tags that lie in rows one after the other, -1 where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqtruth.kernels.arrays import I32, I64, Bool, Tags
from seqtruth.kernels.native import call


def count_pairs(tags: Any, row_offsets: I64, n_labels: int) -> I64:
    """int64[L + 1, L]: how often a label stands after another one; see ``detect_from_pairs``."""
    pairs = np.zeros((n_labels + 1, n_labels), np.int64)
    call("count_pairs", tags, row_offsets, pairs)
    return pairs


def recode(tags: Any, table: Tags) -> Tags:
    """tag[A]: ``table[tag]`` of every tag, in the table's type; -1 stays -1.

    Parameters
    ----------
    tags : whole numbers of any type, [A].
    table : tag[≥ labels].
    """
    out = np.empty(len(tags), table.dtype)
    call("recode", tags, table, out)
    return out


def numbers_in_use(codes: Any, n_labels: int) -> Bool:
    """bool[columns, labels + 1]: which labels stand in each column of numbers; the last place is for none.

    Parameters
    ----------
    codes : whole numbers of any type below ``n_labels``, [rows, columns], negative where there is none.
    """
    used = np.zeros((codes.shape[1], n_labels + 1), np.bool_)
    if beyond := call("mark_numbers", codes, used):
        raise IndexError(f"{beyond} tags are not among the {n_labels} labels")
    return used


def count_given(tags: Any, row_offsets: I64, row_annotator: I32, n_annotators: int) -> I64:
    """int64[W]: tags that each annotator gave."""
    given = np.zeros(n_annotators, np.int64)
    call("count_given", tags, row_offsets, row_annotator, given)
    return given
