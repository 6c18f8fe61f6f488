"""How an annotator reads: the true spans with their errors, drawn by hashing and not in sequence."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.data.spans import Spans, extract, paint
from seqtruth.kernels.arrays import F64, I64, U64, Bool, Tags
from seqtruth.kernels.random import sentence_keys
from seqtruth.simulation.cast import Annotator

#: A capitalised word that does not open the sentence tempts so many times as much as another.
TEMPTATION = 20.0
#: Chance that a spammer starts a span at a token.
SPAM_DENSITY = 0.1
#: What is drawn at a place, so that one place serves several independent draws.
_SHARED, _MISS, _EDGE, _WHICH_EDGE, _CONFUSE, _TYPE, _INVENT, _LENGTH = range(8)


@dataclass(frozen=True)
class Truth:
    """The sentences that have gold, laid side by side, and the keys of their randomness."""

    corpus: Corpus
    sentences: I64
    gold: Labelling
    seed: int
    difficulty: float

    @classmethod
    def of(cls, gold: Labelling, seed: int, difficulty: float) -> Truth:
        chosen = gold.as_crowd().row_sentence.astype(np.int64)
        _, flat = gather(gold.corpus.token_offsets, chosen)
        corpus = gold.corpus[chosen]
        part = Labelling(corpus, gold.scheme, gold.tags[flat])
        return cls(corpus, chosen, part, seed, difficulty)

    @property
    def offsets(self) -> I64:
        return self.corpus.token_offsets

    @cached_property
    def spans(self) -> Spans:
        return extract(self.gold.tags, self.offsets, self.gold.scheme)

    @cached_property
    def common(self) -> U64:
        """Keys of the draws that everybody shares."""
        return sentence_keys(self.corpus.sentence_ids, number(self.seed, ""))

    @cached_property
    def tokens(self) -> tuple[I64, I64]:
        """Sentence and place in it of every token."""
        sentence = np.repeat(np.arange(self.corpus.n_sentences), np.diff(self.offsets))
        return sentence, np.arange(self.offsets[-1]) - self.offsets[sentence]

    @cached_property
    def temptation(self) -> F64:
        """Of every token, from 0 to 1; 0 inside the gold's spans."""
        strength = np.full(self.corpus.n_tokens, 1 / TEMPTATION)
        if self.corpus.tokens is not None:
            capital = [word[:1].isupper() for word in self.corpus.tokens.to_pylist()]
            strength[np.array(capital, np.bool_) & (self.tokens[1] > 0)] = 1.0
        return np.where(_inside(self.spans, self.offsets), 0.0, strength)

    def labelled_by(self, one: Annotator) -> Tags:
        """Their own work on all sentences, whether or not they are given them."""
        keys = sentence_keys(self.corpus.sentence_ids, number(self.seed, one.name))
        if self.gold.scheme.kind == "plain":
            return self._plain(one, keys)
        if not self.gold.scheme.types:
            return np.full(self.corpus.n_tokens, self.gold.scheme.outside, self.gold.tags.dtype)
        if one.spam:
            spans = self._at_random(keys)
        else:
            found = self._misread(one, keys)
            spans = _merge(found, self._invented(one, keys, found))
        return paint(spans, self.offsets, self.gold.scheme)

    def _draws(self, keys: U64, sentence: I64, place: I64) -> U64:
        """Own key at most places, the common one where the place is hard for everybody."""
        own = keys[sentence]
        shared = uniform(own, place * 8 + _SHARED) < self.difficulty
        return np.where(shared, self.common[sentence], own)

    def _misread(self, one: Annotator, keys: U64) -> Spans:
        """The true spans as they see them: missed, cut short or long, taken for another type."""
        sentence, start, end, kind = (column.astype(np.int64) for column in self.spans)
        place = start * 8
        draws = self._draws(keys, sentence, start)
        kind = self._confused(one, draws, place, kind)
        moved = uniform(draws, place + _EDGE) < one.boundary
        left, right = self._moves(draws, place)
        start, end = start + np.where(moved, left, 0), end + np.where(moved, right, 0)
        same = np.concatenate([[False], sentence[1:] == sentence[:-1]])
        before = np.concatenate([[0], end[:-1]])
        # two neighbours that grow into the one token between them: the first has it
        start = np.where(same, np.maximum(start, before), start)
        kept = uniform(draws, place + _MISS) >= one.miss
        return _spans(sentence[kept], start[kept], end[kept], kind[kept])

    def _moves(self, draws: U64, place: I64) -> tuple[I64, I64]:
        """What a wrong boundary does to each span: one of the moves that are possible there."""
        sentence, start, end, _ = self.spans
        first = self.offsets[sentence]
        free = np.append(~_inside(self.spans, self.offsets), False)
        long = end - start > 1
        can = np.stack([
            (start > 0) & free[first + start - 1],
            (end < np.diff(self.offsets)[sentence]) & free[first + end],
            long,
            long,
        ])  # fmt: skip
        options = can.sum(axis=0)
        pick = (uniform(draws, place + _WHICH_EDGE) * options).astype(np.int64)
        move = can & (np.cumsum(can, axis=0) == pick + 1)
        return move[2].astype(np.int64) - move[0], move[1].astype(np.int64) - move[3]

    def _confused(self, one: Annotator, draws: U64, place: I64, kind: I64) -> I64:
        """Types (of plain tags: labels) as they take them."""
        types = self.gold.scheme.types
        if len(types) < 2:
            return kind
        step = 1 + (uniform(draws, place + _TYPE) * (len(types) - 1)).astype(np.int64)
        other = (kind + step) % len(types)
        for true, taken in one.swaps:
            if true in types and taken in types:
                other[kind == types.index(true)] = types.index(taken)
        return np.where(uniform(draws, place + _CONFUSE) < one.confuse, other, kind)

    def _invented(self, one: Annotator, keys: U64, found: Spans) -> Spans:
        sentence, place = self.tokens
        draws = self._draws(keys, sentence, place)
        tempted = uniform(draws, place * 8 + _INVENT) < one.invent * self.temptation
        return self._short_spans(draws, np.flatnonzero(tempted & ~_inside(found, self.offsets)))

    def _at_random(self, keys: U64) -> Spans:
        sentence, place = self.tokens
        draws = keys[sentence]
        starts = uniform(draws, place * 8 + _INVENT) < SPAM_DENSITY
        return _merge(self._short_spans(draws, np.flatnonzero(starts)))

    def _short_spans(self, draws: U64, tokens: I64) -> Spans:
        """Spans of one or two tokens from these on, of any type."""
        sentence, place = (column[tokens] for column in self.tokens)
        keys, n_types = draws[tokens], len(self.gold.scheme.types)
        end = place + 1 + (uniform(keys, place * 8 + _LENGTH) < 0.5)
        end = np.minimum(end, np.diff(self.offsets)[sentence])
        kind = (uniform(keys, place * 8 + _TYPE) * n_types).astype(np.int64)
        return _spans(sentence, place, end, kind)

    def _plain(self, one: Annotator, keys: U64) -> Tags:
        sentence, place = self.tokens
        if one.spam:
            n_labels = len(self.gold.scheme.labels)
            tags = (uniform(keys[sentence], place * 8) * n_labels).astype(np.int64)
        else:
            draws = self._draws(keys, sentence, place)
            tags = self._confused(one, draws, place * 8, self.gold.tags.astype(np.int64))
        return np.where(self.gold.tags >= 0, tags, -1).astype(self.gold.tags.dtype)


def _spans(sentence: I64, start: I64, end: I64, kind: I64) -> Spans:
    return Spans(sentence, start.astype(np.int32), end.astype(np.int32), kind.astype(np.int16))


def _merge(*parts: Spans) -> Spans:
    """Spans in reading order, each ending where the next begins at the latest."""
    sentence, start, end, kind = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((start, sentence))
    sentence, start, end, kind = sentence[order], start[order], end[order], kind[order]
    same = np.append(sentence[1:] == sentence[:-1], False)
    return Spans(sentence, start, np.where(same, np.minimum(end, np.roll(start, -1)), end), kind)


def _inside(spans: Spans, offsets: I64) -> Bool:
    """bool[T]: is the token in a span?"""
    edges = np.zeros(int(offsets[-1]) + 1, np.int64)
    np.add.at(edges, offsets[spans.sequence] + spans.start, 1)
    np.add.at(edges, offsets[spans.sequence] + spans.end, -1)
    return np.asarray(np.cumsum(edges)[:-1] > 0)


def number(seed: int, name: str) -> int:
    """A seed of its own for every name; the empty one is everybody's."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "little")


def uniform(keys: U64, place: I64 | int) -> F64:
    """A number from 0 to 1 (1 excluded) for each key and place (SplitMix64)."""
    z = keys + np.asarray(place + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))) >> np.uint64(11), np.float64) * 2.0**-53
