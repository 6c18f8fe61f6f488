"""One tag per token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.ragged import Selection, gather, places
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import convert
from seqtruth.errors import DataError
from seqtruth.kernels.arrays import Bool, Tags

if TYPE_CHECKING:
    from seqtruth.data.crowd import Crowd


@dataclass(frozen=True, eq=False)
class Labelling:
    """One tag per token from one source: a gold standard, a result, one annotator.

    Parameters
    ----------
    corpus : the sentences.
    scheme : labels and their rules.
    tags : tag[T]; -1 where there is no label.
    """

    corpus: Corpus
    scheme: Scheme
    tags: Tags

    def __post_init__(self) -> None:
        given = np.asarray(self.tags)
        if len(given) != self.corpus.n_tokens:
            raise DataError(f"{self.corpus.n_tokens} tokens need as many tags", got=str(len(given)))
        object.__setattr__(self, "tags", np.ascontiguousarray(given, self.scheme.tag_dtype))

    @property
    def labelled(self) -> Bool:
        """bool[S]: has the sentence any label? (One without tokens lacks nothing.)"""
        offsets = self.corpus.token_offsets
        total = np.concatenate([[0], np.cumsum(self.tags >= 0)])
        return np.asarray((np.diff(total[offsets]) > 0) | (np.diff(offsets) == 0))

    def take(self, selection: Selection) -> Labelling:
        """The labelling of the chosen sentences (mask, numbers or slice), in that order.

        >>> from seqtruth.data.crowd import Crowd
        >>> both = Crowd.of({"a": [["O"], ["B-PER"]]}, tokens=[["x"], ["y"]]).labelling()
        >>> both.take([1]).tags.tolist()
        [0]
        """
        n = self.corpus.n_sentences
        chosen = places(selection, n)
        if np.array_equal(chosen, np.arange(n)):
            return self
        _, flat = gather(self.corpus.token_offsets, chosen)
        return Labelling(self.corpus.take(chosen), self.scheme, self.tags[flat])

    def recode(self, scheme: Scheme) -> Labelling:
        """The same with its tags numbered by ``scheme``, which must know all of them."""
        if scheme == self.scheme:
            return self
        table = scheme.recoding(self.scheme.labels)
        return Labelling(self.corpus, scheme, table[self.tags])

    def respell(self, kind: str) -> Labelling:
        """The same spans in another scheme (``"iob2"``, ``"bioes"`` …)."""
        target = self.scheme.respelled(kind)
        tags = convert(self.tags, self.corpus.token_offsets, self.scheme, target)
        return Labelling(self.corpus, target, tags)

    def as_crowd(self, name: str = "truth") -> Crowd:
        """The same as a crowd of one annotator, who has a row wherever any tag is set."""
        from seqtruth.data.crowd import Crowd  # a crowd hands out labellings, too

        rows = np.flatnonzero(self.labelled)
        _, flat = gather(self.corpus.token_offsets, rows)
        return Crowd(
            self.corpus,
            self.scheme,
            (name,),
            rows.astype(np.int32),
            np.zeros(len(rows), np.int32),
            self.tags[flat],
        )
