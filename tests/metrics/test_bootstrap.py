"""The paired bootstrap: seeded, paired, over documents."""

from __future__ import annotations

import numpy as np
import pytest

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError, ParameterError
from seqtruth.metrics import evaluate, paired_bootstrap

SCHEME = Scheme.of("iob2", ["B-PER"])
BEGIN, OUTSIDE = SCHEME.index("B-PER"), SCHEME.index("O")


def corpus(n: int, documents: int | None) -> Corpus:
    names = None if documents is None else [f"d{i * documents // n}" for i in range(n)]
    return Corpus.of([["x", "y"]] * n, documents=names)


def labelling(words: Corpus, hits: float, seed: int) -> Labelling:
    """Finds this share of the spans that stand on every first token."""
    found = np.random.default_rng(seed).random(words.n_sentences) < hits
    tags = np.full(words.n_tokens, OUTSIDE, np.int8)
    tags[::2] = np.where(found, BEGIN, OUTSIDE)
    return Labelling(words, SCHEME, tags)


def test_a_clear_difference_is_found_and_none_is_not() -> None:
    words = corpus(400, 40)
    gold, good, poor = (labelling(words, h, s) for h, s in ((1, 0), (0.9, 1), (0.6, 2)))
    found = paired_bootstrap(good, poor, gold)
    assert found.difference == pytest.approx(evaluate(good, gold).f1 - evaluate(poor, gold).f1)
    assert found.low < found.difference < found.high and found.low > 0 and found.p < 0.01
    assert (found.n_units, found.n_resamples) == (40, 1000)
    same = paired_bootstrap(good, good, gold)
    assert (same.difference, same.low, same.high, same.p) == (0, 0, 0, 1)


def test_equals_are_rarely_called_different() -> None:
    words = corpus(300, 60)
    gold = labelling(words, 1, 0)
    false_alarms = 0
    for seed in range(60):
        a, b = labelling(words, 0.7, 2 * seed + 1), labelling(words, 0.7, 2 * seed + 2)
        false_alarms += paired_bootstrap(a, b, gold, n_resamples=200).p < 0.05
    assert false_alarms <= 9  # 3 expected; 10 or more have a chance of 1 in 1000


def test_swapping_turns_the_sign() -> None:
    words = corpus(100, 20)
    gold, a, b = (labelling(words, h, s) for h, s in ((1, 0), (0.8, 1), (0.7, 2)))
    one, two = paired_bootstrap(a, b, gold, seed=5), paired_bootstrap(b, a, gold, seed=5)
    assert (one.low, one.high, one.p) == pytest.approx((-two.high, -two.low, two.p))


def test_same_seed_same_answer() -> None:
    words = corpus(100, 20)
    gold, a, b = (labelling(words, h, s) for h, s in ((1, 0), (0.8, 1), (0.7, 2)))
    one = paired_bootstrap(a, b, gold, seed=1)
    assert one == paired_bootstrap(a, b, gold, seed=np.random.default_rng(1))
    assert one != paired_bootstrap(a, b, gold, seed=2)
    assert "interval" in str(one)


def test_documents_are_drawn_whole() -> None:
    """Sentences that rise and fall together make the interval wider."""
    n = 200
    hits = np.repeat(np.random.default_rng(0).random(20) < 0.5, n // 20)
    results = []
    for documents in (20, None):
        words = corpus(n, documents)
        tags = np.full(2 * n, OUTSIDE, np.int8)
        tags[::2] = np.where(hits, BEGIN, OUTSIDE)
        gold = labelling(words, 1, 0)
        results.append(paired_bootstrap(Labelling(words, SCHEME, tags), gold, gold))
    wide, narrow = results
    assert (wide.n_units, narrow.n_units) == (20, 200)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_only_common_sentences_with_gold_count() -> None:
    tokens = [["a"], ["b"], ["c"], ["d"]]
    ids = ["1", "2", "3", "4"]
    gold = Crowd.of({"g": [["B-PER"], ["B-PER"], ["B-PER"], None]}, tokens, ids=ids)
    first = Crowd.of({"x": [["B-PER"], ["B-PER"], ["O"], ["O"]]}, tokens, ids=ids)
    second = Crowd.of({"x": [["B-PER"], ["O"]]}, tokens[1::-1], ids=ids[1::-1])
    found = paired_bootstrap(first, second, gold, n_resamples=10)
    assert (found.first, found.second, found.n_units) == (1.0, pytest.approx(2 / 3), 2)
    found = paired_bootstrap(first, second, gold, sentences=["2", "3"], n_resamples=10)
    assert (found.first, found.second, found.n_units) == (1.0, 1.0, 1)


def test_faults() -> None:
    words = corpus(4, None)
    gold = labelling(words, 1, 0)
    with pytest.raises(ParameterError, match="n_resamples"):
        paired_bootstrap(gold, gold, gold, n_resamples=0)
    with pytest.raises(ParameterError, match="level"):
        paired_bootstrap(gold, gold, gold, level=95)
    with pytest.raises(DataError, match="no sentence"):
        paired_bootstrap(gold, gold, gold, sentences=[])
