"""Sources that abstain: what to do where nobody has an opinion.

With ``abstain="O"`` an ``O`` is no vote. Where all who saw a token abstain, the abstaining label
stands; a method that learns how often labels occur must not learn it there, or the mass of silence
would outvote every opinion. So methods work on the stretches where somebody speaks, each a sequence
of its own, and the labels are put back between the silences. Methods with a predictor need whole
sentences; for them silence is a known label.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.kernels.arrays import F32, I64, Bool, Tags

Column = TypeVar("Column", Tags, F32)


def spoken_and_seen(crowd: Crowd, label: str) -> tuple[Bool, Bool]:
    """bool[T] twice: does anybody give another label than ``label``, and did anybody see the token?"""
    _, token = gather(crowd.corpus.token_offsets, crowd.row_sentence.astype(np.int64))
    number = crowd.scheme.index(label)
    spoken, seen = np.zeros(crowd.n_tokens, np.bool_), np.zeros(crowd.n_tokens, np.bool_)
    seen[token[crowd.tags >= 0]] = True
    spoken[token[(crowd.tags >= 0) & (crowd.tags != number)]] = True
    return spoken, seen


class Stretches(NamedTuple):
    """The crowd on the stretches where somebody speaks, and the tokens they are made of."""

    crowd: Crowd
    token: I64

    def back(self, values: Column, rest: Column) -> Column:
        """Values of the stretches laid over ``rest``, which covers all tokens."""
        out = rest.copy()
        out[self.token] = values
        return out


def stretches(crowd: Crowd, spoken: Bool) -> Stretches:
    """Cut sentences at silent tokens; annotators keep their rows on every stretch of a sentence."""
    corpus = crowd.corpus
    sentence = np.repeat(np.arange(crowd.n_sentences), np.diff(corpus.token_offsets))
    token = np.flatnonzero(spoken)
    breaks = np.ones(len(token), np.bool_)
    breaks[1:] = (np.diff(token) > 1) | (np.diff(sentence[token]) > 0)
    first = np.flatnonzero(breaks)
    offsets = np.append(first, len(token)).astype(np.int64)
    home = sentence[token[first]]
    ids = corpus.sentence_ids.take(home).to_pylist()
    parts = Corpus(
        offsets,
        pa.array([f"{name}\x1f{token[at]}" for name, at in zip(ids, first, strict=True)]),
        None if corpus.tokens is None else corpus.tokens.take(token),
        corpus.documents,
        corpus.sentence_document[home],
    )
    of_sentence = np.searchsorted(home, np.arange(crowd.n_sentences + 1)).astype(np.int64)
    counts, part = gather(of_sentence, crowd.row_sentence.astype(np.int64))
    row = np.repeat(np.arange(crowd.n_rows), np.diff(counts))
    begin = crowd.row_offsets[row] + token[first[part]] - corpus.token_offsets[home[part]]
    lengths = np.diff(offsets)[part]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.repeat(begin - ends[:-1], lengths) + np.arange(ends[-1])
    made = Crowd.build(
        parts, crowd.scheme.labels, crowd.annotators, part, crowd.row_annotator[row], crowd.tags[flat],
        crowd.scheme.kind,
    )  # fmt: skip
    return Stretches(made.recode(crowd.scheme), token)
