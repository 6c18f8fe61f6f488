"""What annotators marked in a sentence, for all who show it to people."""

from __future__ import annotations

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import Tags

#: First token, the one behind the last, type.
Claim = tuple[int, int, str]


def spans_in(tags: Tags, scheme: Scheme) -> list[Claim]:
    """Spans of one sequence.

    >>> rules = Scheme.of("iob2", ["B-PER"])
    >>> spans_in(rules.encode(["O", "B-PER", "I-PER"]), rules)
    [(1, 3, 'PER')]
    """
    found = extract(np.ascontiguousarray(tags), np.array([0, len(tags)], np.int64), scheme)
    columns = (found.start.tolist(), found.end.tolist(), found.type.tolist())
    return [(a, b, scheme.types[kind]) for a, b, kind in zip(*columns, strict=True)]


def rows_of(crowd: Crowd, sentence: int) -> list[tuple[int, Tags]]:
    """The numbers of those who labelled a sentence, each with their tags."""
    first, last = (int(row) for row in crowd.sentence_rows[sentence : sentence + 2])
    ends = crowd.row_offsets
    return [
        (int(crowd.row_annotator[row]), crowd.tags[ends[row] : ends[row + 1]])
        for row in range(first, last)
    ]


def claims_of(crowd: Crowd, sentence: int) -> list[tuple[int, list[Claim]]]:
    """The numbers of those who labelled a sentence, each with what they marked."""
    first, last = (int(row) for row in crowd.sentence_rows[sentence : sentence + 2])
    ends = crowd.row_offsets[first : last + 1]
    found = extract(crowd.tags[ends[0] : ends[-1]], ends - ends[0], crowd.scheme)
    claims: list[list[Claim]] = [[] for _ in range(first, last)]
    columns = (found.sequence, found.start, found.end, found.type)
    for row, a, b, kind in zip(*(column.tolist() for column in columns), strict=True):
        claims[row].append((a, b, crowd.scheme.types[kind]))
    return list(zip(crowd.row_annotator[first:last].tolist(), claims, strict=True))
