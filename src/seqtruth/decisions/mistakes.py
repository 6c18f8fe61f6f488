"""How annotators depart from the labels, in shares and in words: missed, cut short, misnamed, invented."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.spans import Spans, extract
from seqtruth.kernels.arrays import F64, I64, Bool, Tags

#: Shares below this, and of fewer spans than this, are not worth a word.
SHARE, FEWEST = 0.1, 10
#: At most so many sentences about one annotator.
MOST = 4
#: Types of which they miss the same share within this are told in one word.
ALIKE = 0.1
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


class Shares(NamedTuple):
    """Shares by annotator, float64[W] each; nan where there is nothing to take a share of.

    missed : of the result's spans on what they labelled, those that no span of theirs touches.
    boundary : of their spans, those that touch one and do not share both ends with any.
    type : those with the right ends and another type.
    invented : those that touch none.
    """

    missed: F64
    boundary: F64
    type: F64
    invented: F64


class Compared:
    """Every row of a crowd beside the labels, on the tokens that both label.

    Parameters
    ----------
    crowd : the annotations.
    tags : tag[T], the labels to hold them against, numbered by the crowd's scheme; -1: none.
    """

    def __init__(self, crowd: Crowd, tags: Tags) -> None:
        flat = gather(crowd.corpus.token_offsets, crowd.row_sentence.astype(np.int64))[1]
        self.crowd, self.offsets = crowd, crowd.row_offsets
        labels = tags[flat]
        self.theirs = extract(np.where(labels >= 0, crowd.tags, -1), self.offsets, crowd.scheme)
        self.ours = extract(np.where(crowd.tags >= 0, labels, -1), self.offsets, crowd.scheme)
        #: For each of our spans the first of theirs that shares a token with it, and the other way; else -1.
        self.partner = _partners(self.ours, self.theirs, self.offsets)
        self.touched = _partners(self.theirs, self.ours, self.offsets)

    def shares(self) -> Shares:
        """How much of each kind of mistake every annotator makes."""
        theirs, ours = self.theirs, self.ours
        met = np.flatnonzero(self.touched >= 0)
        exact, other = (np.zeros(len(theirs.start), np.bool_) for _ in range(2))
        at = self.touched[met]
        exact[met] = (theirs.start[met] == ours.start[at]) & (theirs.end[met] == ours.end[at])
        other[met] = exact[met] & (theirs.type[met] != ours.type[at])
        touches = self.touched >= 0
        marked, wanted = self._count(theirs), self._count(ours)
        return Shares(
            _share(self._count(ours, self.partner < 0), wanted),
            *(
                _share(self._count(theirs, mask), marked)
                for mask in (touches & ~exact, other, ~touches)
            ),
        )

    def _count(self, spans: Spans, mask: Bool | None = None) -> I64:
        rows = spans.sequence if mask is None else spans.sequence[mask]
        return np.bincount(self.crowd.row_annotator[rows], minlength=self.crowd.n_annotators)

    def habits(self) -> list[list[Mistake]]:
        """Each annotator's habits in words, the most frequent first."""
        crowd, ours, theirs, partner = self.crowd, self.ours, self.theirs, self.partner
        mine = _by_annotator(crowd, ours)
        named = _by_annotator(crowd, theirs)
        types, out = crowd.scheme.types, []
        for w in range(crowd.n_annotators):
            found = [
                *_missed(ours, partner, mine[w], types),
                *_borders(ours, theirs, partner, mine[w]),
                *_types(ours, theirs, partner, mine[w], types),
                *_invented(theirs, self.touched >= 0, named[w], types),
            ]
            worth = [one for one in found if one.share >= SHARE and one.n >= FEWEST]
            out.append(sorted(worth, key=lambda one: -one.share * np.sqrt(one.n))[:MOST])
        return out


def _share(count: I64, total: I64) -> F64:
    return np.where(total > 0, count / np.maximum(total, 1), np.nan)


def _by_annotator(crowd: Crowd, spans: Spans) -> list[I64]:
    """The numbers of each annotator's spans."""
    annotator = crowd.row_annotator[spans.sequence]
    order = np.argsort(annotator, kind="stable")
    return np.split(order, np.searchsorted(annotator[order], np.arange(1, crowd.n_annotators)))


def _partners(ours: Spans, theirs: Spans, offsets: I64) -> I64:
    """int64[N]: for each of our spans the first of theirs that shares a token with it, else -1."""
    begin, end = offsets[theirs.sequence] + theirs.start, offsets[theirs.sequence] + theirs.end
    a, b = offsets[ours.sequence] + ours.start, offsets[ours.sequence] + ours.end
    if not len(begin):
        return np.full(len(a), -1, np.int64)
    k = np.searchsorted(end, a, side="right")  # the first of theirs that ends after ours begins
    at = np.minimum(k, len(begin) - 1)
    return np.where((k < len(begin)) & (begin[at] < b), at, -1)


def _missed(ours: Spans, partner: I64, mine: I64, types: tuple[str, ...]) -> list[Mistake]:
    """What they miss of each type, or of all where that is the same."""
    n = np.bincount(ours.type[mine], minlength=len(types))
    missed = np.bincount(ours.type[mine[partner[mine] < 0]], minlength=len(types))
    told = [
        Mistake(f"misses {missed[k] / n[k]:.0%} of {types[k]}", float(missed[k] / n[k]), int(n[k]))
        for k in np.flatnonzero(n).tolist()
    ]
    enough = [one.share for one in told if one.n >= FEWEST]
    if len(enough) > 1 and max(enough) - min(enough) <= ALIKE:
        share = float(missed.sum() / n.sum())
        return [Mistake(f"misses {share:.0%} of all types alike", share, int(n[n > 0].mean()))]
    return told


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
