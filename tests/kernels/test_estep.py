"""The E-step without posteriors, in few tables, and its best paths against the long way round."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.kernels import estep
from seqtruth.kernels.chain import FORBIDDEN, Chain, viterbi
from seqtruth.kernels.estep import best_paths, expected_counts
from seqtruth.kernels.threads import chunk_bounds
from seqtruth.methods import BSCSeq
from seqtruth.methods.bayes import dirichlet
from seqtruth.methods.bayes.sequence_model import label_scores
from strategies import crowds

seeds = st.integers(0, 2**32 - 1)


def parameters(crowd, rng, by_previous, chained, rounded=False):
    """A log table, start and transition weights (some forbidden), or one with many ties."""
    n = crowd.n_labels
    table = np.log(rng.random((crowd.n_annotators, n if by_previous else 1, n, n)) + 0.02)
    start, transition = rng.random(n) + 0.05, rng.random((n, n)) + 0.05
    if rounded:
        table, start, transition = np.round(table), np.ones(n), np.ones((n, n))
    transition = np.where(crowd.scheme.allowed, transition, 0.0)
    return table, start, transition if chained else None


def long_way(crowd, table, start, transition, end, evidence, known):
    """Scores of all tokens, then the best paths through them."""
    scores = label_scores(crowd, table)
    if evidence is not None:
        scores += evidence
    if known is not None:
        given = np.flatnonzero(known >= 0)
        kept = scores[given, known[given]]
        scores[given] = 4 * FORBIDDEN
        scores[given, known[given]] = kept
    offsets = crowd.corpus.token_offsets
    if transition is None:
        return viterbi(scores + np.log(start), offsets, Chain.free(crowd.n_labels))
    return viterbi(scores, offsets, Chain(start, transition, end))


@given(
    crowd=crowds(),
    seed=seeds,
    chained=st.booleans(),
    by_previous=st.booleans(),
    with_evidence=st.booleans(),
    with_known=st.booleans(),
    rounded=st.booleans(),
)
def test_best_paths_are_those_of_the_long_way(
    crowd, seed, chained, by_previous, with_evidence, with_known, rounded
) -> None:
    rng, n = np.random.default_rng(seed), crowd.n_labels
    table, start, transition = parameters(crowd, rng, by_previous, chained, rounded)
    evidence = rng.normal(0, 2, (crowd.n_tokens, n)).astype(np.float32) if with_evidence else None
    known = rng.integers(-1, n, crowd.n_tokens).astype(np.int8) if with_known else None
    end = crowd.scheme.end.astype(np.float64)
    found = best_paths(crowd.view, table, start, transition, end, evidence, known)
    expected = long_way(crowd, table, start, transition, end, evidence, known)
    np.testing.assert_array_equal(found, expected)
    if known is not None:
        assert (found[known >= 0] == known[known >= 0]).all()


@given(crowd=crowds(), seed=seeds, chained=st.booleans(), by_previous=st.booleans())
def test_sums_are_the_same_without_posteriors(crowd, seed, chained, by_previous) -> None:
    rng = np.random.default_rng(seed)
    values = parameters(crowd, rng, by_previous, chained)
    full = expected_counts(crowd.view, *values)
    bare = expected_counts(crowd.view, *values, keep_posterior=False)
    assert full.posterior.shape == (crowd.n_tokens, crowd.n_labels)
    assert bare.posterior.shape == (0, crowd.n_labels)
    for one, two in zip(full[1:], bare[1:], strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.fixture(scope="module")
def large() -> Crowd:
    """Enough tokens for several chunks, and labels for several registers."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 20, 6000)
    corpus = Corpus.of([["t"] * n for n in lengths])
    labels = [f"{p}-{t}" for p in "BI" for t in "ABCD"] + ["O"]
    sentence, annotator = np.nonzero(rng.random((6000, 6)) < 0.6)
    tags = rng.integers(-1, 9, int(lengths[sentence].sum()))
    return Crowd.build(
        corpus, labels, [f"w{j}" for j in range(6)], sentence, annotator, tags, "iob2"
    )


def test_large_tables_mean_few_chunks(large: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    offsets = large.corpus.token_offsets
    every = chunk_bounds(offsets)
    assert len(every) > 5
    np.testing.assert_array_equal(estep._bounds(offsets, 1000), every)
    few = estep._bounds(offsets, estep.MAX_COUNT_BYTES // 3)
    assert len(few) == 4 and (few[0], few[-1]) == (0, large.n_sentences)
    assert len(estep._bounds(offsets, 100 * estep.MAX_COUNT_BYTES)) == 3

    values = parameters(large, np.random.default_rng(0), True, True)
    many = expected_counts(large.view, *values)
    monkeypatch.setattr(estep, "MAX_COUNT_BYTES", 1)
    two = expected_counts(large.view, *values)
    np.testing.assert_array_equal(many.posterior, two.posterior)
    np.testing.assert_allclose(many.annotators, two.annotators, rtol=1e-12)
    assert many.log_likelihood == pytest.approx(two.log_likelihood, rel=1e-12)


def test_number_of_threads_does_not_change_a_byte(
    large: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = []
    for threads in ("1", "4"):
        monkeypatch.setenv("SEQTRUTH_THREADS", threads)
        parts = []
        for by_previous, chained in ((False, False), (True, True)):
            values = parameters(large, np.random.default_rng(0), by_previous, chained)
            parts += expected_counts(large.view, *values, keep_posterior=False)
            parts.append(best_paths(large.view, *values, np.ones(9)))
        outcomes.append([np.asarray(part).tobytes() for part in parts])
    assert outcomes[0] == outcomes[1]


@given(crowd=crowds(), seed=seeds, chained=st.booleans(), by_previous=st.booleans())
def test_rows_that_nobody_uses_may_be_left_out(crowd, seed, chained, by_previous) -> None:
    rng = np.random.default_rng(seed)
    table, start, transition = parameters(crowd, rng, by_previous, chained)
    end = crowd.scheme.end.astype(np.float64)
    whole = expected_counts(crowd.view, table, start, transition)
    paths = best_paths(crowd.view, table, start, transition, end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estep, "MAX_WHOLE_BYTES", 0)
        few = expected_counts(crowd.view, table, start, transition)
        assert np.array_equal(best_paths(crowd.view, table, start, transition, end), paths)
    for name in whole._fields:
        assert np.array_equal(getattr(few, name), getattr(whole, name)), name


def test_many_annotators_who_have_said_little_take_few_tables(monkeypatch) -> None:
    """Of an annotator's tables [L, L, L] five and more were held at once: 7.4 GB for 100,000 annotators."""
    monkeypatch.setattr(estep, "MAX_WHOLE_BYTES", 1 << 20)
    monkeypatch.setattr(estep, "MAX_COUNT_BYTES", 1 << 20)
    monkeypatch.setattr(dirichlet, "BLOCK", 1 << 16)
    n = 2000  # two annotators to a sentence of four tokens
    corpus = Corpus.of([["t"] * 4] * (n // 2))
    labels = [f"{p}-{t}" for p in "BI" for t in "ABCD"] + ["O"]
    tags = np.random.default_rng(0).integers(0, 9, 4 * n)
    names = [f"w{j}" for j in range(n)]
    crowd = Crowd.build(corpus, labels, names, np.arange(n) // 2, np.arange(n), tags, "iob2")
    one_table = n * crowd.n_labels**3 * 8
    BSCSeq(max_iter=1).fit(crowd[:2])  # imports and caches
    tracemalloc.start()
    BSCSeq(max_iter=2, tol=0.0).fit(crowd)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most / one_table < 4.5
