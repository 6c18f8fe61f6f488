"""How annotators depart from the labels, in words: what they miss, cut short, misname and invent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.spans import Spans, extract
from seqtruth.kernels.arrays import I64, Tags

#: Shares below this, and of fewer spans than this, are not worth a word.
SHARE, FEWEST = 0.1, 10
#: At most so many sentences about one annotator.
MOST = 4
_PLACES = {
    (0, -1): "ends one token early",
    (0, 1): "ends one token late",
    (-1, 0): "starts one token early",
    (1, 0): "starts one token late",
}


class Mistake(NamedTuple):
    """One habit: in words, its share, and the number of spans it is a share of."""

    words: str
    share: float
    n: int


def mistakes_of(crowd: Crowd, tags: Tags) -> list[list[Mistake]]:
    """Each annotator's habits, the most frequent first.

    Parameters
    ----------
    crowd : the annotations.
    tags : tag[T], the labels to hold them against, numbered by the crowd's scheme.
    """
    flat = gather(crowd.corpus.token_offsets, crowd.row_sentence.astype(np.int64))[1]
    offsets = crowd.row_offsets
    theirs = extract(crowd.tags, offsets, crowd.scheme)
    ours = extract(np.where(crowd.tags >= 0, tags[flat], -1), offsets, crowd.scheme)
    partner = _partners(ours, theirs, offsets)
    who_ours = crowd.row_annotator[ours.sequence]
    who_theirs = crowd.row_annotator[theirs.sequence]
    met = np.zeros(len(theirs.start), np.bool_)
    met[partner[partner >= 0]] = True
    touched = _touched(theirs, ours, offsets)
    types = crowd.scheme.types
    out = []
    for w in range(crowd.n_annotators):
        mine, named = np.flatnonzero(who_ours == w), np.flatnonzero(who_theirs == w)
        found = [
            *_missed(ours, partner, mine, types),
            *_borders(ours, theirs, partner, mine),
            *_types(ours, theirs, partner, mine, types),
            *_invented(theirs, touched, named, types),
        ]
        worth = [one for one in found if one.share >= SHARE and one.n >= FEWEST]
        out.append(sorted(worth, key=lambda one: -one.share * np.sqrt(one.n))[:MOST])
    return out


def _partners(ours: Spans, theirs: Spans, offsets: I64) -> I64:
    """int64[N]: for each of our spans the first of theirs that shares a token with it, else -1."""
    begin, end = offsets[theirs.sequence] + theirs.start, offsets[theirs.sequence] + theirs.end
    a, b = offsets[ours.sequence] + ours.start, offsets[ours.sequence] + ours.end
    if not len(begin):
        return np.full(len(a), -1, np.int64)
    k = np.searchsorted(end, a, side="right")  # the first of theirs that ends after ours begins
    at = np.minimum(k, len(begin) - 1)
    return np.where((k < len(begin)) & (begin[at] < b), at, -1)


def _touched(theirs: Spans, ours: Spans, offsets: I64) -> np.ndarray:
    return _partners(theirs, ours, offsets) >= 0


def _missed(ours: Spans, partner: I64, mine: I64, types: tuple[str, ...]) -> list[Mistake]:
    out = []
    for k, name in enumerate(types):
        of_type = mine[ours.type[mine] == k]
        if len(of_type):
            share = float((partner[of_type] < 0).mean())
            out.append(Mistake(f"misses {share:.0%} of {name}", share, len(of_type)))
    return out


def _borders(ours: Spans, theirs: Spans, partner: I64, mine: I64) -> list[Mistake]:
    met = mine[partner[mine] >= 0]
    if not len(met):
        return []
    other = partner[met]
    start, end = theirs.start[other] - ours.start[met], theirs.end[other] - ours.end[met]
    out = []
    for (a, b), words in _PLACES.items():
        share = float(((start == a) & (end == b)).mean())
        out.append(Mistake(f"{words} ({share:.0%})", share, len(met)))
    return out


def _types(
    ours: Spans, theirs: Spans, partner: I64, mine: I64, types: tuple[str, ...]
) -> list[Mistake]:
    met = mine[partner[mine] >= 0]
    out = []
    for k, name in enumerate(types):
        of_type = met[ours.type[met] == k]
        if not len(of_type):
            continue
        called = np.bincount(theirs.type[partner[of_type]], minlength=len(types)) / len(of_type)
        called[k] = 0.0
        other = int(np.argmax(called))
        share = float(called[other])
        out.append(Mistake(f"calls {share:.0%} of {name} {types[other]}", share, len(of_type)))
    return out


def _invented(
    theirs: Spans, touched: np.ndarray, named: I64, types: tuple[str, ...]
) -> list[Mistake]:
    out = []
    for k, name in enumerate(types):
        of_type = named[theirs.type[named] == k]
        if len(of_type):
            share = float((~touched[of_type]).mean())
            text = f"{share:.0%} of their {name} are where there is nothing"
            out.append(Mistake(text, share, len(of_type)))
    return out
