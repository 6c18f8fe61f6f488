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
from seqtruth.kernels.special import digamma, log_gamma

#: Point estimates are kept above this, so that one unseen confusion does not veto a label.
SMALLEST = 1e-10


#: So many numbers are worked on at a time, so that what is made on the way stays small.
BLOCK = 1 << 22


def _blocks(n: F64) -> list[slice]:
    """Rows of the first axis, some at a time."""
    rows = max(1, BLOCK // max(1, n[:1].size))
    return [slice(a, a + rows) for a in range(0, len(n), rows)]


def logs(n: F64, variational: bool) -> F64:
    """Expected logarithms, or logarithms of the point estimate, of every outcome."""
    if n.size <= BLOCK:
        return _logs(n, variational)
    out = np.empty(n.shape)
    for rows in _blocks(n):
        out[rows] = _logs(n[rows], variational)
    return out


def _logs(n: F64, variational: bool) -> F64:
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
    if n.size <= BLOCK:
        return _objective_term(n, prior, variational)
    return sum(_objective_term(n[rows], prior[rows], variational) for rows in _blocks(n))


def _objective_term(n: F64, prior: F64, variational: bool) -> float:
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
