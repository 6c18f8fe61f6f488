"""Confidences: the line through verdicts, who is asked, and what held-out annotators make of it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seqtruth
from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import extract
from seqtruth.io.join import join_crowds
from seqtruth.kernels.arrays import Tags
from seqtruth.kernels.chain import Chain
from seqtruth.methods.abstention import understand_silence
from seqtruth.methods.accord.accord import Accord
from seqtruth.methods.accord.annotators import SLIP, Told
from seqtruth.methods.accord.calibration import (
    UNDERSTATED,
    USUAL,
    Lines,
    confirmed_lines,
    fit_line,
    judge,
    known_lines,
    raw_confidence,
)
from seqtruth.methods.accord.confirmation import (
    STRENGTH,
    Line,
    SpanVerdicts,
    Support,
    fit_scaled,
    logit,
    span_lines,
)
from seqtruth.methods.accord.confirmation import USUAL as USUAL_SPAN
from seqtruth.methods.accord.span_choice import Decoded, best_spans
from seqtruth.methods.bayes.sequence_model import label_scores
from seqtruth.methods.dependence import Copies, find_copies
from seqtruth.methods.marked import Marked
from seqtruth.metrics import calibration
from seqtruth.testing import small_crowd

SCHEME = Scheme.of("iob2", ["B-A", "B-B"])
PRIOR = Line(*USUAL)
LEVELS = ("token", "span", "sentence")


def decoded(seed: int, scheme: Scheme = SCHEME, threshold: float | None = 0.35) -> tuple:
    """Choices for a few sentences (one of them empty), and their offsets."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum([*rng.integers(1, 8, 6), 0, 3])])
    scores = rng.normal(0, 2, (int(offsets[-1]), len(scheme.labels)))
    return best_spans(scores, offsets, Chain.legal(scheme.grammar), scheme, threshold), offsets


def told_of(crowd: Crowd, copies: Copies | None = None) -> Told:
    """A crowd of which nothing is known beforehand."""
    marked = Marked(crowd)
    found = Copies(np.ones(crowd.n_annotators)) if copies is None else copies
    nothing = np.full(crowd.n_annotators, np.nan), 0.0, np.full(len(marked.at), -1)
    return Told(marked, found, understand_silence(crowd), *nothing)


def spans_of(tags: np.ndarray, scheme: Scheme) -> set[tuple[int, int, int]]:
    found = extract(tags.astype(np.int8), np.array([0, len(tags)]), scheme)
    return set(zip(*(x.tolist() for x in found[1:]), strict=True))


# --- the line ------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [Line(0.6, -0.5), Line(1.0, 0.0), Line(0.2, 1.5)])
def test_fit_finds_a_known_line(line: Line) -> None:
    rng = np.random.default_rng(0)
    confidence = rng.beta(2, 0.6, 40_000)
    right = rng.random(len(confidence)) < line(confidence)
    found = fit_line(confidence, right, PRIOR)
    assert found.slope == pytest.approx(line.slope, abs=0.06)
    assert found.intercept == pytest.approx(line.intercept, abs=0.08)


def test_without_verdicts_the_line_is_the_prior() -> None:
    assert fit_line(np.zeros(0), np.zeros(0, np.bool_), PRIOR) == PRIOR


@given(st.integers(0, 10**6), st.sampled_from([1, 30, 3000]), st.floats(0.0, 1.0))
def test_fit_is_at_the_bottom(seed: int, n: int, share: float) -> None:
    """The penalised likelihood is level there, or the slope has met its bound at 0."""
    rng = np.random.default_rng(seed)
    confidence = np.where(rng.random(n) < 0.5, rng.random(n), rng.choice([0.0, 1.0, 1 - 1e-9], n))
    right = rng.random(n) < share
    found = fit_line(confidence, right, PRIOR)
    miss = found(confidence) - right
    level = miss.sum() + STRENGTH * (found.intercept - PRIOR.intercept)
    slope = (miss * logit(confidence)).sum() + STRENGTH * (found.slope - PRIOR.slope)
    assert level == pytest.approx(0.0, abs=1e-5)
    if found.slope > 0:
        assert slope == pytest.approx(0.0, abs=1e-5)
    else:
        assert found.slope == 0 and slope >= -1e-5 * n


def test_misleading_confidence_is_replaced_by_the_usual_rate() -> None:
    confidence = np.repeat([0.999, 0.6], 1000)
    right = np.concatenate([np.arange(1000) < 500, np.arange(1000) < 900])
    line = fit_line(confidence, right, PRIOR)
    np.testing.assert_allclose(line(confidence), 0.7, atol=0.01)


def test_line_takes_certainty() -> None:
    values = Line(2.0, 1.0)(np.array([0.0, 0.5, 1.0], np.float32))
    assert (np.diff(values) > 0).all() and np.isfinite(values).all()
    assert values.min() >= 0 and values.max() <= 1


# --- verdicts ------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from(["iob2", "bioes", "io", "iob1"]))
def test_raw_confidence_is_what_the_docstring_says(seed: int, kind: str) -> None:
    scheme = Scheme.of(kind, ["I-A", "I-B"])
    chosen, offsets = decoded(seed, scheme)
    raw = raw_confidence(chosen, offsets, scheme)
    for s, (a, b) in enumerate(pairwise(offsets.tolist())):
        token = [float(chosen.marginals[i, chosen.tags[i]]) for i in range(a, b)]
        np.testing.assert_allclose(raw.token[a:b], token)
        spans = spans_of(chosen.tags[a:b], scheme)
        of_spans = [float(chosen.span[a + start]) for start, _, _ in spans]
        if kind in ("io", "iob1"):
            of_spans = [min(token[start:end]) for start, end, _ in spans]
        outside = [
            p for p, tag in zip(token, chosen.tags[a:b], strict=True) if tag == scheme.outside
        ]
        expected = (np.mean(of_spans) if of_spans else 1.0) * min([1.0, *outside])
        assert raw.sentence[s] == pytest.approx(expected, rel=1e-5)


@given(st.integers(0, 10**6))
def test_verdicts_against_a_loop(seed: int) -> None:
    chosen, offsets = decoded(seed)
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(len(chosen.tags)) < 0.8, chosen.tags, rng.integers(0, 5))
    truth = np.where(rng.random(len(truth)) < 0.1, -1, truth).astype(np.int8)
    raw = raw_confidence(chosen, offsets, SCHEME)
    token, span, sentence = [], [], []
    for s, (a, b) in enumerate(pairwise(offsets.tolist())):
        ours, theirs = spans_of(chosen.tags[a:b], SCHEME), spans_of(truth[a:b], SCHEME)
        token += [(raw.token[i], chosen.tags[i] == truth[i]) for i in range(a, b) if truth[i] >= 0]
        span += [
            (chosen.span[a + start], (start, end, kind) in theirs)
            for start, end, kind in sorted(ours)
            if (truth[a + start : a + end] >= 0).all()
        ]
        if b > a and (truth[a:b] >= 0).all():
            sentence.append((raw.sentence[s], (chosen.tags[a:b] == truth[a:b]).all()))
    found = judge(chosen, truth, offsets, SCHEME)
    for level, expected in (("token", token), ("span", span), ("sentence", sentence)):
        assert found[level].confidence.tolist() == [float(p) for p, _ in expected]
        assert found[level].right.tolist() == [bool(right) for _, right in expected]


def test_the_one_asked_is_not_heard() -> None:
    crowd = small_crowd(n_sentences=12)
    table = np.random.default_rng(0).normal(size=(crowd.n_annotators, *[crowd.n_labels] * 3))
    rest = np.random.default_rng(1).normal(size=(crowd.n_tokens, crowd.n_labels))
    share = 0.5
    heard = []

    def decode(scores: np.ndarray, offsets: np.ndarray) -> Decoded:
        heard.append((scores, offsets))
        return best_spans(scores, offsets, Chain.legal(crowd.scheme.grammar), crowd.scheme, 0.35)

    scores = rest + share * label_scores(crowd, table)
    lines = confirmed_lines(told_of(crowd), table, share, scores, decode)
    assert len(lines.span) == len(crowd.scheme.types)
    assert all(line.slope >= 0 for line in (lines.token, lines.sentence, *lines.span))
    rows = np.diff(crowd.sentence_rows)
    assert len(heard) == rows.max()
    for k, (found, offsets) in enumerate(heard):
        asked = [s for s in range(crowd.n_sentences) if rows[s] > k and rows[s] > 1]
        assert len(offsets) == len(asked) + 1
        for at, s in enumerate(asked):
            out = crowd.row_annotator[crowd.sentence_rows[s] + k]
            others = crowd.select_annotators(w for j, w in enumerate(crowd.annotators) if j != out)
            kept = np.delete(table, out, axis=0)
            a, b = crowd.corpus.token_offsets[s : s + 2]
            expected = (rest + share * label_scores(others, kept))[a:b]
            np.testing.assert_allclose(found[offsets[at] : offsets[at + 1]], expected, atol=1e-9)


def test_one_annotator_a_sentence_leaves_the_usual_lines() -> None:
    crowd = small_crowd().select_annotators(["w0"])
    size = crowd.n_labels
    chosen = best_spans(np.zeros((0, size)), np.zeros(1, np.int64), Chain.free(size), SCHEME, None)
    table, scores = np.zeros((1, 1, size, size)), np.zeros((crowd.n_tokens, size))
    lines = confirmed_lines(told_of(crowd), table, 1.0, scores, lambda *_: chosen)
    for level, (gain, shift) in UNDERSTATED.items():
        assert getattr(lines, level) == Line(gain * USUAL[0], USUAL[1] + shift)
    assert set(lines.span) == {Line(*USUAL_SPAN, 1 - SLIP)}


def test_copies_are_not_asked() -> None:
    crowd = small_crowd(n_sentences=60)
    rng = np.random.default_rng(0)
    odd: Tags = rng.integers(0, crowd.n_labels, crowd.n_tokens).astype(crowd.tags.dtype)
    rows = np.arange(crowd.n_sentences, dtype=np.int32)
    both = [
        Crowd(crowd.corpus, crowd.scheme, (name,), rows, np.zeros_like(rows), odd) for name in "xy"
    ]
    crowd = join_crowds([crowd, *both])
    copies = find_copies(Marked(crowd))
    assert [group.names for group in copies.groups] == [("x", "y")]
    asked = []

    def decode(scores: np.ndarray, offsets: np.ndarray) -> Decoded:
        asked.append(len(offsets) - 1)
        return best_spans(scores, offsets, Chain.legal(crowd.scheme.grammar), crowd.scheme, 0.35)

    table = np.zeros((crowd.n_annotators, 1, crowd.n_labels, crowd.n_labels))
    scores = np.zeros((crowd.n_tokens, crowd.n_labels))
    confirmed_lines(told_of(crowd, copies), table, 1.0, scores, decode)
    assert sum(asked) == crowd.n_rows - 2 * crowd.n_sentences


def test_known_labels_pull_the_lines() -> None:
    chosen, offsets = decoded(3)
    line = Line(0.5, 0.0)
    lines = Lines(line, line, (line, line))
    right = known_lines(lines, chosen, chosen.tags, offsets, SCHEME)
    flipped = ((chosen.tags + 1) % 5).astype(np.int8)
    wrong = known_lines(lines, chosen, flipped, offsets, SCHEME)
    none = known_lines(lines, chosen, np.full_like(chosen.tags, -1), offsets, SCHEME)
    assert none == lines

    def at(found: Lines) -> np.ndarray:
        every = (found.token, found.sentence, *found.span)
        return np.array([float(line(np.array([0.7]))[0]) for line in every])

    assert (at(right) > at(none)).all() and (at(wrong) < at(none)).all()


# --- spans ------------------------------------------------------------------------------------------


def test_support_counts_exact_spans_of_witnesses() -> None:
    rows = {
        "a": [["B-A", "I-A", "O"], ["B-B", "O"]],
        "b": [["B-A", "I-A", "O"], ["B-A", "O"]],
        "c": [["B-A", "O", "O"], ["B-B", "O"]],
    }
    crowd = Crowd.of(rows, [["x", "y", "z"], ["v", "w"]])
    begin, length, kind = np.array([0, 0, 3, 1]), np.array([2, 1, 1, 1]), np.array([0, 0, 1, 0])
    every, two = np.ones(3, np.bool_), np.array([True, True, False])
    assert Support(crowd, every).of(begin, length, kind).tolist() == [2, 1, 2, 0]
    assert Support(crowd, two).of(begin, length, kind).tolist() == [2, 0, 1, 0]


def test_a_judge_who_misses_half_does_not_halve_confidences() -> None:
    rng = np.random.default_rng(0)
    n = 30_000
    confidence, kind = rng.beta(4, 0.5, n), rng.integers(0, 2, n)
    truth = np.array([Line(0.6, -0.2)(confidence), Line(0.3, -1.0)(confidence)])
    right = rng.random(n) < truth[kind, np.arange(n)]
    annotator = rng.integers(0, 6, n)
    finds = np.array([0.95, 0.9, 0.7, 0.5, 0.4, 0.2])[annotator]
    support = np.where(right, rng.integers(1, 5, n), rng.integers(0, 2, n))
    verdicts = SpanVerdicts(confidence, right & (rng.random(n) < finds), kind, annotator, support)
    for k, line in enumerate(span_lines(verdicts, 6, 2)):
        claimed = line(confidence[kind == k]).mean()
        assert claimed == pytest.approx((1 - SLIP) * truth[k, kind == k].mean(), abs=0.03)


def test_scaled_fit_without_scale_is_the_plain_one() -> None:
    rng = np.random.default_rng(1)
    confidence = rng.beta(2, 0.6, 4000)
    right = rng.random(4000) < Line(0.6, -0.5)(confidence)
    ours, plain = (
        fit_scaled(confidence, right, np.ones(4000), PRIOR),
        fit_line(confidence, right, PRIOR),
    )
    assert ours.slope == pytest.approx(plain.slope, abs=1e-3)
    assert ours.intercept == pytest.approx(plain.intercept, abs=1e-3)


# --- crowds whose truth is known -------------------------------------------------------------------


def errors(crowd: Crowd, gold: Crowd, calibrate: bool) -> dict[str, float]:
    """Expected calibration error at each level."""
    result = Accord(predictor=None, calibrate=calibrate).fit(crowd)
    figures = calibration(
        result, gold, token=result.token_confidence, span=result.span_confidence(),
        sentence=result.sentence_confidence,
    )  # fmt: skip
    return {level: getattr(figures, level).ece for level in LEVELS}


@pytest.mark.parametrize("cast", ["careful:5", "sloppy:6"])
def test_annotators_of_one_kind_make_confidences_more_honest(cast: str) -> None:
    gold = seqtruth.datasets.load("demo").gold
    crowd = seqtruth.simulate(gold, cast, seed=1, per_sentence=3, difficulty=0.5)
    raw, honest = errors(crowd, gold, False), errors(crowd, gold, True)
    assert all(honest[level] < raw[level] for level in LEVELS)


def test_bad_annotators_do_not_make_confidences_less_honest() -> None:
    gold = seqtruth.datasets.load("demo").gold
    cast = "careful:2,sloppy:3,misser:2,spammer"
    crowd = seqtruth.simulate(gold, cast, seed=1, per_sentence=4, difficulty=0.5)
    raw, honest = errors(crowd, gold, False), errors(crowd, gold, True)
    assert all(honest[level] < raw[level] for level in LEVELS)


def test_gold_for_some_makes_the_rest_more_honest() -> None:
    gold = seqtruth.datasets.load("demo").gold
    crowd = seqtruth.simulate(gold, "careful:2,sloppy:3,misser:2", seed=1, per_sentence=4)
    some = np.arange(crowd.n_sentences) % 4 == 0
    free, told = Accord(predictor=None).fit(crowd), Accord(predictor=None).fit(crowd, gold[some])
    np.testing.assert_array_equal(told.sentence_confidence[some], 1.0)
    rest = np.flatnonzero(~some)
    before, after = (
        calibration(r, gold, span=r.span_confidence(), sentences=rest).span.ece
        for r in (free, told)
    )
    assert after < before
