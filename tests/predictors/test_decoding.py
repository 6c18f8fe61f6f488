"""Span decoding against every path and every set of spans, one by one."""

from __future__ import annotations

import resource
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.paths import Enumeration, path_score
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import extract
from seqtruth.kernels.chain import Chain, forward_backward, viterbi
from seqtruth.kernels.grammar import is_legal
from seqtruth.predictors.decoding import SPELLABLE, best_spans

seeds = st.integers(0, 2**32 - 1)
Found = dict[tuple[int, int, int], float]


def random_chain(rng: np.random.Generator, scheme: Scheme) -> Chain:
    """Random weights for what the scheme allows."""
    legal = Chain.legal(scheme.grammar)
    return Chain(*(x * (rng.random(x.shape) + 0.05) for x in legal))


def problem(
    seed: int, kinds: tuple[str, ...] = SPELLABLE
) -> tuple[np.ndarray, np.ndarray, Chain, Scheme]:
    """Scores of short sentences, an empty one among them, and a chain."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(kinds))
    types = ["A", "B"][: rng.integers(1, 3)]
    scheme = Scheme.of(kind, types if kind == "plain" else [f"I-{name}" for name in types])
    longest = 6 if len(scheme.labels) < 4 else 5 if len(scheme.labels) < 6 else 3
    lengths = [rng.integers(1, longest + 1), 0, rng.integers(1, longest + 1)]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    scale = rng.choice([0.3, 1.0, 3.0])
    scores = rng.normal(0, scale, (int(offsets[-1]), len(scheme.labels)))
    return scores, offsets, random_chain(rng, scheme), scheme


def span_probabilities(scores: np.ndarray, chain: Chain, scheme: Scheme) -> Found:
    """P(span) as the sum over all paths that have exactly this span."""
    n = len(scores)
    truth = Enumeration(n, len(scheme.labels), lambda path: path_score(path, scores, chain))
    flat = np.array(truth.paths, np.int8).reshape(-1)
    spans = extract(flat, np.arange(len(truth.paths) + 1) * n, scheme)
    found: Found = {}
    for path, start, end, kind in zip(*(x.tolist() for x in spans), strict=True):
        found[start, end, kind] = found.get((start, end, kind), 0.0) + truth.p[path]
    return found


def best_value(found: Found, threshold: float, start: int = 0) -> float:
    """max Σ (p - θ) over all sets of spans that do not overlap and begin at ``start`` or later."""
    values = [
        p - threshold + best_value(found, threshold, b)
        for (a, b, _), p in found.items()
        if a >= start and p > threshold
    ]
    return max([0.0, *values])


@settings(max_examples=60)
@given(seeds, st.sampled_from([0.0, 0.1, 0.35, 0.6]))
def test_chosen_spans_are_the_best_of_all_sets(seed: int, threshold: float) -> None:
    scores, offsets, chain, scheme = problem(seed)
    chosen = best_spans(scores, offsets, chain, scheme, threshold)
    assert is_legal(chosen.tags, offsets, scheme.grammar).all()
    spans = extract(chosen.tags, offsets, scheme)
    for s, (a, b) in enumerate(pairwise(offsets.tolist())):
        if a == b:
            continue
        found = span_probabilities(scores[a:b], chain, scheme)
        mine = [
            (int(spans.start[k]), int(spans.end[k]), int(spans.type[k]))
            for k in np.flatnonzero(spans.sequence == s)
        ]
        if threshold > 0:  # at 0 every span is worth naming, and there are very many sets of them
            value = sum(found[span] - threshold for span in mine)
            assert value == pytest.approx(best_value(found, threshold), abs=1e-6)
        expected = np.zeros(b - a)
        for start, end, kind in mine:
            expected[start:end] = found[start, end, kind]
        np.testing.assert_allclose(chosen.span[a:b], expected, atol=1e-6)
    marginals = forward_backward(scores, offsets, chain).marginals
    np.testing.assert_array_equal(chosen.marginals, marginals)


@given(seeds)
def test_without_threshold_it_is_the_likeliest_path(seed: int) -> None:
    scores, offsets, chain, scheme = problem(seed)
    chosen = best_spans(scores, offsets, chain, scheme, None)
    np.testing.assert_array_equal(chosen.tags, viterbi(scores, offsets, chain))


@given(seeds, st.sampled_from([None, 0.35]))
def test_other_schemes_fall_back_on_the_path(seed: int, threshold: float | None) -> None:
    scores, offsets, chain, scheme = problem(seed, ("plain", "io", "iob1"))
    chosen = best_spans(scores, offsets, chain, scheme, threshold)
    np.testing.assert_array_equal(chosen.tags, viterbi(scores, offsets, chain))
    token = chosen.marginals[np.arange(len(chosen.tags)), chosen.tags]
    expected = np.zeros(len(token), np.float32)
    for s, start, end, _ in zip(*extract(chosen.tags, offsets, scheme), strict=True):
        a, b = offsets[s] + start, offsets[s] + end
        expected[a:b] = token[a:b].min()  # a span is as sure as its weakest tag
    np.testing.assert_array_equal(chosen.span, expected)


def test_a_doubtful_border_does_not_hide_a_span() -> None:
    scheme = Scheme.of("iob2", ["B-A"])
    scores = np.full((3, 3), -9.0)
    scores[0, scheme.index("B-A")] = scores[2, scheme.outside] = 0.0
    scores[1, scheme.index("I-A")] = scores[1, scheme.outside] = 0.0
    scores[0, scheme.outside] = np.log(1.4)  # likelier than either span, less likely than both
    legal = Chain.legal(scheme.grammar)
    none = best_spans(scores, np.array([0, 3]), legal, scheme, 0.5)
    some = best_spans(scores, np.array([0, 3]), legal, scheme, 0.25)
    assert (none.tags == scheme.outside).all() and not none.span.any()
    assert some.tags[0] == scheme.index("B-A") and some.span[0] == pytest.approx(1 / 3.4, abs=1e-3)


@pytest.mark.parametrize("kind", SPELLABLE)
def test_no_sentence_and_no_token(kind: str) -> None:
    scheme = Scheme.of(kind, ["B-A"])
    nothing = np.zeros((0, len(scheme.labels)))
    for offsets in (np.zeros(1, np.int64), np.zeros(4, np.int64)):
        for threshold in (None, 0.35):
            chosen = best_spans(nothing, offsets, Chain.legal(scheme.grammar), scheme, threshold)
            assert len(chosen.tags) == len(chosen.span) == len(chosen.marginals) == 0


@pytest.mark.parametrize("scores", [0.0, -1e9, 1e9, 1e300])
def test_scores_of_any_size_give_legal_tags(scores: float) -> None:
    scheme = Scheme.of("bioes", ["B-A"])
    given_ = np.where(np.eye(5)[[0, 2, 4, 1]] > 0, scores, 0.0)
    chosen = best_spans(given_, np.array([0, 4]), Chain.legal(scheme.grammar), scheme, 0.35)
    assert is_legal(chosen.tags, np.array([0, 4]), scheme.grammar).all()
    assert (chosen.span >= 0).all() and (chosen.span <= 1 + 1e-6).all()


def test_one_very_long_sentence_needs_little_memory() -> None:
    n, scheme = 20_000, Scheme.of("iob2", ["B-A", "B-B"])
    rng = np.random.default_rng(0)
    legal, offsets = Chain.legal(scheme.grammar), np.array([0, n])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    chosen = best_spans(rng.normal(0, 2, (n, 5)), offsets, legal, scheme, 0.35)
    assert is_legal(chosen.tags, offsets, scheme.grammar).all() and chosen.span.max() > 0.35
    certain = np.full((n, 5), -50.0)
    certain[0, scheme.index("B-A")] = 0.0
    certain[1:, scheme.index("I-A")] = 0.0
    chosen = best_spans(certain, offsets, legal, scheme, 0.35)
    assert extract(chosen.tags, offsets, scheme).end.tolist() == [n]
    np.testing.assert_allclose(chosen.span, 1.0, atol=1e-6)
    # a table of all pairs of borders would take 3 GB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_threads_do_not_change_a_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    scheme = Scheme.of("bilou", ["B-A", "B-B"])
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 40, 1500))])
    scores = rng.normal(0, 2, (int(offsets[-1]), len(scheme.labels)))
    chain = random_chain(rng, scheme)
    found = []
    for count in ("1", "3"):
        monkeypatch.setenv("SEQTRUTH_THREADS", count)
        found.append(best_spans(scores, offsets, chain, scheme, 0.2))
    for one, other in zip(*found, strict=True):
        assert one.tobytes() == other.tobytes()
