"""Do annotators get better, or tired? Their agreement with the result over time, where labels have times."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import F64, I64
from seqtruth.metrics.span import same_spans
from seqtruth.result import Result

#: Spans on either side that a comparison needs at least, and standard errors that make it news.
FEWEST, NEWS = 20, 2.5


class Trend(NamedTuple):
    """F1 on the first and on the last half of an annotator's documents, in the order they were labelled.

    words : what that means: ``"learning"``, ``"tiring"`` or ``"steady"``.
    z : the difference in standard errors.
    """

    words: str
    first: float
    last: float
    z: float

    def told(self) -> str:
        """The same in a few words; nothing where they are steady."""
        if self.words == "steady":
            return ""
        return f"{self.words}: F1 {self.first:.2f}, later {self.last:.2f}"


def trends(crowd: Crowd, result: Result) -> dict[str, Trend]:
    """Trends by annotator, of those whose labels have times and are enough.

    Parameters
    ----------
    crowd, result : the annotations, and the labels to hold them against.
    """
    times = crowd.corpus.origin.times
    if not times:
        return {}
    hits = _hits(crowd, result)
    names, out = crowd.corpus.documents, {}
    document = crowd.corpus.sentence_document[crowd.row_sentence]
    for w, annotator in enumerate(crowd.annotators):
        when = times.get(annotator, {})
        rows = np.flatnonzero(crowd.row_annotator == w)
        stamped = np.array([when.get(names[document[r]], "") for r in rows.tolist()], object)
        rows, stamped = rows[stamped != ""], stamped[stamped != ""]
        found = _trend(hits[rows[np.argsort(stamped.astype(str), kind="stable")]])
        if found is not None:
            out[annotator] = found
    return out


def _hits(crowd: Crowd, result: Result) -> F64:
    """float64[R, 2]: spans right, and half of all spans named or wanted, of each row."""
    flat = gather(crowd.corpus.token_offsets, crowd.row_sentence.astype(np.int64))[1]
    theirs = extract(crowd.tags, crowd.row_offsets, crowd.scheme)
    ours = extract(result.tags[flat], crowd.row_offsets, crowd.scheme)
    right = same_spans(theirs, ours, crowd.row_offsets)

    def count(sequence: I64) -> I64:
        return np.bincount(sequence, minlength=crowd.n_rows)

    both = 0.5 * (count(theirs.sequence) + count(ours.sequence))
    return np.stack([count(theirs.sequence[right]), both], axis=1)


def _trend(hits: F64) -> Trend | None:
    """First half against last half, by the number of spans."""
    if not len(hits) or hits[:, 1].sum() < 2 * FEWEST:
        return None
    cut = int(np.searchsorted(np.cumsum(hits[:, 1]), hits[:, 1].sum() / 2)) + 1
    early, late = hits[:cut].sum(axis=0), hits[cut:].sum(axis=0)
    if min(early[1], late[1]) < FEWEST:
        return None
    a, b = early[0] / early[1], late[0] / late[1]
    pooled = (early[0] + late[0]) / (early[1] + late[1])
    error = np.sqrt(max(pooled * (1 - pooled), 1e-6) * (1 / early[1] + 1 / late[1]))
    z = float((b - a) / error)
    words = "steady" if abs(z) < NEWS else ("learning" if z > 0 else "tiring")
    return Trend(words, float(a), float(b), z)
