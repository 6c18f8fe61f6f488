"""Who said what on the tokens that anybody marks.

Where all who saw a token say ``O``, the token is ``O`` whoever they are, and only the number of such
tokens matters. What is to be learnt about annotators is on the *marked* tokens, a few percent of a
text, which are laid out here one label after the other.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.kernels.arrays import F64, I32, I64, Bool, Tags
from seqtruth.kernels.native import call


class Labels(NamedTuple):
    """Labels on marked tokens, in the order of the crowd's rows.

    token : int64[E], number among the marked tokens.
    annotator : int32[E].
    previous, tag : tag[E], what the annotator said of the token before (``O`` where they said nothing)
        and of this one.
    """

    token: I64
    annotator: I32
    previous: Tags
    tag: Tags


class Totals(NamedTuple):
    """Sums over the marked tokens of a crowd, whole or in parts.

    places : int64[1], how many places anybody marks.
    claims : float64[W, K], on how many tokens each annotator claims each type.
    spoken : int64[W], how many labels each annotator has on marked tokens.
    shared : int64[W], how many of these on tokens that somebody else labelled, too.
    """

    places: I64
    claims: F64
    spoken: I64
    shared: I64

    @property
    def breadth(self) -> float:
        """Mean share of the types anybody speaks of that an annotator speaks of."""
        claimed = self.claims.any(axis=0)
        return float((self.claims[:, claimed] > 0).mean()) if claimed.any() else 1.0

    @property
    def overlap(self) -> bool:
        """Whether two annotators labelled a marked token."""
        return bool(self.shared.any())


class Marked:
    """The marked tokens of a crowd.

    Parameters
    ----------
    crowd : the annotations.
    known : tag[T], labels known beforehand (-1: none); a token known to be in a span counts as marked.
    """

    def __init__(self, crowd: Crowd, known: Tags | None = None) -> None:
        self.crowd = crowd
        outside = crowd.scheme.outside
        token = gather(crowd.corpus.token_offsets, crowd.row_sentence.astype(np.int64))[1]
        annotator = np.repeat(crowd.row_annotator, np.diff(crowd.row_offsets))
        tag = crowd.tags
        before = np.roll(tag, 1)
        before[crowd.row_offsets[:-1][np.diff(crowd.row_offsets) > 0]] = -1
        before = np.where(before < 0, tag.dtype.type(max(outside, 0)), before)
        marked, seen = np.zeros((2, crowd.n_tokens), np.bool_)
        seen[token[tag >= 0]] = True
        marked[token[(tag >= 0) & (tag != outside)]] = True
        if known is not None:
            marked |= (known >= 0) & (known != outside)
        #: int64[A]: the marked tokens.
        self.at = np.flatnonzero(marked)
        number = np.cumsum(marked) - 1
        on, off = marked[token] & (tag >= 0), ~marked[token] & (tag >= 0)
        self.labels = Labels(number[token[on]], annotator[on], before[on], tag[on])
        #: int64[W]: how many other tokens each annotator labelled, all of them ``O``.
        self.quiet: I64 = np.bincount(annotator[off], minlength=crowd.n_annotators)
        #: How many other tokens anybody labelled.
        self.n_quiet = int((seen & ~marked).sum())

    @property
    def scheme(self) -> Scheme:
        return self.crowd.scheme

    @cached_property
    def stretches(self) -> I64:
        """int64[N+1]: where runs of neighbouring marked tokens begin among them, and their end."""
        sentence = np.searchsorted(self.crowd.corpus.token_offsets, self.at, side="right")
        first = np.ones(len(self.at), np.bool_)
        first[1:] = (np.diff(self.at) > 1) | (np.diff(sentence) > 0)
        return np.append(np.flatnonzero(first), len(self.at)).astype(np.int64)

    @property
    def places(self) -> int:
        """How many places anybody marks: runs of tokens, or tokens where the scheme knows no ``O``."""
        return len(self.at) if self.scheme.outside < 0 else len(self.stretches) - 1

    @cached_property
    def voices(self) -> I64:
        """int64[A]: how many annotators labelled each marked token."""
        return np.bincount(self.labels.token, minlength=len(self.at))

    @cached_property
    def border(self) -> Bool:
        """bool[E]: which labels are an ``O`` of one who marks something in the same stretch."""
        labels, n = self.labels, len(self.stretches)
        stretch = np.searchsorted(self.stretches, labels.token, side="right")
        key = labels.annotator.astype(np.int64) * n + stretch
        outside = labels.tag == self.scheme.outside
        return np.asarray(outside & np.isin(key, key[~outside]))

    @cached_property
    def claims(self) -> F64:
        """float64[W, K]: on how many tokens each annotator claims each type."""
        kind = self.scheme.type_of[self.labels.tag]
        out = np.zeros((self.crowd.n_annotators, len(self.scheme.types)))
        np.add.at(out, (self.labels.annotator[kind >= 0], kind[kind >= 0]), 1)
        return out

    @cached_property
    def totals(self) -> Totals:
        """What is added up over the parts of a crowd."""
        n, who = self.crowd.n_annotators, self.labels.annotator
        shared = who[self.voices[self.labels.token] > 1]
        return Totals(
            np.array([self.places]), self.claims, np.bincount(who, minlength=n),
            np.bincount(shared, minlength=n),
        )  # fmt: skip

    def evidence(self, table: F64) -> F64:
        """float64[A, L]: Σ over the annotators of table[annotator, previous, tag, ·]."""
        out = np.zeros((len(self.at), len(self.scheme.labels)))
        flat = table.reshape(-1, *table.shape[2:])
        call("add_marked_evidence", self.labels, flat, table.shape[1], out)
        return out

    def own_evidence(self, table: F64) -> F64:
        """float64[E, L]: what each label contributes to :meth:`evidence`."""
        _, annotator, previous, tag = self.labels
        own: F64 = table[annotator, previous if table.shape[1] > 1 else 0, tag]
        return own

    def counts(self, posterior: F64) -> F64:
        """float64[W, L, L]: expected counts of (true label, label given), quiet tokens included."""
        n = len(self.scheme.labels)
        out = np.zeros((self.crowd.n_annotators, n, n))
        call("add_marked_counts", self.labels, posterior, out)
        outside = self.scheme.outside
        if outside >= 0:
            out[:, outside, outside] += self.quiet
        return out
