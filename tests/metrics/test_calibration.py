"""Calibration by hand, by loop, and on simulated honest confidences."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.generate import both, column, columns
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.spans import READINGS, extract
from seqtruth.errors import DataError, ParameterError
from seqtruth.metrics import (
    brier_score,
    calibration,
    expected_calibration_error,
    reliability,
    selective_scores,
    span_scores,
)

judged = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


@given(rows=judged, n_bins=st.integers(1, 12))
def test_equal_width_by_loop(rows: list[tuple[float, bool]], n_bins: int) -> None:
    confidence, correct = (list(c) for c in zip(*rows, strict=True))
    edges = np.linspace(0, 1, n_bins + 1)
    total = 0.0
    for i in range(n_bins):
        last = i == n_bins - 1
        held = [(c, r) for c, r in rows if edges[i] <= c and (c < edges[i + 1] or last)]
        if held:
            gap = np.mean([c for c, _ in held]) - np.mean([r for _, r in held])
            total += abs(gap) * len(held)
    found = expected_calibration_error(confidence, correct, n_bins)
    assert found == pytest.approx(total / len(rows))
    brier = np.mean([(c - r) ** 2 for c, r in rows])
    assert brier_score(confidence, correct) == pytest.approx(brier)


@given(rows=judged, n_bins=st.integers(1, 12), seed=st.integers(0, 3))
def test_equal_mass_bins_hold_everything_and_ignore_the_order(
    rows: list[tuple[float, bool]], n_bins: int, seed: int
) -> None:
    confidence, correct = (np.array(c) for c in zip(*rows, strict=True))
    curve = reliability(confidence, correct, n_bins, "mass")
    assert curve.count.sum() == len(rows) and len(curve.count) <= n_bins
    assert (
        (curve.low <= curve.confidence + 1e-12) & (curve.confidence <= curve.high + 1e-12)
    ).all()
    order = np.random.default_rng(seed).permutation(len(rows))
    again = reliability(confidence[order], correct[order], n_bins, "mass")
    assert again.count.tolist() == curve.count.tolist()
    assert again.error == pytest.approx(curve.error)


def test_equal_mass_is_equal_where_values_differ() -> None:
    values = np.linspace(0.5, 0.99, 100) ** 2
    assert reliability(values, values > 0.5, 5, "mass").count.tolist() == [20] * 5


def test_honest_confidences_are_found_honest() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.beta(5, 2, 50_000)
    correct = rng.random(50_000) < confidence
    for binning in ("width", "mass"):
        assert expected_calibration_error(confidence, correct, 10, binning) < 0.01
        boastful = np.sqrt(confidence)
        assert expected_calibration_error(boastful, correct, 10, binning) > 0.08


@pytest.mark.parametrize("binning", ["width", "mass"])
def test_nothing_and_one_value(binning: str) -> None:
    empty = reliability([], [], 10, binning)
    assert np.isnan(empty.error) and len(empty.count) == 0
    assert reliability([0.7, 0.7], [True, False], 10, binning).error == pytest.approx(0.2)
    assert reliability([1.0, 0.0], [True, False], 3, binning).error == 0.0


def test_faults() -> None:
    with pytest.raises(DataError, match=r"between 0 and 1.*1.5"):
        brier_score([1.5], [True])
    with pytest.raises(DataError, match="nan"):
        brier_score([float("nan")], [True])
    with pytest.raises(DataError, match="verdict"):
        reliability([0.5], [True, False])
    with pytest.raises(ParameterError, match="n_bins"):
        reliability([0.5], [True], 0)
    with pytest.raises(ParameterError, match="'even'"):
        reliability([0.5], [True], 10, "even")
    pair = both([["B-PER", "O"]], [["B-PER", "O"]])
    with pytest.raises(DataError, match="2 tokens"):
        calibration(*pair, token=[0.5])
    with pytest.raises(DataError, match=r"1 spans.*strict="):
        calibration(*pair, span=[0.5, 0.5])
    with pytest.raises(ParameterError, match="shares"):
        selective_scores(np.array([0.5]), np.ones((1, 3), np.int64), (0.0,))


@pytest.mark.parametrize("strict", READINGS)
@pytest.mark.parametrize("kind", ["io", "iob2", "bioes", "plain"])
@given(data=st.data())
def test_verdicts_on_tokens_spans_and_sentences(
    kind: str, strict: str, data: st.DataObject
) -> None:
    sentences = data.draw(columns(kind))
    result, gold = both(column(sentences, 0), column(sentences, 1), kind)
    spans = extract(result.tags, result.corpus.token_offsets, result.scheme, strict)
    found = calibration(
        result,
        gold,
        token=np.ones(result.corpus.n_tokens),
        span=np.ones(len(spans.start)),
        sentence=np.ones(result.corpus.n_sentences),
        strict=strict,
    )
    assert found.token and found.span and found.sentence
    flat = [t for s in sentences for t in s]
    if flat:
        assert found.token.accuracy == pytest.approx(np.mean([a == b for a, b in flat]))
    scores = span_scores(result, gold, strict=strict)
    assert found.span.n == scores.predicted
    if scores.predicted:
        assert found.span.accuracy == pytest.approx(scores.precision)
    if sentences:
        last = found.selective[-1]
        assert (last.share, last.f1) == (1.0, pytest.approx(scores.f1))
    json.dumps(found.to_dict())


def test_confidences_lie_over_the_whole_result() -> None:
    tokens = [["Ann", "ran"], ["Bo", "Lee"], ["Cy"]]
    result = Crowd.of(
        {"r": [["B-PER", "O"], ["B-PER", "B-PER"], ["B-PER"]]}, tokens, ids=list("abc")
    )
    gold = Crowd.of({"g": [["B-PER"], ["B-PER", None]]}, [tokens[2], tokens[1]], ids=["c", "b"])
    found = calibration(
        result,
        gold,
        token=[0.1, 0.2, 0.3, 0.4, 0.5],
        span=[0.1, 0.3, 0.4, 0.5],
        sentence=[0.1, 0.3, 0.5],
    )
    assert found.token and found.span and found.sentence
    assert found.token.mean_confidence == pytest.approx(0.4)
    assert (found.span.n, found.span.mean_confidence) == (2, pytest.approx(0.4))
    assert (found.sentence.n, found.sentence.mean_confidence) == (2, pytest.approx(0.4))
    only = calibration(result, gold, span=[0.1, 0.3, 0.4, 0.5], sentences=["c"])
    assert only.span and only.span.mean_confidence == 0.5 and only.sentence is None


def test_selective_scores_by_hand() -> None:
    counts = np.array([[0, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 2]])
    rows = selective_scores(np.array([0.1, 0.9, 0.8, 0.5]), counts, (0.25, 0.5, 0.75, 1.0))
    assert [row.f1 for row in rows] == pytest.approx([1, 1, 6 / 7, 6 / 9])
    assert [row.threshold for row in rows] == [0.9, 0.8, 0.5, 0.1]
    assert [row.sentences for row in rows] == [1, 2, 3, 4]


@given(seed=st.integers(0, 100))
def test_ties_do_not_depend_on_the_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    confidence = rng.integers(0, 3, 12) / 2
    counts = np.sort(rng.integers(0, 4, (12, 3)), axis=1)
    order = rng.permutation(12)
    one = selective_scores(confidence, counts)
    two = selective_scores(confidence[order], counts[order])
    assert [row.f1 for row in one] == pytest.approx([row.f1 for row in two])


def test_tokens_without_gold_are_left_out() -> None:
    result, gold = both([["B-PER", "I-PER"]], [["B-PER", "O"]])
    holes = Labelling(gold.corpus, gold.scheme, np.array([gold.tags[0], -1], np.int8))
    found = calibration(result, holes, token=[0.9, 0.2], span=[0.5])
    assert found.token and found.token.n == 1 and found.token.brier == pytest.approx(0.01)
    assert found.span and found.span.n == 0 and np.isnan(found.span.ece)
