"""Span counts of every annotator from whole arrays of spans, one step after the other."""

from __future__ import annotations

import numpy as np

from seqtruth.data.ragged import gather
from seqtruth.data.spans import convert, extract
from seqtruth.metrics.span import judgeable, keep_spans, same_spans


def annotator_counts(crowd, truth, scheme, sentences, partner, strict):
    """Sentences, correct, predicted and gold spans of each annotator; ``truth`` is in ``scheme``."""
    if scheme.kind == crowd.scheme.kind:
        tags = scheme.recoding(crowd.scheme.labels)[crowd.tags]
    else:
        tags = convert(crowd.tags, crowd.row_offsets, crowd.scheme, scheme)
    chosen = np.isin(crowd.row_sentence, sentences)
    rows = np.flatnonzero(chosen & (partner[crowd.row_sentence] >= 0))
    offsets, flat = gather(crowd.row_offsets, rows)
    _, gold_flat = gather(truth.corpus.token_offsets, partner[crowd.row_sentence[rows]])
    ours, theirs = tags[flat], truth.tags[gold_flat]
    counted = any_known(ours, offsets) & any_known(theirs, offsets)
    spans = extract(ours, offsets, scheme, strict)
    spans = keep_spans(spans, judgeable(spans, theirs, offsets) & counted[spans.sequence])
    wanted = extract(theirs, offsets, scheme, strict)
    wanted = keep_spans(wanted, counted[wanted.sequence])
    right = same_spans(spans, wanted, offsets)
    annotator = crowd.row_annotator[rows]
    found = (np.flatnonzero(counted), spans.sequence[right], spans.sequence, wanted.sequence)
    return [np.bincount(annotator[row], minlength=crowd.n_annotators).tolist() for row in found]


def any_known(tags, offsets):
    """Whether each segment has a tag at all (an empty one counts as having)."""
    total = np.concatenate([[0], np.cumsum(tags >= 0)])
    return (np.diff(total[offsets]) > 0) | (np.diff(offsets) == 0)
