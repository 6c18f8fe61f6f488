"""Decoding, forward-backward and crowd expectations against every path, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.paths import Enumeration, log, path_score, paths
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import KINDS, Scheme
from seqtruth.kernels.chain import Chain, forward_backward, viterbi
from seqtruth.kernels.estep import expected_counts
from seqtruth.kernels.grammar import count_illegal, is_legal
from seqtruth.methods.vote.weighted import weighted_vote
from strategies import crowds

seeds = st.integers(0, 2**32 - 1)
SCHEMES = [Scheme.of(kind, ["A"] if kind == "plain" else ["I-A"]) for kind in KINDS]


def random_chain(rng: np.random.Generator, n_labels: int) -> Chain:
    return Chain(
        rng.random(n_labels) + 0.05,
        rng.random((n_labels, n_labels)) + 0.05,
        rng.random(n_labels) + 0.05,
    )


def random_problem(seed: int) -> tuple[np.ndarray, np.ndarray, Chain]:
    """Scores of a few short sentences (also an empty one) and a chain, sometimes a legal one."""
    rng = np.random.default_rng(seed)
    if rng.random() < 0.5:
        chain = random_chain(rng, int(rng.integers(1, 4)))
    else:
        chain = Chain.legal(SCHEMES[rng.integers(len(SCHEMES))].grammar)
    lengths = rng.integers(0, 5, size=3)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return rng.normal(0, 3, (int(offsets[-1]), len(chain.start))), offsets, chain


@given(seeds)
def test_viterbi_finds_the_best_path(seed: int) -> None:
    scores, offsets, chain = random_problem(seed)
    found = viterbi(scores, offsets, chain)
    for a, b in itertools.pairwise(offsets):
        best = max(path_score(p, scores[a:b], chain) for p in paths(b - a, scores.shape[1]))
        ours = path_score(tuple(found[a:b]), scores[a:b], chain)
        assert ours == pytest.approx(best, abs=1e-6)


def test_viterbi_gives_ties_to_the_first_label() -> None:
    found = viterbi(np.zeros((3, 4)), np.array([0, 3]), Chain.free(4))
    assert found.tolist() == [0, 0, 0]


@given(seeds)
def test_forward_backward_sums_over_all_paths(seed: int) -> None:
    scores, offsets, chain = random_problem(seed)
    weights = np.random.default_rng(seed).random(len(offsets) - 1)
    found = forward_backward(scores, offsets, chain, weights)
    n_labels = scores.shape[1]
    start, pairs, end = np.zeros(n_labels), np.zeros((n_labels, n_labels)), np.zeros(n_labels)
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        truth = Enumeration(b - a, n_labels, lambda p, a=a, b=b: path_score(p, scores[a:b], chain))
        assert found.log_normaliser[s] == pytest.approx(truth.log_normaliser, abs=1e-9)
        np.testing.assert_allclose(found.marginals[a:b], truth.marginals, atol=1e-6)
        pairs += weights[s] * truth.pairs
        if b > a:
            start += weights[s] * truth.marginals[0]
            end += weights[s] * truth.marginals[-1]
    np.testing.assert_allclose(found.transition, pairs, atol=1e-9)
    np.testing.assert_allclose(found.start, start, atol=1e-9)
    np.testing.assert_allclose(found.end, end, atol=1e-9)


def test_forward_backward_survives_extreme_scores() -> None:
    scores = np.array([[0.0, -5000.0], [800.0, 900.0], [-1e9, 0.0]])
    found = forward_backward(scores, np.array([0, 3]), Chain.free(2))
    np.testing.assert_allclose(found.marginals, [[1, 0], [0, 1], [0, 1]], atol=1e-6)
    assert found.log_normaliser[0] == pytest.approx(900.0)


def test_forward_backward_stays_a_distribution_without_any_path() -> None:
    nowhere = Chain(np.ones(2), np.zeros((2, 2)), np.ones(2))
    found = forward_backward(np.zeros((3, 2)), np.array([0, 3]), nowhere)
    np.testing.assert_allclose(found.marginals.sum(axis=1), 1.0)


def brute_expectations(crowd, table, start, transition, evidence, known):
    """The E-step by enumeration, as :func:`expected_counts` documents it."""
    n_labels, offsets = len(start), crowd.corpus.token_offsets
    by_previous, outside = table.shape[1] > 1, max(crowd.scheme.outside, 0)
    posterior = np.zeros((crowd.n_tokens, n_labels))
    annotators, total = np.zeros(table.shape), 0.0
    first, pairs = np.zeros(n_labels), np.zeros((n_labels, n_labels))
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        said = []
        for w in range(crowd.n_annotators):
            row = crowd.row(s, w)
            for i in range(b - a if row is not None else 0):
                previous = row[i - 1] if i and row[i - 1] >= 0 else outside
                if row[i] >= 0:
                    said.append((w, int(previous) if by_previous else 0, int(row[i]), i))

        def weight(path, a=a, said=said):
            value = sum(table[w, p, c, path[i]] for w, p, c, i in said)
            for i, label in enumerate(path):
                value += 0.0 if evidence is None else float(evidence[a + i, label])
                if known is not None and known[a + i] >= 0 and known[a + i] != label:
                    return float("-inf")
                if transition is None:
                    value += log(start[label])
                else:
                    value += log(start[label] if i == 0 else transition[path[i - 1], label])
            return value

        if a == b:
            continue
        truth = Enumeration(b - a, n_labels, weight)
        posterior[a:b] = truth.marginals
        total += truth.log_normaliser
        first += truth.marginals[0]
        pairs += truth.pairs
        for w, p, c, i in said:
            annotators[w, p, c] += truth.marginals[i]
    return posterior, annotators, first, pairs, total


@given(
    crowd=crowds(kinds=("io", "iob2", "plain"), max_workers=3),
    seed=seeds,
    chained=st.booleans(),
    by_previous=st.booleans(),
    with_evidence=st.booleans(),
    with_known=st.booleans(),
)
def test_expected_counts_sum_over_all_paths(
    crowd, seed, chained, by_previous, with_evidence, with_known
) -> None:
    rng = np.random.default_rng(seed)
    n = crowd.n_labels
    table = np.log(rng.random((crowd.n_annotators, n if by_previous else 1, n, n)) + 0.02)
    start, transition = rng.random(n) + 0.05, rng.random((n, n)) + 0.05
    evidence = rng.normal(0, 2, (crowd.n_tokens, n)).astype(np.float32) if with_evidence else None
    known = rng.integers(-1, n, crowd.n_tokens).astype(np.int8) if with_known else None
    kept = transition if chained else None
    found = expected_counts(crowd.view, table, start, kept, evidence, known)
    posterior, annotators, first, pairs, total = brute_expectations(
        crowd, table, start, kept, evidence, known
    )
    np.testing.assert_allclose(found.posterior, posterior, atol=2e-6)
    np.testing.assert_allclose(found.annotators, annotators, atol=1e-6)
    np.testing.assert_allclose(found.start, first, atol=1e-6)
    _, token = gather(crowd.corpus.token_offsets, crowd.row_sentence.astype(np.int64))
    spoken = np.isin(np.arange(crowd.n_tokens), token[crowd.tags >= 0])
    counted = posterior if chained else posterior[spoken]
    np.testing.assert_allclose(found.prior, counted.sum(axis=0), atol=1e-6)
    assert found.log_likelihood == pytest.approx(total, abs=1e-6)
    if chained:
        np.testing.assert_allclose(found.transition, pairs, atol=1e-6)


@given(crowds())
def test_legality_is_what_the_tables_say(crowd: Crowd) -> None:
    scheme = crowd.scheme
    for w in range(crowd.n_annotators):
        tags = crowd.labelling(w).tags
        found = count_illegal(tags, crowd.corpus.token_offsets, scheme.grammar)
        offsets = crowd.corpus.token_offsets
        for s, (a, b) in enumerate(itertools.pairwise(offsets)):
            row = tags[a:b].tolist()
            wrong = 0
            if row and row[0] >= 0:
                wrong += not scheme.start[row[0]]
            if row and row[-1] >= 0:
                wrong += not scheme.end[row[-1]]
            for x, y in itertools.pairwise(row):
                wrong += x >= 0 and y >= 0 and not scheme.allowed[x, y]
            assert found[s] == wrong
        np.testing.assert_array_equal(is_legal(tags, offsets, scheme.grammar), found == 0)


@pytest.fixture(scope="module")
def large() -> Crowd:
    """Enough tokens for several chunks."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 20, 4000)
    corpus = Corpus.of([["t"] * n for n in lengths])
    labels = ["B-A", "B-C", "I-A", "I-C", "O"]
    sentence, annotator = np.nonzero(rng.random((4000, 6)) < 0.6)
    tags = rng.integers(-1, 5, int(lengths[sentence].sum()))
    return Crowd.build(
        corpus, labels, [f"w{j}" for j in range(6)], sentence, annotator, tags, "iob2"
    )


def test_number_of_threads_does_not_change_a_byte(
    large: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    n, offsets = large.n_labels, large.corpus.token_offsets
    table, chain = np.log(rng.random((6, n, n, n))), random_chain(rng, n)
    scores = rng.normal(size=(large.n_tokens, n))
    outcomes = []
    for threads in ("1", "4"):
        monkeypatch.setenv("SEQTRUTH_THREADS", threads)
        parts = [
            *expected_counts(large.view, table, chain.start, chain.transition),
            *forward_backward(scores, offsets, chain),
            viterbi(scores, offsets, chain),
            *weighted_vote(large, rng.random(6) * 0 + 0.3, np.ones(n), decoding="bidirectional"),
        ]
        outcomes.append([np.asarray(part).tobytes() for part in parts])
    assert outcomes[0] == outcomes[1]
