"""Quantiles of the chi-square distribution."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64
from seqtruth.kernels.jit import kernel


def chi_square_quantile(p: float, freedom: npt.ArrayLike) -> F64:
    """float64[n]: x with P(χ² <= x) = p, for each number of degrees of freedom (> 0, any real).

    Solves P(a, x/2) = p, a = freedom/2, for the regularised incomplete gamma function P (series or
    continued fraction, whichever converges), by Newton's rule kept inside a shrinking bracket.

    References
    ----------
    Press et al. (2007), Numerical Recipes, 6.2. Wilson & Hilferty (1931), doi:10.1073/pnas.17.12.684

    >>> chi_square_quantile(0.95, [1, 10]).round(4).tolist()
    [3.8415, 18.307]
    """
    degrees = np.atleast_1d(np.asarray(freedom, np.float64))
    if not 0 < p < 1:
        raise ParameterError("a quantile needs a probability between 0 and 1", got=str(p))
    if not (degrees > 0).all():
        raise ParameterError("degrees of freedom must be positive", got=str(degrees.min()))
    out = np.empty(len(degrees))
    _quantiles(p, degrees, _normal_quantile(p), out)
    return out


def _normal_quantile(p: float) -> float:
    """z with Φ(z) = p, by bisection on the error function (one number, so speed is no matter)."""
    low, high = -40.0, 40.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if 0.5 * math.erfc(-middle / math.sqrt(2.0)) < p:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@kernel
def _quantiles(p: float, degrees: F64, z: float, out: F64) -> None:
    for k in range(len(degrees)):
        a = 0.5 * degrees[k]
        spread = 1.0 / (9.0 * a)
        x = a * (1.0 - spread + z * math.sqrt(spread)) ** 3  # Wilson-Hilferty
        if degrees[k] < 2.0 or x <= 0.0:  # near 0, P(a, x) ≈ x^a / Γ(a + 1)
            x = math.exp((math.log(p) + math.lgamma(a + 1.0)) / a)
        low, high = 0.0, math.inf
        for _ in range(200):
            error = _gamma_p(a, x) - p
            if error > 0.0:
                high = x
            else:
                low = x
            slope = math.exp((a - 1.0) * math.log(x) - x - math.lgamma(a))
            new = x - error / slope if slope > 0.0 else -1.0
            if not (low < new < high):
                new = 0.5 * (low + high) if high < math.inf else 2.0 * x
            moved = abs(new - x)
            x = new
            if moved <= 1e-14 * x:
                break
        out[k] = 2.0 * x


@kernel
def _gamma_p(a: float, x: float) -> float:
    """Regularised lower incomplete gamma function P(a, x)."""
    if x <= 0.0:
        return 0.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    limit = 200 + 20 * int(math.sqrt(max(a, x)))
    if x < a + 1.0:
        term = 1.0 / a
        total, at = term, a
        for _ in range(limit):
            at += 1.0
            term *= x / at
            total += term
            if term < total * 1e-17:
                break
        return front * total
    tiny = 1e-300  # Lentz's rule for the continued fraction of 1 - P
    b = x + 1.0 - a
    c, d = 1.0 / tiny, 1.0 / b
    value = d
    for i in range(1, limit):
        factor = -i * (i - a)
        b += 2.0
        d = factor * d + b
        d = 1.0 / (d if abs(d) > tiny else tiny)
        c = b + factor / c
        c = c if abs(c) > tiny else tiny
        step = c * d
        value *= step
        if abs(step - 1.0) < 1e-16:
            break
    return 1.0 - front * value
