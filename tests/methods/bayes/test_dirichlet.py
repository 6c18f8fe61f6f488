"""Dirichlet arrays against SciPy and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from seqtruth.kernels.chain import FORBIDDEN
from seqtruth.methods.bayes import dirichlet


def test_expected_logs_are_those_of_samples():
    n = np.array([2.0, 5.0, 0.7])
    samples = np.random.default_rng(0).dirichlet(n, 200_000)
    np.testing.assert_allclose(
        dirichlet.logs(n, variational=True), np.log(samples).mean(axis=0), atol=0.02
    )


def test_variational_term_is_minus_the_divergence():
    n, prior = np.array([2.0, 5.0, 3.5]), np.array([1.0, 2.0, 0.5])
    samples = np.random.default_rng(1).dirichlet(n, 200_000).T
    divergence = (
        stats.dirichlet.logpdf(samples, n) - stats.dirichlet.logpdf(samples, prior)
    ).mean()
    assert dirichlet.objective_term(n, prior, True) == pytest.approx(-divergence, abs=0.02)
    assert dirichlet.objective_term(prior, prior, True) == pytest.approx(0.0, abs=1e-12)


def test_point_estimate_and_its_term():
    n, prior = np.array([[2.0, 6.0]]), np.array([[1.0, 1.0]])
    np.testing.assert_allclose(dirichlet.logs(n, False), np.log([[0.25, 0.75]]))
    expected = stats.dirichlet.logpdf([0.25, 0.75], [2.0, 2.0]) - np.log(6.0)
    assert dirichlet.objective_term(n, prior, False) == pytest.approx(expected)


def test_what_cannot_happen_has_no_mass_and_no_term():
    n, prior = np.array([2.0, 0.0, 3.0]), np.array([1.0, 0.0, 1.0])
    logs = dirichlet.logs(n, True)
    assert logs[1] == FORBIDDEN
    np.testing.assert_allclose(logs[[0, 2]], dirichlet.logs(n[[0, 2]], True))
    assert dirichlet.objective_term(n, prior, True) == pytest.approx(
        dirichlet.objective_term(n[[0, 2]], prior[[0, 2]], True)
    )
    assert dirichlet.objective_term(np.zeros(3), np.zeros(3), True) == 0.0
