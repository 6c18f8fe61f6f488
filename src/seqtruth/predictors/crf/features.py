"""Hand-made features of tokens, computed per distinct word and not per token.

A token is seen through several *channels*: the word itself and its neighbours at -2 … +2, pairs of
neighbouring words, the shapes around it, the look of the sentence. In each channel a token has one
*atom* (a number), and an atom has a short list of features. Scores and gradients are then sums over
atoms, of which there are far fewer than tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from threading import Lock
from typing import NamedTuple

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.kernels.arrays import F64, I32, I64, Bool
from seqtruth.predictors.crf.clusters import clusters
from seqtruth.predictors.crf.row_sums import RowSums

BEFORE, AFTER = "\x02", "\x03"  # stand for what lies outside the sentence
#: Words whose features are remembered: the folds of a corpus ask for the same ones again and again.
MEMORY = 200_000
#: In texts of more tokens than this a neighbour's feature that is seen once is not worth its memory: a third
#: of all features there.
MANY = 200_000
_RUNS = re.compile(r"(.)\1+")


def shape(word: str) -> str:
    """``McDonald's-2`` -> ``XxXxxxxx'x-0``."""
    out = []
    for ch in word:
        if ch.isupper():
            out.append("X")
        elif ch.islower() or ch.isalpha():
            out.append("x")
        elif ch.isdigit():
            out.append("0")
        else:
            out.append(ch)
    return "".join(out)


@lru_cache(MEMORY)
def short_shape(word: str) -> str:
    """The shape with runs made one: ``Xx'x-0``."""
    return _RUNS.sub(r"\1", shape(word))[:8]


def full_features(word: str) -> tuple[str, ...]:
    """Everything we say about the token itself."""
    lower = word.lower()
    found = ["", "w=" + word, "l=" + lower, "s=" + shape(word)[:10], "c=" + short_shape(word)]
    found += [f"p{n}={lower[:n]}" for n in range(1, 5) if len(lower) >= n]
    found += [f"e{n}={lower[-n:]}" for n in range(1, 5) if len(lower) >= n]
    if "-" in word[1:-1]:
        found += ["hyphen"] + ["h=" + part.lower() for part in word.split("-")]
    if any(ch.isdigit() for ch in word):
        found.append(f"digits{min(len(word), 6)}")
    if word.isupper() and len(word) > 1:
        found.append(f"caps{min(len(word), 5)}")
    kinds = clusters(word)
    found += [*kinds, *(f"{kind}|{short_shape(word)}" for kind in kinds)]
    return tuple(found)


def near_features(word: str) -> tuple[str, ...]:
    """What we say about a direct neighbour."""
    lower = word.lower()
    found = ("l=" + lower, "c=" + short_shape(word), "e3=" + lower[-3:], "p1=" + lower[:1])
    return found + clusters(word)


def far_features(word: str) -> tuple[str, ...]:
    """What we say about the words two places away."""
    return "l=" + word.lower(), "c=" + short_shape(word), *clusters(word)[1:]


class Channel(NamedTuple):
    """One view of the tokens: ``atom[T]``, and atom a's features ``feature[start[a]:start[a+1]]``."""

    atom: I32
    start: I64
    feature: I32


class Views(NamedTuple):
    """All channels side by side, in one space of atoms and one of features, as sums of rows.

    features : each atom's score from those of its features; ``of_feature`` the way back.
    atoms : each token's score from those of its atoms; ``of_atom`` the way back.
    """

    features: RowSums
    of_feature: RowSums
    atoms: RowSums
    of_atom: RowSums

    @staticmethod
    def of(channels: list[Channel], sizes: list[int]) -> Views:
        """Lay channels side by side; ``sizes`` is how many features each has.

        Atoms without features, such as pairs of words seen once, are left out.
        """
        bounds = np.cumsum([0, *(len(channel.start) - 1 for channel in channels)])
        shift = np.cumsum([0, *sizes])
        ends = np.cumsum([0, *(len(channel.feature) for channel in channels)])
        stops = np.concatenate([c.start[1:] + a for c, a in zip(channels, ends, strict=False)])
        feature = np.concatenate([c.feature + a for c, a in zip(channels, shift, strict=False)])
        atom = np.stack([c.atom + a for c, a in zip(channels, bounds, strict=False)], axis=1)
        heard = np.diff(stops, prepend=0) > 0
        number, used = np.cumsum(heard) - 1, heard[atom]
        features = RowSums(np.append(0, stops[heard]), feature.astype(np.int32))
        atoms = RowSums(
            np.append(0, np.cumsum(used.sum(axis=1))), number[atom[used]].astype(np.int32)
        )
        return Views(
            features, features.turned(int(shift[-1])), atoms, atoms.turned(int(heard.sum()))
        )

    def scores(self, theta: F64, table: F64 | None = None, out: F64 | None = None) -> F64:
        """float64[T, L]: sum of the weights ``theta[F, L]`` of each token's features.

        ``table`` (one row per atom) and ``out`` are places to use again.
        """
        return self.atoms.of(self.features.of(theta, table), out)

    def gradient(self, residual: F64, out: F64, table: F64 | None = None) -> None:
        """Residuals [T, L] summed per feature into ``out[F, L]``."""
        self.of_feature.of(self.of_atom.of(residual, table), out)


#: Views of a token that :class:`Encoder` makes.
CHANNELS = 9


@dataclass
class Encoder:
    """Turns a corpus into channels; remembers the features it has numbered.

    Parameters
    ----------
    min_count : combinations of words or shapes that occur less often than this in the training text
        are left out; where there are more than :data:`MANY` tokens, features of neighbours, too.
    vocabularies : feature text -> number, one table per channel. Encoding with ``grow`` adds to
        them; otherwise features not in them are passed over.
    """

    min_count: int = 2
    vocabularies: list[dict[str, int]] = field(default_factory=list)

    def encode(self, corpus: Corpus, *, grow: bool) -> list[Channel]:
        """Channels of a corpus with text."""
        assert corpus.tokens is not None
        coded = corpus.tokens.dictionary_encode()
        words: list[str] = [*coded.dictionary.to_pylist(), BEFORE, AFTER]
        codes = np.asarray(coded.indices).astype(np.int32)
        offsets = corpus.token_offsets
        at = {shift: _shifted(codes, offsets, shift, len(words)) for shift in (-2, -1, 0, 1, 2)}
        small, small_names = _coarser([word.lower() for word in words])
        form, form_names = _coarser([short_shape(word) for word in words])
        lower = {shift: (small[at[shift]], small_names) for shift in (-1, 0, 1)}
        shapes = {shift: (form[at[shift]], form_names) for shift in (-1, 0, 1)}
        views: list[tuple[I32, _Kind | _Combinations]] = [
            (at[0], _Kind(words, full_features)),
            (at[-1], _Kind(words, near_features)),
            (at[1], _Kind(words, near_features)),
            (at[-2], _Kind(words, far_features)),
            (at[2], _Kind(words, far_features)),
            _joined(lower[-1], lower[0]),
            _joined(lower[0], lower[1]),
            _joined(shapes[-1], shapes[0], shapes[1]),
            _joined(_sentence_look(corpus, codes, words), shapes[0]),
        ]
        neighbours = self.min_count if corpus.n_tokens > MANY else 1
        least = [1, *4 * [neighbours], *4 * [self.min_count]]
        assert len(views) == len(least) == CHANNELS
        while grow and len(self.vocabularies) < len(views):
            self.vocabularies.append({})
        return [
            _channel(*view, vocabulary, count if grow else None)
            for view, count, vocabulary in zip(views, least, self.vocabularies, strict=True)
        ]


def _channel(
    atom: I32, names: _Kind | _Combinations, vocabulary: dict[str, int], least: int | None
) -> Channel:
    """Features that occur at least so often are added to the vocabulary; None: nothing is."""
    counts = np.bincount(atom, minlength=len(names))
    # nothing is known of the others where all is new
    start, code, texts = names.coded(None if least is None or vocabulary else counts >= least)
    number = np.full(len(texts), -1, np.int32)
    seen = np.bincount(code, np.repeat(counts, np.diff(start)), len(texts))
    present = np.flatnonzero(seen).tolist()
    if vocabulary:
        number[present] = [vocabulary.get(texts[n], -1) for n in present]
    if least is not None:
        learnt = code[seen[code] >= least]
        new = _in_order(learnt[number[learnt] < 0], len(texts))
        number[new] = np.arange(len(vocabulary), len(vocabulary) + len(new))
        vocabulary.update(zip([texts[n] for n in new], number[new].tolist(), strict=True))
    numbers = number[code]
    known = np.concatenate([[0], np.cumsum(numbers >= 0)])
    return Channel(atom, known[start], numbers[numbers >= 0])


class _Coded(NamedTuple):
    """Features of atoms in numbers: atom a has ``texts[code[start[a]]]`` and so on."""

    start: I64
    code: I64
    texts: list[str]


@dataclass(frozen=True)
class _Kind:
    """Words whose features are what a function says of each."""

    words: list[str]
    features: Callable[[str], tuple[str, ...]]

    def coded(self, chosen: Bool | None) -> _Coded:
        """All words' features, whatever is ``chosen``: they are remembered."""
        return _memory(self.features).coded(self.words)

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class _Combinations:
    """Combinations of names that occur, each one feature: the names one after the other."""

    keys: I64
    columns: tuple[list[str], ...]

    def coded(self, chosen: Bool | None) -> _Coded:
        """One feature per combination, or per chosen one only."""
        has = np.ones(len(self.keys), np.bool_) if chosen is None else chosen
        rest = self.keys[has]
        texts = [""] * len(rest)
        for names in reversed(self.columns):
            rest, part = np.divmod(rest, len(names))
            texts = [f"{names[p]}\x1f{text}" for p, text in zip(part.tolist(), texts, strict=True)]
        return _Coded(np.append(0, np.cumsum(has)), np.arange(len(texts)), texts)

    def __len__(self) -> int:
        return len(self.keys)


class _Memory:
    """Features of words in numbers, for as long as there is room: folds ask for the same words."""

    def __init__(self, features: Callable[[str], tuple[str, ...]]) -> None:
        self.features, self.lock = features, Lock()
        self._forget()

    def _forget(self) -> None:
        self.row: dict[str, I64] = {}
        self.number: dict[str, int] = {}
        self.texts: list[str] = []

    def coded(self, words: list[str]) -> _Coded:
        with self.lock:
            if len(self.row) > MEMORY:
                self._forget()
            rows = [self.row[word] if word in self.row else self._add(word) for word in words]
            start = np.append(0, np.cumsum([len(row) for row in rows]))
            return _Coded(start, np.concatenate(rows), self.texts)

    def _add(self, word: str) -> I64:
        found = self.features(word)
        for text in found:
            if text not in self.number:
                self.number[text] = len(self.texts)
                self.texts.append(text)
        self.row[word] = row = np.array([self.number[text] for text in found], np.int64)
        return row


_memory = cache(_Memory)


def _in_order(codes: I64, n_codes: int) -> I64:
    """Each code once, in the order of first appearance."""
    first = np.full(n_codes, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    found = np.flatnonzero(first < len(codes))
    return found[np.argsort(first[found])]


def _shifted(codes: I32, offsets: I64, shift: int, n_words: int) -> I32:
    """Code of the word ``shift`` places away; the two last codes stand for before and after."""
    if shift == 0 or not len(codes):
        return codes
    place = np.arange(len(codes)) + shift
    sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    before, after = place < offsets[sentence], place >= offsets[sentence + 1]
    moved = codes[np.clip(place, 0, len(codes) - 1)]
    return np.where(before, n_words - 2, np.where(after, n_words - 1, moved)).astype(np.int32)


def _coarser(names: list[str]) -> tuple[I32, list[str]]:
    """Number of each name, and the names once each."""
    numbers: dict[str, int] = {}
    table = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)
    return table, list(numbers)


def _joined(*columns: tuple[I32, list[str]]) -> tuple[I32, _Combinations]:
    """One atom per combination that occurs."""
    key = np.zeros(len(columns[0][0]), np.int64)
    for codes, names in columns:
        key = key * len(names) + codes
    unique, atom = np.unique(key, return_inverse=True)
    return atom.astype(np.int32), _Combinations(unique, tuple(names for _, names in columns))


@lru_cache(MEMORY)
def _letters(word: str) -> tuple[bool, bool]:
    """Has it letters, and small ones?"""
    return any(ch.isalpha() for ch in word), any(ch.islower() for ch in word)


def _sentence_look(corpus: Corpus, codes: I32, words: list[str]) -> tuple[I32, list[str]]:
    """Position (first, other) × look of the sentence (headline in capitals, short table row, text)."""
    offsets = corpus.token_offsets
    lengths = np.diff(offsets)
    letters, small = np.array([_letters(word) for word in words]).T[:, codes]
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    n_letters = np.bincount(sentence, letters, len(lengths))
    n_small = np.bincount(sentence, letters & small, len(lengths))
    look = np.where(n_small == 0, 0, np.where(n_small < 0.5 * n_letters, 1, 2))
    first = np.zeros(len(codes), np.int64)
    first[offsets[:-1][lengths > 0]] = 1
    names = [f"{where}{kind}" for where in ("mid", "first") for kind in ("CAPS", "Mixed", "text")]
    return (first * 3 + look[sentence]).astype(np.int32), names
