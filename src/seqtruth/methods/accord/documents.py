"""Consistency within a document: what a word is once, it tends to be again in the same text.

For a token i, f[i, l] is the mean of log P(type of l) over the other tokens of its document with the
same word, shifted so that the best type has 0; nothing where the word stands alone. Types and not
tags, because a name that is the whole of one span may be the end of another. Words of every kind of
text ("the") say nothing about a document and are passed over.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.data.corpus import Corpus
from seqtruth.data.scheme import Scheme
from seqtruth.kernels.arrays import F32, F64, I64

#: Words found in a larger share of the documents are passed over.
COMMON = 0.2
#: Fewer documents than this cannot tell which words are common.
FEWEST = 5
#: Probabilities are kept above this.
LEAST = 1e-4


class Documents:
    """The repeated words of a corpus.

    Parameters
    ----------
    corpus : with text, or else nothing repeats.
    scheme : whose types are shared between repetitions.
    common : words that are passed over (default: found in the corpus itself).
    """

    def __init__(self, corpus: Corpus, scheme: Scheme, common: pa.Array | None = None) -> None:
        self.columns = scheme.type_of.astype(np.int64) + (1 if scheme.outside >= 0 else 0)
        #: Words that are passed over; a corpus that is too small to tell has None, and nothing repeats.
        self.common: pa.Array | None = common
        self.group = self.others = np.zeros(corpus.n_tokens, np.int64)
        n_documents = len(np.unique(corpus.sentence_document))  # a part of a corpus lists them all
        if corpus.tokens is None or not corpus.n_tokens:
            return
        if common is None and n_documents < FEWEST:
            return
        words = corpus.tokens.dictionary_encode()
        if isinstance(words, pa.ChunkedArray):
            words = words.combine_chunks()
        word, n_words = np.asarray(words.indices, np.int64), len(words.dictionary)
        document = np.repeat(corpus.sentence_document, np.diff(corpus.token_offsets))
        pairs, group = np.unique(document.astype(np.int64) * n_words + word, return_inverse=True)
        if common is None:
            spread = np.bincount(pairs % n_words, minlength=n_words)
            passed_over = spread > COMMON * n_documents
            self.common = words.dictionary.filter(pa.array(passed_over))
        else:
            passed_over = np.asarray(pc.is_in(words.dictionary, common))
        self.group = np.asarray(group, np.int64).reshape(-1)
        others = np.bincount(self.group)[self.group] - 1
        self.others = np.where(passed_over[word], 0, others)

    @property
    def repeat(self) -> bool:
        """Whether any word that may say something occurs twice in a document."""
        return bool((self.others > 0).any())

    def evidence(self, posterior: F32, tokens: I64 | None = None) -> F64:
        """float64[T, L]: f, from the tags' present probabilities.

        Parameters
        ----------
        posterior : float32[T, L].
        tokens : those that it is of, where they are not all: those of whole documents.
        """
        group, others = self.group, self.others
        if tokens is not None:
            group = np.unique(group[tokens], return_inverse=True)[1].reshape(-1)
            others = others[tokens]
        n_types = int(self.columns.max(initial=0)) + 1
        types = np.zeros((len(posterior), n_types))
        for label, column in enumerate(self.columns):
            types[:, column] += posterior[:, label]
        logs = np.log(np.maximum(types, LEAST))
        sums = np.stack([np.bincount(group, logs[:, k]) for k in range(n_types)], axis=1)
        mean = (sums[group] - logs) / np.maximum(others, 1)[:, None]
        mean -= mean.max(axis=1, keepdims=True)
        mean[others == 0] = 0.0
        return np.asarray(mean[:, self.columns])
