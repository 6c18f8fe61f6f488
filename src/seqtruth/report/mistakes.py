"""How each annotator departs from the aggregated labels: missed, misplaced, mistyped, invented."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.spans import Spans, extract
from seqtruth.kernels.arrays import F64, I64, Bool, Tags
from seqtruth.metrics.score import ratio
from seqtruth.metrics.span import keep_spans


@dataclass(frozen=True, eq=False)
class Mistakes:
    """Shares by annotator, in the crowd's order; nan where there is nothing to take a share of.

    Parameters
    ----------
    missed : aggregated spans in their sentences that no span of theirs touches.
    boundary : spans of theirs that touch an aggregated one and do not share both ends with it.
    type : spans of theirs with the right ends and another type.
    invented : spans of theirs that touch none.
    """

    missed: F64
    boundary: F64
    type: F64
    invented: F64


def mistakes(crowd: Crowd, tags: Tags) -> Mistakes:
    """Compare every row of the crowd with the aggregated ``tags``, numbered by the crowd's scheme."""
    _, flat = gather(crowd.corpus.token_offsets, crowd.row_sentence.astype(np.int64))
    offsets = crowd.row_offsets
    theirs = extract(crowd.tags, offsets, crowd.scheme)
    ours = extract(tags[flat], offsets, crowd.scheme)
    # a sentence without aggregated labels judges nobody
    judged = np.asarray(np.diff(np.concatenate([[0], np.cumsum(tags[flat] >= 0)])[offsets]) > 0)
    theirs = keep_spans(theirs, judged[theirs.sequence])

    touches = _touching(theirs, ours, offsets)
    ends, kinds = _keys(theirs, offsets), _keys(ours, offsets)
    place = np.minimum(np.searchsorted(kinds, ends), max(len(kinds) - 1, 0))
    exact = kinds[place] == ends if len(kinds) else np.zeros(len(ends), np.bool_)
    other = exact.copy()
    if len(kinds):
        other &= ours.type[place] != theirs.type
    row_annotator = crowd.row_annotator

    def count(spans: Spans, mask: Bool | None = None) -> I64:
        rows = spans.sequence if mask is None else spans.sequence[mask]
        return np.bincount(row_annotator[rows], minlength=crowd.n_annotators)

    marked, wanted = count(theirs), count(ours)
    missed = count(ours, ~_touching(ours, theirs, offsets))
    return Mistakes(
        np.where(wanted > 0, ratio(missed, wanted), np.nan),
        *(
            np.where(marked > 0, ratio(count(theirs, mask), marked), np.nan)
            for mask in (touches & ~exact, other, ~touches)
        ),
    )


def _keys(spans: Spans, offsets: I64) -> I64:
    """One ascending number for each pair of ends."""
    start = offsets[spans.sequence] + spans.start
    return np.asarray(start * (int(offsets[-1]) + 2) + (offsets[spans.sequence] + spans.end))


def _touching(spans: Spans, others: Spans, offsets: I64) -> Bool:
    """Which of the spans share a token with one of the others."""
    edges = np.zeros(int(offsets[-1]) + 1, np.int64)
    edges[offsets[others.sequence] + others.start] += 1
    np.subtract.at(edges, offsets[others.sequence] + others.end, 1)
    inside = np.concatenate([[0], np.cumsum(np.cumsum(edges)[:-1])])
    first = offsets[spans.sequence]
    return np.asarray(inside[first + spans.end] > inside[first + spans.start])
