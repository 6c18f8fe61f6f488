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


def blocks(n: F64) -> list[slice]:
    """Rows of the first axis, some at a time."""
    rows = max(1, BLOCK // max(1, n[:1].size))
    return [slice(a, a + rows) for a in range(0, len(n), rows)]


def logs(n: F64, variational: bool, prior: F64 | None = None) -> F64:
    """Expected logarithms, or logarithms of the point estimate, of every outcome.

    Where ``prior`` is given, cells that are still at theirs are not worked out one by one: most are, where
    annotators have said little.
    """
    if n.size <= BLOCK:
        return _logs(n, variational, prior)
    out = np.empty(n.shape)
    for rows in blocks(n):
        out[rows] = _logs(n[rows], variational, None if prior is None else prior[rows])
    return out


def _logs(n: F64, variational: bool, prior: F64 | None) -> F64:
    if not variational:
        return np.asarray(np.log(np.maximum(means(n), SMALLEST)))
    total = np.maximum(n.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
    return np.where(n > 0, _digamma(n, prior) - digamma(total), FORBIDDEN)


def _digamma(n: F64, prior: F64 | None) -> F64:
    """ψ(n), and anything where n is 0."""
    if prior is None:
        return digamma(np.where(n > 0, n, 1.0))
    first = _alike(prior)
    out = np.empty(n.shape)
    out[...] = digamma(np.where(first > 0, first, 1.0))
    moved = np.flatnonzero(n != first)
    some = n.reshape(-1)[moved]
    out.reshape(-1)[moved] = digamma(np.where(some > 0, some, 1.0))
    return out


def _alike(prior: F64) -> F64:
    """One row of a prior that is the same for all annotators and kept once; else the prior."""
    return prior[:1] if prior.ndim > 1 and prior.strides[0] == 0 else prior


def means(n: F64) -> F64:
    """n / Σ n; zeros where there is nothing."""
    total = n.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(n, total, out=np.zeros(n.shape), where=total > 0))


def objective_term(n: F64, prior: F64, variational: bool) -> float:
    """What these parameters add to the objective; see the table at the top of the module."""
    if n.size <= BLOCK:
        return _objective_term(n, prior, variational)
    return sum(_objective_term(n[rows], prior[rows], variational) for rows in blocks(n))


def _objective_term(n: F64, prior: F64, variational: bool) -> float:
    if not variational:
        return float((prior * logs(n, False)).sum())
    # what is still at its prior adds exactly nothing: KL is made of (b - a) ψ(a) + log Γ(a) - log Γ(b)
    first = _alike(prior)
    cells, moved = np.zeros(n.shape), np.flatnonzero((n != first) & (first > 0))
    a, place = n.reshape(-1)[moved], moved % max(first.size, 1)
    b, b_log = first.reshape(-1)[place], log_gamma(np.where(first > 0, first, 1.0)).reshape(-1)
    cells.reshape(-1)[moved] = (b - a) * digamma(a) + log_gamma(a) - b_log[place]
    a_total = np.where(first > 0, n, 0.0).sum(axis=-1)
    b_total = np.broadcast_to(np.where(first > 0, first, 0.0).sum(axis=-1), a_total.shape)
    some = b_total > 0
    a_total, b_total = a_total[some], b_total[some]
    sums, moved = np.zeros(a_total.shape), np.flatnonzero(a_total != b_total)
    a, b = a_total[moved], b_total[moved]
    sums[moved] = (a - b) * digamma(a) - log_gamma(a) + log_gamma(b)
    return float(cells.sum() + sums.sum())
