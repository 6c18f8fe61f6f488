"""The CRF layer against an enumeration of every path."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra seqtruth[torch]")

from seqtruth.predictors.torch.crf_layer import (  # noqa: E402
    expected_score,
    log_normaliser,
    negative_log_likelihood,
)

LENGTHS, N_LABELS = (4, 1, 3), 3


@pytest.fixture
def problem():
    rng = np.random.default_rng(3)
    mask = torch.from_numpy(np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None])
    scores = torch.from_numpy(rng.normal(size=(len(LENGTHS), max(LENGTHS), N_LABELS)))
    chain = torch.from_numpy(rng.normal(size=(N_LABELS + 2, N_LABELS)))
    return scores, mask, chain


def path_score(scores, chain, path) -> float:
    value = chain[-2, path[0]] + chain[-1, path[-1]]
    value += sum(scores[i, label] for i, label in enumerate(path))
    return float(value + sum(chain[a, b] for a, b in pairwise(path)))


def all_paths(n: int) -> list[tuple[int, ...]]:
    return list(product(range(N_LABELS), repeat=n))


def test_normaliser_is_the_sum_over_all_paths(problem):
    scores, mask, chain = problem
    found = log_normaliser(scores, mask, chain)
    for b, n in enumerate(LENGTHS):
        values = [path_score(scores[b], chain, path) for path in all_paths(n)]
        assert float(found[b]) == pytest.approx(np.logaddexp.reduce(values))


def test_expected_score_is_the_mean_over_independent_tokens(problem):
    scores, mask, chain = problem
    target = torch.from_numpy(np.random.default_rng(5).dirichlet(np.ones(3), (3, 4)))
    found = expected_score(scores, mask, chain, target)
    for b, n in enumerate(LENGTHS):
        mean = sum(
            np.prod([float(target[b, i, label]) for i, label in enumerate(path)])
            * path_score(scores[b], chain, path)
            for path in all_paths(n)
        )
        assert float(found[b]) == pytest.approx(mean)


def test_missing_tags_are_summed_over(problem):
    scores, mask, chain = problem
    tags = torch.tensor([[2, -1, 0, -1], [1, -1, -1, -1], [0, 2, 1, -1]])
    target = torch.nn.functional.one_hot(tags.clamp(min=0), N_LABELS).double()
    target = target * (tags >= 0)[..., None]
    found = negative_log_likelihood(scores, mask, chain, target)
    for b, n in enumerate(LENGTHS):
        agree = [
            path for path in all_paths(n)
            if all(tags[b, i] in (-1, label) for i, label in enumerate(path))
        ]  # fmt: skip
        value = np.logaddexp.reduce([path_score(scores[b], chain, path) for path in agree])
        every = np.logaddexp.reduce([path_score(scores[b], chain, path) for path in all_paths(n)])
        assert float(found[b]) == pytest.approx(every - value)


def test_a_sentence_without_tags_costs_nothing(problem):
    scores, mask, chain = problem
    found = negative_log_likelihood(scores, mask, chain, torch.zeros_like(scores))
    assert found.numpy() == pytest.approx(np.zeros(3), abs=1e-9)


def test_gradient_is_expected_minus_observed(problem):
    scores, mask, chain = problem
    scores = scores.clone().requires_grad_(True)
    tags = torch.zeros(3, 4, dtype=torch.int64)
    target = torch.nn.functional.one_hot(tags, N_LABELS).double()
    negative_log_likelihood(scores, mask, chain, target).sum().backward()
    for b, n in enumerate(LENGTHS):
        paths = all_paths(n)
        weight = np.exp([path_score(scores[b].detach(), chain, path) for path in paths])
        marginal = np.zeros((4, N_LABELS))
        for path, w in zip(paths, weight / weight.sum(), strict=True):
            marginal[np.arange(n), list(path)] += w
        marginal[:n, 0] -= 1.0
        assert scores.grad[b].numpy() == pytest.approx(marginal)
