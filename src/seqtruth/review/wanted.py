"""What a reviewer wants to see: filters, and the sentences that fit them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.kernels.arrays import Bool
from seqtruth.result import Result


@dataclass(frozen=True)
class Wanted:
    """Which cases a reviewer wants to see; what is None does not matter.

    Parameters
    ----------
    type : cases with this type on either side.
    annotator : sentences this annotator labelled.
    document : its name.
    search : sentences with this text, whatever the case of its letters.
    above, below : probability that the labels are right, from 0 to 1.
    kind : ``sentence``, ``form``, ``pair``.
    """

    type: str | None = None
    annotator: str | None = None
    document: str | None = None
    search: str | None = None
    above: float | None = None
    below: float | None = None
    kind: str | None = None

    @property
    def some_sentences(self) -> bool:
        """Whether sentences are chosen by where they are, who labelled them, or their text."""
        return self.document is not None or self.annotator is not None or bool(self.search)


@dataclass(frozen=True, eq=False)
class Finder:
    """Finds the sentences that are wanted.

    Parameters
    ----------
    corpus, crowd : the sentences, and who labelled them, where that is known.
    """

    corpus: Corpus
    crowd: Crowd | None

    def sentences(self, wanted: Wanted) -> Bool:
        """bool[S]: sentences of the document, labelled by the annotator, with the text."""
        mask = np.ones(self.corpus.n_sentences, np.bool_)
        if wanted.document is not None:
            names = self.corpus.documents
            number = names.index(wanted.document) if wanted.document in names else -1
            mask &= self.corpus.sentence_document == number
        if wanted.annotator is not None:
            mask &= self._labelled_by(wanted.annotator)
        if wanted.search:
            hit = pc.match_substring(self._texts, wanted.search, ignore_case=True)
            mask &= np.asarray(hit)
        return mask

    def with_type(self, result: Result, type: str) -> Bool:
        """bool[S]: sentences whose labels have this type somewhere."""
        types = result.scheme.types
        number = types.index(type) if type in types else -2
        tokens = np.flatnonzero(result.scheme.type_of[result.tags] == number)
        found = np.zeros(self.corpus.n_sentences, np.bool_)
        found[np.searchsorted(self.corpus.token_offsets, tokens, side="right") - 1] = True
        return found

    def _labelled_by(self, annotator: str) -> Bool:
        found = np.zeros(self.corpus.n_sentences, np.bool_)
        if self.crowd is not None and annotator in self.crowd.annotators:
            rows = self.crowd.row_annotator == self.crowd.annotators.index(annotator)
            found[self.crowd.row_sentence[rows]] = True
        return found

    @cached_property
    def _texts(self) -> pa.Array:
        texts = ("".join(self.corpus.glued(s)) for s in range(self.corpus.n_sentences))
        return pa.array(texts, pa.large_string())
