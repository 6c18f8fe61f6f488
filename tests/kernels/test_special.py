"""Functions around Γ against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special as scipy

from seqtruth.kernels.special import digamma, gamma_quantile, log_gamma

positive = st.floats(1e-10, 1e12)


@given(st.lists(positive, max_size=20))
def test_digamma_and_log_gamma(values: list[float]) -> None:
    x = np.array(values)
    np.testing.assert_allclose(digamma(x), scipy.digamma(x), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(log_gamma(x), scipy.gammaln(x), rtol=1e-13, atol=2e-14)


@given(st.floats(0.5, 1e6), st.floats(1e-4, 0.9999))
def test_quantiles_of_gamma_distributions(shape: float, p: float) -> None:
    found = gamma_quantile(np.array([shape]), p)
    np.testing.assert_allclose(found, scipy.gammaincinv(shape, p), rtol=1e-9)


@pytest.mark.parametrize("shape", [(0,), (3,), (2, 3, 4)])
def test_arrays_of_any_shape_and_order(shape: tuple[int, ...]) -> None:
    x = np.asfortranarray(np.random.default_rng(0).random(shape) + 0.1)
    np.testing.assert_allclose(digamma(x), scipy.digamma(x))
