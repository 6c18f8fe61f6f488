"""Features in numbers, against the plain way: texts, one atom at a time."""

from __future__ import annotations

from collections import Counter
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seqtruth.data.corpus import Corpus
from seqtruth.predictors.crf import features
from seqtruth.predictors.crf.features import (
    AFTER,
    BEFORE,
    Encoder,
    Views,
    far_features,
    full_features,
    near_features,
    short_shape,
)
from seqtruth.predictors.crf.row_sums import RowSums

WORDS = st.sampled_from(["Ann", "ann", "ran", "ROSE", "x-y-x", "7", "3-1", "London", "the", "."])
TEXTS = st.lists(st.lists(WORDS, max_size=5), min_size=1, max_size=5)
KINDS = {0: full_features, -1: near_features, 1: near_features, -2: far_features, 2: far_features}


def word_at(sentence: list[str], place: int) -> str:
    return BEFORE if place < 0 else AFTER if place >= len(sentence) else sentence[place]


def token_texts(sentence: list[str], i: int) -> list[tuple[str, ...]]:
    """What each of the first eight channels says of a token."""
    near = [word_at(sentence, i + shift) for shift in (-1, 0, 1)]
    low, form = [word.lower() for word in near], [short_shape(word) for word in near]
    alone = [kind(word_at(sentence, i + shift)) for shift, kind in KINDS.items()]
    joined = [low[:2], low[1:], form]
    return alone + [("".join(name + "\x1f" for name in names),) for names in joined]


class Plain:
    """The first eight channels' vocabularies, and each token's numbers in them."""

    def __init__(self, many: bool) -> None:
        self.many = many
        self.tables: list[dict[str, int]] = [{} for _ in range(8)]

    def numbers(self, sentences: list[list[str]], grow: bool) -> list[list[list[int]]]:
        found = [token_texts(s, i) for s in sentences for i in range(len(s))]
        for channel, table in enumerate(self.tables):
            said = [texts[channel] for texts in found]
            count = Counter(text for texts in said for text in texts)
            for text in (text for texts in said for text in texts) if grow else []:
                if channel == 0 or (channel < 5 and not self.many) or count[text] >= 2:
                    table.setdefault(text, len(table))
        return [
            [[table[t] for t in texts[c] if t in table] for c, table in enumerate(self.tables)]
            for texts in found
        ]


@settings(deadline=None)
@given(TEXTS, TEXTS, TEXTS, st.booleans())
def test_channels_say_what_the_plain_way_says(
    first: list[list[str]], second: list[list[str]], third: list[list[str]], many: bool
) -> None:
    few = -1 if many else features.MANY
    encoder, plain = Encoder(), Plain(many)
    for sentences, grow in ((first, True), (second, False), (third, True), (second, False)):
        with mock.patch.object(features, "MANY", few):
            channels = encoder.encode(Corpus.of(sentences), grow=grow)[:8]
        expected = plain.numbers(sentences, grow)
        names = [{n: text for text, n in table.items()} for table in encoder.vocabularies]
        plain_names = [{n: text for text, n in table.items()} for table in plain.tables]
        for i, of_token in enumerate(expected):
            for c, channel in enumerate(channels):
                a = channel.atom[i]
                ours = channel.feature[channel.start[a] : channel.start[a + 1]].tolist()
                said = [plain_names[c][n] for n in of_token[c]]
                assert [names[c][n] for n in ours] == said
    for table, plain_table in zip(encoder.vocabularies, plain.tables, strict=False):
        assert sorted(table.values()) == list(range(len(table)))
        assert table.keys() == plain_table.keys()


def test_words_forgotten_are_read_anew(monkeypatch) -> None:
    sentences = [["Ann", "ran", "to", "London"], ["Bob", "sat"]]
    expected = Encoder().encode(Corpus.of(sentences), grow=True)
    monkeypatch.setattr(features, "MEMORY", 1)
    for _ in range(2):
        found = Encoder().encode(Corpus.of(sentences), grow=True)
        for ours, theirs in zip(found, expected, strict=True):
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(a, b)


@settings(deadline=None)
@given(TEXTS, st.integers(1, 9))
def test_scores_and_gradients_are_sums_over_features(
    sentences: list[list[str]], width: int
) -> None:
    corpus, encoder = Corpus.of(sentences), Encoder()
    channels = encoder.encode(corpus, grow=True)
    sizes = [len(table) for table in encoder.vocabularies]
    views = Views.of(channels, sizes)
    shift = np.cumsum([0, *sizes])
    counts = np.zeros((corpus.n_tokens, int(shift[-1])))
    for channel, a in zip(channels, shift, strict=False):
        for i, atom in enumerate(channel.atom):
            np.add.at(
                counts[i], a + channel.feature[channel.start[atom] : channel.start[atom + 1]], 1
            )
    rng = np.random.default_rng(0)
    theta, residual = (
        rng.normal(size=(counts.shape[1], width)),
        rng.normal(size=(len(counts), width)),
    )
    np.testing.assert_allclose(views.scores(theta), counts @ theta, atol=1e-9)
    gradient = np.full_like(theta, np.nan)
    views.gradient(residual, gradient)
    np.testing.assert_allclose(gradient, counts.T @ residual, atol=1e-9)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 6), max_size=4), max_size=8), st.integers(1, 9))
def test_row_sums_and_their_way_back(chosen: list[list[int]], width: int) -> None:
    start = np.cumsum([0, *map(len, chosen)])
    sums = RowSums(start, np.array([i for row in chosen for i in row], np.int32))
    table = np.random.default_rng(1).normal(size=(7, width))
    found = sums.of(table)
    for row, places in zip(found, chosen, strict=True):
        expected = np.zeros(width)
        for i in places:
            expected = expected + table[i]
        np.testing.assert_array_equal(row, expected)
    back = sums.turned(7)
    for i in range(7):
        who = back.chosen[back.start[i] : back.start[i + 1]].tolist()
        assert who == [r for r, row in enumerate(chosen) for j in row if j == i]
