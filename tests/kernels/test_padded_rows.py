"""Rows in vector registers against the same maths in plain NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import chain as oracle
from seqtruth.kernels.chain import FORBIDDEN, Chain, forward_backward, viterbi
from seqtruth.kernels.native import call
from seqtruth.kernels.padded_rows import padded
from seqtruth.kernels.ties import SCORE_TIE

seeds = st.integers(0, 2**32 - 1)
labels = st.integers(1, 18)


@pytest.mark.parametrize("n_labels", [1, 3, 4, 9, 17])
def test_padding_keeps_what_is_there(n_labels: int) -> None:
    array = np.random.default_rng(0).random((2, n_labels, n_labels))
    one, two = padded(array), padded(array, 2, fill=7.0)
    width = -(-n_labels // 4) * 4
    assert one.shape == (2, n_labels, width) and two.shape == (2, width, width)
    np.testing.assert_array_equal(one[..., :n_labels], array)
    np.testing.assert_array_equal(two[:, :n_labels, :n_labels], array)
    assert not one[..., n_labels:].any() and (two[:, n_labels:] == 7).all()


@given(seed=seeds, scale=st.sampled_from([1e-9, 1.0, 30.0, 700.0, 1e9]))
def test_exponentials_are_those_of_numpy(seed: int, scale: float) -> None:
    scores = np.random.default_rng(seed).normal(0, scale, (3, 8))
    scores[1, 2:5] = -np.inf
    rows = scores.copy()
    for i in range(3):
        assert call("exponentiate_row", rows, i) == scores[i].max()
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(rows, expected, rtol=2e-13, atol=1e-300)
    assert (rows[1, 2:5] == 0).all() and (rows.max(axis=1) == 1).all()


def test_what_is_not_a_number_stays_so() -> None:
    rows = np.array([[0.0, np.nan, 0.0, 0.0], [-np.inf] * 4])
    call("exponentiate_row", rows, 0)
    call("exponentiate_row", rows, 1)
    assert np.isnan(rows[0, 1]) and np.isnan(rows[1]).all()


@given(seed=seeds, blocks=st.integers(1, 5))
def test_rows_add_and_multiply(seed: int, blocks: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, out = rng.random((3, 4 * blocks)), rng.random((2, 4 * blocks)), np.zeros((2, 4 * blocks))
    expected = 0.5 * a[2] * b[1]
    assert call("multiply_rows", a, 2, b, 1, 0.5, out, 0) == pytest.approx(expected.sum())
    np.testing.assert_allclose(out, [expected, np.zeros(4 * blocks)])
    assert call("row_total", a, 1) == pytest.approx(a[1].sum())
    before = a.copy()
    call("add_to_row", a, 1, b, 0, 3.0)
    before[1] += 3.0 * b[0]
    np.testing.assert_allclose(a, before)


def problem(seed: int, n_labels: int) -> tuple[np.ndarray, np.ndarray, Chain]:
    """Sentences of up to 60 tokens, scores of any size, some given labels, a sparse chain."""
    rng = np.random.default_rng(seed)
    keep = rng.random((n_labels, n_labels)) < rng.choice([0.1, 0.6, 1.0])
    chain = Chain(
        rng.random(n_labels) * (rng.random(n_labels) < 0.8),
        rng.random((n_labels, n_labels)) * keep,
        rng.random(n_labels) * (rng.random(n_labels) < 0.8),
    )
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 60, 4))]).astype(np.int64)
    scores = rng.normal(0, rng.choice([0.1, 3.0, 12.0]), (int(offsets[-1]), n_labels))
    for i in np.flatnonzero(rng.random(len(scores)) < 0.1):
        scores[i, np.arange(n_labels) != rng.integers(n_labels)] = FORBIDDEN
    return scores, offsets, chain


@given(seed=seeds, n_labels=labels, single=st.booleans())
def test_forward_backward_of_any_width(seed: int, n_labels: int, single: bool) -> None:
    scores, offsets, chain = problem(seed, n_labels)
    if single:
        scores = scores.astype(np.float32)
    weights = np.random.default_rng(seed).random(len(offsets) - 1)
    found = forward_backward(scores, offsets, chain, weights)
    exact = np.where(scores > FORBIDDEN / 2, scores, -np.inf).astype(np.float64)
    pairs, first, last = np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels)
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        q, moves, total = oracle.forward_backward(exact[a:b], *chain)
        np.testing.assert_allclose(found.marginals[a:b], q, atol=1e-6)
        assert found.log_normaliser[s] == pytest.approx(total, rel=1e-9, abs=1e-9)
        pairs += weights[s] * moves
        if b > a:
            first += weights[s] * q[0]
            last += weights[s] * q[-1]
    np.testing.assert_allclose(found.transition, pairs, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.start, first, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.end, last, rtol=1e-9, atol=1e-9)


@given(seed=seeds, n_labels=labels, ties=st.booleans())
def test_viterbi_of_any_width_with_its_ties(seed: int, n_labels: int, ties: bool) -> None:
    scores, offsets, chain = problem(seed, n_labels)
    if ties:
        scores = np.round(scores)
        chain = Chain(*(np.where(x > 0, 1.0, 0.0) for x in chain))
    found, logs = viterbi(scores, offsets, chain), chain.logs()
    for a, b in itertools.pairwise(offsets):
        assert found[a:b].tolist() == oracle.viterbi(scores[a:b], *logs, SCORE_TIE)


def test_totals_too_small_for_their_reciprocal_are_lifted() -> None:
    chain = Chain(np.array([1e-300, 0.0]), np.array([[1e-200, 1e-9], [1e-200, 1e-300]]), np.ones(2))
    scores = np.array([[-20.0, 0.0], [-200.0, -400.0], [0.0, -600.0], [-690.0, 0.0]])
    found = forward_backward(scores, np.array([0, 4]), chain)
    q, _, total = oracle.forward_backward(scores, *chain)
    np.testing.assert_allclose(found.marginals, q, atol=1e-6)
    assert found.log_normaliser[0] == pytest.approx(total, rel=1e-9)
