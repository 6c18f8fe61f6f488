"""Words as numbers for neural taggers: vectors, case and characters, once per distinct word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.kernels.arrays import F32, F64, I16, I64
from seqtruth.predictors.torch import vectors as vectors_

#: How a word is written.
CASES = ("lower", "Title", "UPPER", "X", "miXed", "digits", "digits+", "other")
#: Printable ASCII has a number each; other characters share one by kind. 0 is padding.
_FIRST, _LAST = 32, 126
_KINDS = ("upper", "lower", "letter", "digit", "other")
N_CHARACTERS = 1 + (_LAST - _FIRST + 1) + len(_KINDS)
#: Characters kept of a long word: its beginning and its end.
_HEAD, _TAIL = 12, 12
#: Words that are remembered: the folds of a corpus ask for the same ones again and again.
MEMORY = 200_000
#: An epoch has at least so many steps, so that few sentences are learnt from as well as many.
LEAST_STEPS = 40


class WordCorpus(NamedTuple):
    """A corpus of D distinct words, for a network.

    offsets : int64[S+1].
    word : int64[T], number of each token's word, below D.
    row : int64[D], row of each word in the trained table; 0 for words never trained on.
    fixed : float32[D, 50], vectors that are not trained.
    case : int64[D].
    characters : int16[D, C], padded with 0 at the end.
    """

    offsets: I64
    word: I64
    row: I64
    fixed: F32
    case: I64
    characters: I16


@dataclass
class Lexicon:
    """Numbers the words it is trained on; they are told apart without regard to case.

    Parameters
    ----------
    vectors : ``"glove"`` or ``"none"``: where fixed vectors come from.
    rows : word -> row of the trained table, from 1.
    """

    vectors: str
    rows: dict[str, int] = field(default_factory=dict)

    def encode(self, corpus: Corpus, *, grow: bool) -> WordCorpus:
        """Code a corpus; with ``grow``, give new words a row (in alphabetical order)."""
        assert corpus.tokens is not None
        coded = corpus.tokens.dictionary_encode()
        words: list[str] = coded.dictionary.to_pylist()
        lower = [word.lower() for word in words]
        if grow:
            for word in sorted(set(lower) - self.rows.keys()):
                self.rows[word] = len(self.rows) + 1
        fixed = np.zeros((len(words), vectors_.WIDTH), np.float32)
        if self.vectors == "glove":
            fixed, _ = vectors_.lookup(lower)
        return WordCorpus(
            corpus.token_offsets,
            np.asarray(coded.indices).astype(np.int64),
            np.array([self.rows.get(word, 0) for word in lower], np.int64),
            fixed,
            np.array([case_of(word) for word in words], np.int64),
            _characters(words),
        )


@lru_cache(MEMORY)
def case_of(word: str) -> int:
    """Number in :data:`CASES`.

    >>> [CASES[case_of(word)] for word in ("ran", "Ames", "UN", "A", "McKay", "42", "3-1", "F16", "?")]
    ['lower', 'Title', 'UPPER', 'X', 'miXed', 'digits', 'digits+', 'digits+', 'other']
    """
    if word.isdigit():
        return 5
    if any(ch.isdigit() for ch in word):
        return 6
    if word.islower():
        return 0
    if word.isupper():
        return 2 if len(word) > 1 else 3
    if word[:1].isupper() and word[1:].islower():
        return 1
    return 4 if any(ch.isalpha() for ch in word) else 7


def _characters(words: list[str]) -> I16:
    numbers = [_numbers(word) for word in words]
    out = np.zeros((len(words), max([3, *map(len, numbers)])), np.int16)
    for n, own in enumerate(numbers):
        out[n, : len(own)] = own
    return out


@lru_cache(MEMORY)
def _numbers(word: str) -> tuple[int, ...]:
    """Of a word's characters."""
    kept = word if len(word) <= _HEAD + _TAIL else word[:_HEAD] + word[-_TAIL:]
    return tuple(map(_character, kept))


@cache
def _character(ch: str) -> int:
    if _FIRST <= ord(ch) <= _LAST:
        return ord(ch) - _FIRST + 1
    if ch.isupper():
        kind = "upper"
    elif ch.islower():
        kind = "lower"
    elif ch.isalpha():
        kind = "letter"
    else:
        kind = "digit" if ch.isdigit() else "other"
    return 1 + (_LAST - _FIRST + 1) + _KINDS.index(kind)


def batches(lengths: I64, size: int, rng: np.random.Generator | None) -> list[I64]:
    """Sentences in groups of about one length.

    Sorted by length (blurred, so that groups differ from epoch to epoch), cut, and the groups
    shuffled; without ``rng`` sorted and cut. Empty sentences are left out.
    """
    places = np.flatnonzero(lengths > 0)
    key: F64 = lengths[places].astype(np.float64)
    if rng is not None:
        key = key * rng.uniform(0.9, 1.1, len(key)) + rng.uniform(0.0, 1.0, len(key))
    places = places[np.argsort(key, kind="stable")]
    groups = [places[a : a + size] for a in range(0, len(places), size)]
    if rng is not None:
        groups = [groups[n] for n in rng.permutation(len(groups))]
    return groups


class Schedule(NamedTuple):
    """Batches of an epoch: a small corpus is passed over several times, for LEAST_STEPS in all.

    lengths : int64[S], 0 for sentences not to learn from.
    size : sentences in a batch.
    """

    lengths: I64
    size: int

    @property
    def in_pass(self) -> int:
        """Batches of one pass."""
        return -(-int((self.lengths > 0).sum()) // self.size)

    @property
    def in_epoch(self) -> int:
        """Batches of one epoch."""
        return self.in_pass * -(-LEAST_STEPS // self.in_pass) if self.in_pass else 0

    def epoch(self, rng: np.random.Generator) -> Iterator[I64]:
        """All batches of an epoch."""
        for _ in range(self.in_epoch // max(self.in_pass, 1)):
            yield from batches(self.lengths, self.size, rng)
