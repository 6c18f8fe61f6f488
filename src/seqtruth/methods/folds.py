"""Folds of whole documents, dealt out by name, so that neither places nor parts matter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.engine import Parts, Sums
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import I64, U64, Bool
from seqtruth.kernels.random import sentence_keys

#: So many documents (or sentences) are dealt out one by one, for folds of equal size; where there are
#: more, each goes by its own key, and nothing needs to be gathered.
DEALT = 1 << 17


#: A model is trained for every fold in every round: more of them only take longer.
MOST_FOLDS = 100


def check_folds(folds: int) -> None:
    """Raise for a number of folds that nobody can want."""
    if not 2 <= folds <= MOST_FOLDS:
        raise ParameterError(f"folds must be from 2 to {MOST_FOLDS}", got=str(folds))


@dataclass(frozen=True, eq=False)
class Folds:
    """Which fold a sentence is in: that of its document, or its own where documents are too few.

    Parameters
    ----------
    count : number of folds.
    seed : shuffles them.
    by_document : deal out documents, not sentences.
    keys : uint64, sorted keys of what is dealt out; None where there is more than :data:`DEALT`.
    """

    count: int
    seed: int
    by_document: bool
    keys: U64 | None

    @classmethod
    def deal(cls, parts: Parts, count: int, seed: int) -> Folds:
        """The folds of a crowd."""
        found = parts.gather(partial(_keys_of_part, seed=seed, by_document=True))
        keys = _joined(found)
        if len(keys) >= 2 * count:
            return cls(count, seed, True, keys if len(keys) <= DEALT else None)
        if parts.facts.n_sentences > DEALT:
            return cls(count, seed, False, None)
        found = parts.gather(partial(_keys_of_part, seed=seed, by_document=False))
        return cls(count, seed, False, _joined(found))

    def of(self, corpus: Corpus) -> I64:
        """int64[S]: the fold of every sentence."""
        return self._dealt(self._keys_of(corpus))

    def unseen(self, corpus: Corpus) -> Bool:
        """bool[S]: sentences of which nothing was dealt out, so that no model has seen anything of them."""
        if self.keys is None or not len(self.keys):
            return np.zeros(corpus.n_sentences, np.bool_)
        keys = self._keys_of(corpus)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.asarray(self.keys[place] != keys)

    def _keys_of(self, corpus: Corpus) -> U64:
        """uint64[S]: what each sentence is dealt out by."""
        if self.by_document:
            names = pa.array(corpus.documents, pa.large_string())
            return sentence_keys(names, self.seed)[corpus.sentence_document]
        return sentence_keys(corpus.sentence_ids, self.seed)

    def _dealt(self, keys: U64) -> I64:
        if self.keys is None:
            return ((keys >> np.uint64(32)) % np.uint64(self.count)).astype(np.int64)
        return np.searchsorted(self.keys, keys) % self.count

    def holds(self, number: int) -> bool:
        """Whether anything is in this fold."""
        return self.keys is None or len(self.keys) > number


def document_folds(corpus: Corpus, folds: int, seed: int) -> I64:
    """int64[S]: fold of every sentence of a corpus in memory."""
    return folds_of(corpus, folds, seed).of(corpus)


def folds_of(corpus: Corpus, folds: int, seed: int) -> Folds:
    """The folds of a corpus in memory; sentences and documents of no fold yet fall into one by name."""
    keys = _keys(corpus, seed, by_document=True)
    by_document = len(keys) >= 2 * folds
    if not by_document:
        keys = _keys(corpus, seed, by_document=False)
    dealt = keys if len(keys) <= DEALT else None
    return Folds(folds, seed, by_document, dealt)


def _keys(corpus: Corpus, seed: int, by_document: bool) -> U64:
    """Sorted keys of the documents that hold sentences, or of the sentences."""
    if not by_document:
        return np.unique(sentence_keys(corpus.sentence_ids, seed))
    present = np.unique(corpus.sentence_document)
    names = pa.array([corpus.documents[number] for number in present], pa.large_string())
    return np.unique(sentence_keys(names, seed))


def _keys_of_part(part: Crowd, seed: int, by_document: bool) -> Sums:
    # one more than can be dealt says that there are too many
    return {"keys": _keys(part.corpus, seed, by_document)[: DEALT + 1]}


def _joined(found: list[Sums]) -> U64:
    empty = np.zeros(0, np.uint64)
    keys: U64 = np.unique(np.concatenate([empty, *(part["keys"] for part in found)]))
    return keys
