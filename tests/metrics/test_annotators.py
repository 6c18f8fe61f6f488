"""Annotators' own scores, and correlations against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles import annotator_counts as oracle
from oracles.generate import KINDS, columns, crowd_of
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.spans import READINGS
from seqtruth.errors import DataError
from seqtruth.metrics import (
    annotator_scores,
    average_ranks,
    correlate,
    pearson,
    span_scores,
    spearman,
)
from seqtruth.metrics.align import one_scheme
from seqtruth.metrics.annotators import COUNTS, AnnotatorScores, annotator_counts
from strategies import crowds, schemes

numbers = st.one_of(st.floats(-1e6, 1e6, allow_nan=False, width=32), st.integers(-3, 3).map(float))
pairs = st.lists(st.tuples(numbers, numbers), min_size=2, max_size=30)


@given(rows=pairs)
def test_correlations_agree_with_scipy(rows: list[tuple[float, float]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    x, y = (np.array(column) for column in zip(*rows, strict=True))
    # nearly constant columns are lost to rounding in either implementation
    assume(np.ptp(x) > 1e-3 * np.abs(x).max() and np.ptp(y) > 1e-3 * np.abs(y).max())
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)


@given(values=st.lists(st.integers(-4, 4), max_size=20))
def test_ranks_agree_with_scipy(values: list[int]) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert average_ranks(values).tolist() == stats.rankdata(values).tolist()


def test_correlation_is_unknown_where_nothing_varies() -> None:
    assert np.isnan(pearson([1, 1, 1], [1, 2, 3])) and np.isnan(spearman([1], [2]))
    with pytest.raises(DataError):
        pearson([1, 2], [1, 2, 3])


@pytest.mark.parametrize("kind", [*KINDS, "plain"])
@given(data=st.data())
def test_each_annotator_is_scored_like_a_labelling(kind: str, data: st.DataObject) -> None:
    sentences = data.draw(columns(kind, 3))
    rows: dict[str, list[list[str] | None]] = {
        name: [[t[i] for t in s] if s and data.draw(st.booleans()) else None for s in sentences]
        for i, name in enumerate(["ann", "bob"])
    }
    gold: list[list[str] | None] = [[t[2] for t in s] for s in sentences]
    everyone = crowd_of({**rows, "gold": gold}, kind)
    crowd, truth = everyone.select_annotators(["ann", "bob"]), everyone.labelling(2)
    scores = annotator_scores(crowd, truth)
    for w, name in enumerate(crowd.annotators):
        seen = [s for s, row in enumerate(rows[name]) if row is not None]
        one = span_scores(crowd.labelling(w), truth, sentences=seen)
        found = (scores.correct[w], scores.predicted[w], scores.gold[w])
        assert found == (one.correct, one.predicted, one.gold)
        assert scores.sentences[w] == len(seen)


def test_schemes_and_labels_may_differ() -> None:
    tokens = [["Ann", "Lee", "of", "Ames"]]
    crowd = Crowd.of({"ann": [["B-PER", "E-PER", "O", "S-MISC"]]}, tokens)
    gold = Crowd.of({"gold": [["B-PER", "I-PER", "O", "B-LOC"]]}, tokens)
    assert annotator_scores(crowd, gold).f1.tolist() == [0.5]
    assert annotator_scores(crowd.respell("io"), gold).f1.tolist() == [0.5]


def test_unknown_f1_is_left_out_of_the_correlation() -> None:
    tokens = [["Ann"], ["Bo"], ["no"]]
    crowd = Crowd.of(
        {
            "good": [["B-PER"], ["B-PER"], None],
            "fair": [["B-PER"], ["O"], None],
            "poor": [["O"], ["O"], None],
            "unseen": [None, None, None],
            "idle": [None, None, ["O"]],
        },
        tokens,
    )
    gold = Crowd.of({"gold": [["B-PER"], ["B-PER"], ["O"]]}, tokens)
    scores = annotator_scores(crowd, gold)
    assert scores.f1.tolist()[:3] == [1.0, pytest.approx(2 / 3), 0.0]
    assert np.isnan(scores.f1[3:]).all() and scores.to_dict()["f1"][3] is None
    weights = {"good": 3.0, "fair": 2.0, "poor": 1.0, "unseen": 9.0, "idle": 9.0}
    found = correlate(weights, scores)
    assert (found.n, found.spearman) == (3, pytest.approx(1.0))
    assert correlate(list(weights.values()), scores) == found
    with pytest.raises(DataError, match="'poor'"):
        correlate({"good": 1.0, "fair": 1.0}, scores)
    with pytest.raises(DataError, match="5 annotators"):
        correlate([1.0], scores)
    few = annotator_scores(crowd, gold, sentences=[0])
    assert few.sentences.tolist() == [1, 1, 1, 0, 0]


def test_tokens_he_skipped_read_as_outside() -> None:
    crowd = Crowd.of({"ann": [["B-PER", None]], "bob": [[None, None]]}, [["Ann", "Lee"]])
    gold = Crowd.of({"gold": [["B-PER", "I-PER"]]}, [["Ann", "Lee"]])
    scores = annotator_scores(crowd, gold)
    assert (scores.predicted.tolist(), scores.gold.tolist()) == ([1, 0], [1, 0])
    assert scores.sentences.tolist() == [1, 0]


@pytest.mark.parametrize("strict", READINGS)
@given(data=st.data())
def test_counts_are_those_of_whole_arrays_of_spans(strict: str, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["plain", *KINDS]))
    crowd = data.draw(crowds(kinds=(kind,)))
    gold_kind = "plain" if kind == "plain" else data.draw(st.sampled_from(KINDS))
    scheme = data.draw(schemes(kinds=(gold_kind,)))
    tag = st.integers(-1, len(scheme.labels) - 1)
    n = crowd.n_tokens
    tags = np.array(data.draw(st.lists(tag, min_size=n, max_size=n)), np.int8)
    order = np.array(data.draw(st.permutations(range(crowd.n_sentences))))
    own = data.draw(st.booleans())
    corpus = crowd.corpus if own else crowd.corpus[order]
    truth = Labelling(corpus, scheme, tags)
    subset = st.sets(st.integers(0, crowd.n_sentences - 1), min_size=1)
    sentences = sorted(data.draw(subset))
    found = annotator_scores(crowd, truth, sentences, strict)

    like = Labelling(crowd.corpus, crowd.scheme, np.full(n, -1, np.int8))
    like, truth = one_scheme(like, truth)
    partner = np.arange(crowd.n_sentences) if own else np.argsort(order)
    expected = oracle.annotator_counts(crowd, truth, like.scheme, sentences, partner, strict)
    assert [getattr(found, name).tolist() for name in COUNTS] == expected


@given(data=st.data())
def test_counts_of_parts_add_up(data: st.DataObject) -> None:
    crowd = data.draw(crowds())
    tag = st.integers(-1, crowd.n_labels - 1)
    n, half = crowd.n_tokens, crowd.n_sentences // 2
    tags = np.array(data.draw(st.lists(tag, min_size=n, max_size=n)), np.int8)
    whole = annotator_scores(crowd, Labelling(crowd.corpus, crowd.scheme, tags))
    at = crowd.corpus.token_offsets[half]
    one, two = annotator_counts(crowd[:half], tags[:at]), annotator_counts(crowd[half:], tags[at:])
    scores = AnnotatorScores.of(crowd.annotators, {name: one[name] + two[name] for name in COUNTS})
    assert scores.to_dict() == whole.to_dict()


def test_many_chunks_give_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 30, 4000)
    corpus = Corpus.of([["t"] * n for n in lengths])
    sentence, annotator = np.nonzero(rng.random((4000, 5)) < 0.5)
    labels, names = ["B-A", "B-C", "I-A", "I-C", "O"], list("vwxyz")
    tags = rng.integers(-1, 5, int(lengths[sentence].sum()))
    crowd = Crowd.build(corpus, labels, names, sentence, annotator, tags, "iob2")
    gold = rng.integers(-1, 5, corpus.n_tokens).astype(np.int8)
    truth, every = Labelling(corpus, crowd.scheme, gold), np.arange(4000)
    expected = oracle.annotator_counts(crowd, truth, crowd.scheme, every, every, "conlleval")
    for threads in ("1", "4"):
        monkeypatch.setenv("SEQTRUTH_THREADS", threads)
        assert [column.tolist() for column in annotator_counts(crowd, gold).values()] == expected
