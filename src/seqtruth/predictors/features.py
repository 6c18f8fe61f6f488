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
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from seqtruth.compiled import F64, I32, I64
from seqtruth.corpus import Corpus
from seqtruth.predictors.clusters import clusters
from seqtruth.predictors.row_sums import RowSums

BEFORE, AFTER = "\x02", "\x03"  # stand for what lies outside the sentence
#: Words whose features are remembered: the folds of a corpus ask for the same ones again and again.
MEMORY = 200_000
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


@lru_cache(MEMORY)
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


@lru_cache(MEMORY)
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


@dataclass
class Encoder:
    """Turns a corpus into channels; remembers the features it has numbered.

    Parameters
    ----------
    min_pair_count : combinations of words or shapes that occur less often than this in the
        training text are left out.
    vocabularies : feature text -> number, one table per channel. Encoding with ``grow`` adds to
        them; otherwise features not in them are passed over.
    """

    min_pair_count: int = 2
    vocabularies: list[dict[str, int]] = field(default_factory=list)

    def encode(self, corpus: Corpus, *, grow: bool) -> list[Channel]:
        """Channels of a corpus with text."""
        assert corpus.tokens is not None
        coded = corpus.tokens.dictionary_encode()
        words: list[str] = [*coded.dictionary.to_pylist(), BEFORE, AFTER]
        codes = np.asarray(coded.indices).astype(np.int32)
        offsets = corpus.token_offsets
        at = {shift: _shifted(codes, offsets, shift, len(words)) for shift in (-2, -1, 0, 1, 2)}
        lower = {shift: _recode(at[shift], [w.lower() for w in words]) for shift in (-1, 0, 1)}
        shapes = {
            shift: _recode(at[shift], [short_shape(w) for w in words]) for shift in (-1, 0, 1)
        }
        views: list[tuple[I32, list[str], Callable[[str], tuple[str, ...]]]] = [
            (at[0], words, full_features),
            (at[-1], words, near_features),
            (at[1], words, near_features),
            (at[-2], words, far_features),
            (at[2], words, far_features),
            (*_joined(lower[-1], lower[0]), _as_is),
            (*_joined(lower[0], lower[1]), _as_is),
            (*_joined(shapes[-1], shapes[0], shapes[1]), _as_is),
            (*_joined(_sentence_look(corpus, codes, words), shapes[0]), _as_is),
        ]
        while grow and len(self.vocabularies) < len(views):
            self.vocabularies.append({})
        return [
            self._channel(atom, names, features, vocabulary, grow)
            for (atom, names, features), vocabulary in zip(views, self.vocabularies, strict=True)
        ]

    def _channel(
        self,
        atom: I32,
        names: list[str],
        features: Callable[[str], tuple[str, ...]],
        vocabulary: dict[str, int],
        grow: bool,
    ) -> Channel:
        found = [features(name) for name in names]
        start = np.cumsum([0, *map(len, found)])
        if grow:
            least = self.min_pair_count if features is _as_is else 1
            _learn(found, np.bincount(atom, minlength=len(names)), least, vocabulary)
        numbers = np.array(
            [vocabulary.get(text, -1) for texts in found for text in texts], np.int32
        )
        known = np.concatenate([[0], np.cumsum(numbers >= 0)])
        return Channel(atom, known[start], numbers[numbers >= 0])


def _learn(
    found: list[tuple[str, ...]], counts: I64, least: int, vocabulary: dict[str, int]
) -> None:
    """Number the features of atoms that occur often enough; numbers already given stay."""
    for texts, count in zip(found, counts.tolist(), strict=True):
        if count >= least:
            for text in texts:
                vocabulary.setdefault(text, len(vocabulary))


def _as_is(name: str) -> tuple[str, ...]:
    return (name,)


def _shifted(codes: I32, offsets: I64, shift: int, n_words: int) -> I32:
    """Code of the word ``shift`` places away; the two last codes stand for before and after."""
    if shift == 0 or not len(codes):
        return codes
    place = np.arange(len(codes)) + shift
    sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    before, after = place < offsets[sentence], place >= offsets[sentence + 1]
    moved = codes[np.clip(place, 0, len(codes) - 1)]
    return np.where(before, n_words - 2, np.where(after, n_words - 1, moved)).astype(np.int32)


def _recode(codes: I32, names: list[str]) -> tuple[I32, list[str]]:
    """Numbers for coarser names of the same words."""
    numbers: dict[str, int] = {}
    table = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)
    return table[codes], list(numbers)


def _joined(*columns: tuple[I32, list[str]]) -> tuple[I32, list[str]]:
    """One atom per combination that occurs."""
    key = np.zeros(len(columns[0][0]), np.int64)
    for codes, names in columns:
        key = key * len(names) + codes
    unique, atom = np.unique(key, return_inverse=True)
    texts = [""] * len(unique)
    for _, names in reversed(columns):
        unique, part = np.divmod(unique, len(names))
        texts = [names[p] + "\x1f" + text for p, text in zip(part, texts, strict=True)]
    return atom.astype(np.int32), texts


def _sentence_look(corpus: Corpus, codes: I32, words: list[str]) -> tuple[I32, list[str]]:
    """Position (first, other) × look of the sentence (headline in capitals, short table row, text)."""
    offsets = corpus.token_offsets
    lengths = np.diff(offsets)
    letters = np.array([any(ch.isalpha() for ch in w) for w in words])[codes]
    small = np.array([any(ch.islower() for ch in w) for w in words])[codes]
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    n_letters = np.bincount(sentence, letters, len(lengths))
    n_small = np.bincount(sentence, letters & small, len(lengths))
    look = np.where(n_small == 0, 0, np.where(n_small < 0.5 * n_letters, 1, 2))
    first = np.zeros(len(codes), np.int64)
    first[offsets[:-1][lengths > 0]] = 1
    names = [f"{where}{kind}" for where in ("mid", "first") for kind in ("CAPS", "Mixed", "text")]
    return (first * 3 + look[sentence]).astype(np.int32), names
