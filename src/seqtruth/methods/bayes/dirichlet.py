"""Dirichlet distributions as arrays of pseudo-counts: the parameters of every probabilistic method.

A parameter array ``n[..., K]`` stands for one Dirichlet over K outcomes at each leading index; the
prior has the same shape. Expected counts are added to the prior and that is the posterior. A method
reads such an array in one of two ways:

========================  =============================  ==========================================
reading                   logarithm for the E-step       term of the objective
========================  =============================  ==========================================
variational               ψ(n) - ψ(Σ n)                  -KL(Dir(n) ‖ Dir(prior))
EM (point estimate)       log(n / Σ n)                   Σ prior · log(n / Σ n)
========================  =============================  ==========================================

The second column is an evidence lower bound's term, or the log posterior under Dirichlet(prior + 1);
added to the log normaliser of the labels each never decreases. A cell whose prior is 0 and that gets
no counts is an outcome that cannot happen.
"""

from __future__ import annotations

import numpy as np

from seqtruth.kernels.arrays import F64
from seqtruth.kernels.chain import FORBIDDEN

#: Point estimates are kept above this, so that one unseen confusion does not veto a label.
SMALLEST = 1e-10
#: The series below are used from here on; smaller arguments are shifted up by recurrence.
_FROM = 8.0
_HALF_LOG_2PI = 0.9189385332046727


def digamma(x: F64) -> F64:
    """ψ(x) for x > 0: recurrence ψ(x) = ψ(x + 1) - 1/x, then the asymptotic series.

    Abramowitz & Stegun (1964), 6.3.5 and 6.3.18; absolute error below 1e-12 for x > 1e-3.

    >>> round(float(digamma(np.array([1.0]))[0]), 12)  # minus Euler's constant
    -0.577215664902
    """
    y = np.array(x, np.float64)
    shift = np.zeros_like(y)
    for _ in range(int(_FROM)):
        small = y < _FROM
        if not small.any():
            break
        shift += np.where(small, 1.0 / y, 0.0)
        y += small
    r = 1.0 / (y * y)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132)))))
    return np.asarray(np.log(y) - 0.5 / y - series - shift)


def log_gamma(x: F64) -> F64:
    """log Γ(x) for x > 0: recurrence, then Stirling's series.

    Abramowitz & Stegun (1964), 6.1.41.

    >>> round(float(np.exp(log_gamma(np.array([5.0]))[0])), 6)
    24.0
    """
    y = np.array(x, np.float64)
    product = np.ones_like(y)
    for _ in range(int(_FROM)):
        small = y < _FROM
        if not small.any():
            break
        product *= np.where(small, y, 1.0)
        y += small
    r = 1.0 / (y * y)
    series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r * (1 / 1188))))) / y
    return np.asarray((y - 0.5) * np.log(y) - y + _HALF_LOG_2PI + series - np.log(product))


def logs(n: F64, variational: bool) -> F64:
    """Expected logarithms, or logarithms of the point estimate, of every outcome."""
    if not variational:
        return np.asarray(np.log(np.maximum(means(n), SMALLEST)))
    there = n > 0
    safe = np.where(there, n, 1.0)
    total = np.maximum(n.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
    return np.where(there, digamma(safe) - digamma(total), FORBIDDEN)


def means(n: F64) -> F64:
    """n / Σ n; zeros where there is nothing."""
    total = n.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(n, total, out=np.zeros(n.shape), where=total > 0))


def objective_term(n: F64, prior: F64, variational: bool) -> float:
    """What these parameters add to the objective; see the table at the top of the module."""
    if not variational:
        return float((prior * logs(n, False)).sum())
    there = prior > 0
    a, b = np.where(there, n, 1.0), np.where(there, prior, 1.0)
    cells = np.where(there, (b - a) * digamma(a) + log_gamma(a) - log_gamma(b), 0.0)
    a_total = np.where(there, n, 0.0).sum(axis=-1)
    b_total = np.where(there, prior, 0.0).sum(axis=-1)
    some = b_total > 0
    a_total, b_total = a_total[some], b_total[some]
    sums = (a_total - b_total) * digamma(a_total) - log_gamma(a_total) + log_gamma(b_total)
    return float(cells.sum() + sums.sum())
