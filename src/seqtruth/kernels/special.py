"""Functions around Γ, of every number of an array. (SciPy has them, too, at 140 MB and half a second.)"""

from __future__ import annotations

import numpy as np

from seqtruth.kernels.arrays import F64
from seqtruth.kernels.native import call


def digamma(x: F64) -> F64:
    """ψ(x), the derivative of log Γ, for x > 0.

    >>> float(digamma(np.array([1.0]))[0])  # minus Euler's constant
    -0.57721566490153...
    """
    return _each("digamma", x)


def log_gamma(x: F64) -> F64:
    """log Γ(x), for x > 0.

    >>> round(float(np.exp(log_gamma(np.array([5.0]))[0])), 9)
    24.0
    """
    return _each("log_gamma", x)


def gamma_quantile(shape: F64, p: float) -> F64:
    """The ``p``-quantiles of gamma distributions with these shapes and scale 1.

    >>> gamma_quantile(np.array([1.0]), 0.5).round(12).tolist()  # exponential: log 2
    [0.69314718056]
    """
    return _each("gamma_quantile", shape, p)


def _each(name: str, x: F64, *more: float) -> F64:
    flat = np.ascontiguousarray(x, np.float64).reshape(-1)
    out = np.empty(flat.shape)
    call(name, flat, *more, out)
    return out.reshape(np.shape(x))
