"""The recursions of a label chain on one sentence: filter, smoother, best path.

They work on padded rows (:mod:`seqtruth.kernels.padded_rows`), in work space that their callers keep from
one sentence to the next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F64, Tags
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.padded_rows import (
    add_row,
    multiply_matrix,
    multiply_row,
    scale_row,
    total_of,
)
from seqtruth.kernels.simd import add, fill, load, multiply, pick, store, where_greater
from seqtruth.kernels.ties import SCORE_TIE

#: Totals below are multiplied by :data:`LIFT_FACTOR` before their reciprocal is taken.
LEAST_TOTAL, LIFT_FACTOR = 1e-290, 2.0**600
#: Filtered probabilities below count as 0.
LEAST_PROBABILITY = 1e-305
#: Factors within these bounds are multiplied up, and one logarithm is taken of many.
LARGEST_FACTOR, LARGEST_PRODUCT = 1e60, 1e240


class PaddedChain(NamedTuple):
    """A label chain's weights, or their logarithms, as padded rows.

    start, end : float64[1, width].
    transition : float64[width, width], (from, to); ``transposed`` is (to, from).
    n_labels : L, the rest of ``width`` being padding.
    """

    start: F64
    transition: F64
    transposed: F64
    end: F64
    n_labels: int


class SmootherSpace(NamedTuple):
    """Work space for sentences of up to n tokens.

    alpha : float64[n, width], filtered weights.
    inverse : float64[n], 1 / their sums.
    beta : float64[2, width].
    """

    alpha: F64
    inverse: F64
    beta: F64


class ViterbiSpace(NamedTuple):
    """Work space for sentences of up to n tokens: ``best`` float64[2, width], ``back`` float64[n, width]."""

    best: F64
    back: F64


@kernel
def smoother_space(longest: int, width: int) -> SmootherSpace:
    """For sentences of up to ``longest`` tokens."""
    return SmootherSpace(np.empty((longest, width)), np.empty(longest), np.empty((2, width)))


@kernel
def viterbi_space(longest: int, width: int) -> ViterbiSpace:
    """For sentences of up to ``longest`` tokens."""
    return ViterbiSpace(np.empty((2, width)), np.empty((longest, width)))


@kernel
def filter_sentence(e: F64, n: int, chain: PaddedChain, space: SmootherSpace) -> float:
    """Filtered weights α_i = e_i ∘ (α_{i-1} · A) / c_{i-1} and 1/c_i, c_i = Σ α_i; Σ_i log c_i.

    Where nothing can follow (c_i = 0), the chain is ignored at that token: α_i = e_i.
    """
    alpha, inverse = space.alpha, space.inverse
    total, product = 0.0, 1.0
    for i in range(n):
        if i == 0:
            scale = multiply_row(chain.start, 0, e, 0, 1.0, alpha, 0)
        else:
            multiply_matrix(
                alpha, i - 1, chain.transition, chain.n_labels, inverse[i - 1], alpha, i
            )
            scale = multiply_row(alpha, i, e, i, 1.0, alpha, i)
        if scale <= 0.0:
            scale = total_of(e, i)
            for k in range(e.shape[1]):
                alpha[i, k] = e[i, k]
        if scale < LEAST_TOTAL:
            scale_row(alpha, i, LIFT_FACTOR)
            scale_row(e, i, LIFT_FACTOR)
            scale *= LIFT_FACTOR
            total -= np.log(LIFT_FACTOR)
        inverse[i] = 1.0 / scale
        if 1.0 / LARGEST_FACTOR < scale < LARGEST_FACTOR:
            product *= scale
            if not 1.0 / LARGEST_PRODUCT < product < LARGEST_PRODUCT:
                total += np.log(product)
                product = 1.0
        else:
            total += np.log(scale)
    return float(total + np.log(product))


@kernel
def _backward_row(e: F64, i: int, alpha: F64, inverse: float, beta: F64) -> float:
    """beta[1] = e[i] ∘ beta[0] / c_i, then e[i] = alpha[i] ∘ beta[0] / c_i; returns the sum of e[i].

    Labels that cannot be reached have no part in beta[1], where they would only grow without bound.
    """
    width = e.shape[1]
    y, f, total = i * width, fill(inverse), fill(0.0)
    for b in range(0, width, 4):
        reached, back = multiply(f, load(alpha, y + b)), load(beta, b)
        step = multiply(multiply(f, load(e, y + b)), back)
        store(beta, width + b, where_greater(reached, fill(LEAST_PROBABILITY), step, fill(0.0)))
        both = multiply(reached, back)
        total = add(total, both)
        store(e, y + b, both)
    return float((pick(total, 0) + pick(total, 2)) + (pick(total, 1) + pick(total, 3)))


@kernel
def smooth_sentence(
    e: F64, n: int, chain: PaddedChain, weight: float, space: SmootherSpace, pairs: F64
) -> float:
    """Replace the weights ``e[:n]`` of one sentence by its marginals; returns its log normaliser.

    Scaled recursions (Rabiner 1989): β_{i-1} = A · (e_i ∘ β_i) / c_i,  q_i = α_i ∘ β_i / c_i, with α
    and c from :func:`filter_sentence`. Adds ``weight`` · α_{i-1}[j] (e_i ∘ β_i / c_i)[k] to
    ``pairs[j, k]``: expected transitions, once multiplied by A[j, k].

    Parameters
    ----------
    e : float64[≥ n, width].
    pairs : float64[≥ L, width].
    """
    if n == 0:
        return 0.0
    alpha, inverse, beta = space
    width = e.shape[1]
    total = filter_sentence(e, n, chain, space)
    scale = multiply_row(alpha, n - 1, chain.end, 0, inverse[n - 1], beta, 0)
    if scale > 0.0:
        total += np.log(scale)
    for k in range(width):
        beta[0, k] = chain.end[0, k] / scale if scale > 0.0 else 1.0
    for i in range(n - 1, -1, -1):
        scale = _backward_row(e, i, alpha, inverse[i], beta)
        if scale >= LEAST_TOTAL:
            scale_row(e, i, 1.0 / scale)
        else:
            for k in range(width):
                e[i, k] = e[i, k] / scale if scale > 0.0 else alpha[i, k] * inverse[i]
        if i > 0:
            factor = weight * inverse[i - 1]
            for j in range(chain.n_labels):
                add_row(pairs, j, beta, 1, width, alpha[i - 1, j] * factor)
            multiply_matrix(beta, 1, chain.transposed, chain.n_labels, 1.0, beta, 0)
    return float(total)


@kernel
def viterbi_sentence(
    scores: F64, n: int, logs: PaddedChain, space: ViterbiSpace, tags: Tags, at: int
) -> None:
    """One sentence's best path into ``tags[at : at + n]``; ties go to the label that comes first.

    Parameters
    ----------
    scores : float64[≥ n, width], logarithms.
    logs : the chain's logarithms.
    """
    if n == 0:
        return
    best, back = space
    start, trans, end, n_labels = logs.start, logs.transition, logs.end, logs.n_labels
    width, tie = scores.shape[1], fill(SCORE_TIE)
    for k in range(width):
        best[0, k] = start[0, k] + scores[0, k]
    for i in range(1, n):
        now, before = i & 1, 1 - (i & 1)
        for b in range(0, width, 4):
            top, source = add(fill(best[before, 0]), load(trans, b)), fill(0.0)
            for j in range(1, n_labels):
                value = add(fill(best[before, j]), load(trans, j * width + b))
                bar = add(top, tie)
                source = where_greater(value, bar, fill(float(j)), source)
                top = where_greater(value, bar, value, top)
            store(best, now * width + b, add(top, load(scores, i * width + b)))
            store(back, i * width + b, source)
    final, choice = (n - 1) & 1, 0
    for k in range(1, n_labels):
        if best[final, k] + end[0, k] > best[final, choice] + end[0, choice] + SCORE_TIE:
            choice = k
    tags[at + n - 1] = choice
    for i in range(n - 1, 0, -1):
        choice = int(back[i, choice])
        tags[at + i - 1] = choice
