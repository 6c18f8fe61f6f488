"""Spans that each annotator names, and how many of them a gold standard names, too."""

from __future__ import annotations

from typing import NamedTuple

from seqtruth.kernels.arrays import I64, Tags
from seqtruth.kernels.native import call
from seqtruth.kernels.spans import Reading
from seqtruth.kernels.views import CrowdView


class Gold(NamedTuple):
    """What annotators are held against.

    partner : int64[S], the gold sentence of each of the crowd's; -1: not to be judged.
    tags : tag[gold tokens]; -1: no label.
    offsets : int64[gold sentences + 1].
    """

    partner: I64
    tags: Tags
    offsets: I64


def count_spans_chunk(
    crowd: CrowdView, first: int, last: int, table: Tags, gold: Gold, by: Reading, out: I64
) -> None:
    """Add to int64[4, W]: sentences, correct, predicted and gold spans of each annotator.

    Parameters
    ----------
    table : tag[labels of the crowd], numbers of the gold's labels.
    """
    call("count_spans", crowd, first, last, table, gold, by, out)
