"""Rows of label scores, padded to a multiple of four: exp, chains and best paths at register speed."""

from __future__ import annotations

import numpy as np

from seqtruth.kernels.arrays import F64, I8
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.vectors import (
    add,
    fill,
    load,
    multiply,
    multiply_add,
    pick,
    power_of_two,
    store,
    where_greater,
)

#: Scores closer than this are ties, so that the order of a sum cannot pick the winner.
TIE = 1e-9

LOG2_E = 1.4426950408889634
#: exp of less is taken as 0 (in powers of two; next to the smallest normal number).
LEAST_POWER = -1021.0
#: Adding this to a number leaves it, rounded, in the lowest bits.
ROUND = 6755399441055744.0
#: Totals below are lifted by :data:`LIFT` before their reciprocal is taken.
SMALL, LIFT = 1e-290, 2.0**600
#: Filtered probabilities below count as 0.
REACHED = 1e-305
#: Factors within these bounds are multiplied up, and one logarithm is taken of many.
FACTOR, PRODUCT = 1e60, 1e240


def padded(array: F64, axes: int = 1, fill: float = 0.0) -> F64:
    """A copy whose last ``axes`` axes are a multiple of four long, filled up with ``fill``.

    >>> padded(np.ones(5)).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    """
    room = [(0, 0)] * (array.ndim - axes) + [(0, -n % 4) for n in array.shape[-axes:]]
    out: F64 = np.pad(np.ascontiguousarray(array, np.float64), room, constant_values=fill)
    return out


@kernel
def add_row(rows: F64, r: int, others: F64, o: int, width: int, factor: float) -> None:
    """rows[r] += factor · others[o], rows of ``width``."""
    y, x, f = r * width, o * width, fill(factor)
    for b in range(0, width, 4):
        store(rows, y + b, multiply_add(f, load(others, x + b), load(rows, y + b)))


@kernel
def scale_row(rows: F64, r: int, factor: float) -> None:
    """rows[r] *= factor."""
    width = rows.shape[1]
    y, f = r * width, fill(factor)
    for b in range(0, width, 4):
        store(rows, y + b, multiply(f, load(rows, y + b)))


@kernel
def multiply_row(rows: F64, r: int, others: F64, o: int, factor: float, out: F64, to: int) -> float:
    """out[to] = factor · rows[r] ∘ others[o]; returns its sum."""
    width = rows.shape[1]
    y, x, z = r * width, o * width, to * width
    f, total = fill(factor), fill(0.0)
    for b in range(0, width, 4):
        value = multiply(multiply(f, load(rows, y + b)), load(others, x + b))
        total = add(total, value)
        store(out, z + b, value)
    return float((pick(total, 0) + pick(total, 2)) + (pick(total, 1) + pick(total, 3)))


@kernel
def total_of(rows: F64, r: int) -> float:
    """Sum of a row."""
    width = rows.shape[1]
    y, total = r * width, fill(0.0)
    for b in range(0, width, 4):
        total = add(total, load(rows, y + b))
    return float((pick(total, 0) + pick(total, 2)) + (pick(total, 1) + pick(total, 3)))


@kernel
def top_of(rows: F64, r: int) -> float:
    """Largest entry of a row."""
    width = rows.shape[1]
    y, top = r * width, fill(-np.inf)
    for b in range(0, width, 4):
        value = load(rows, y + b)
        top = where_greater(value, top, value, top)
    even = pick(top, 0) if pick(top, 0) > pick(top, 2) else pick(top, 2)
    odd = pick(top, 1) if pick(top, 1) > pick(top, 3) else pick(top, 3)
    return float(even if even > odd else odd)


@kernel
def exponential_row(rows: F64, r: int) -> float:
    """Replace a row by exp(score - largest score); returns the largest score.

    With x = k + f, |f| ≤ 1/2, 2^x is a polynomial of f times 2^k. Right to 1e-13.
    """
    width = rows.shape[1]
    y, top = r * width, top_of(rows, r)
    least, shift = fill(LEAST_POWER), fill(ROUND)
    for b in range(0, width, 4):
        x = multiply(add(load(rows, y + b), fill(-top)), fill(LOG2_E))
        near = where_greater(least, x, least, x)
        k = add(near, shift)
        f = add(near, multiply(add(k, fill(-ROUND)), fill(-1.0)))
        # ln(2)^n / n! for n = 11, 10, …
        p = multiply_add(fill(4.44553827187081e-10), f, fill(7.054911620801121e-09))
        p = multiply_add(p, f, fill(1.0178086009239696e-07))
        p = multiply_add(p, f, fill(1.3215486790144305e-06))
        p = multiply_add(p, f, fill(1.5252733804059838e-05))
        p = multiply_add(p, f, fill(0.00015403530393381606))
        p = multiply_add(p, f, fill(0.0013333558146428441))
        p = multiply_add(p, f, fill(0.009618129107628477))
        p = multiply_add(p, f, fill(0.055504108664821576))
        p = multiply_add(p, f, fill(0.2402265069591007))
        p = multiply_add(p, f, fill(0.6931471805599453))
        p = multiply_add(p, f, fill(1.0))
        store(rows, y + b, where_greater(least, x, fill(0.0), multiply(p, power_of_two(k))))
    return top


@kernel
def follow(rows: F64, r: int, matrix: F64, n_labels: int, factor: float, out: F64, to: int) -> None:
    """out[to, k] = factor · Σ_j rows[r, j] matrix[j, k]."""
    width = out.shape[1]
    z, half = to * width, n_labels >> 1
    for b in range(0, width, 4):
        even, odd = fill(0.0), fill(0.0)
        for pair in range(half):
            j = 2 * pair
            even = multiply_add(fill(rows[r, j]), load(matrix, j * width + b), even)
            odd = multiply_add(fill(rows[r, j + 1]), load(matrix, (j + 1) * width + b), odd)
        if n_labels & 1:
            j = n_labels - 1
            even = multiply_add(fill(rows[r, j]), load(matrix, j * width + b), even)
        store(out, z + b, multiply(fill(factor), add(even, odd)))


@kernel
def forward_rows(
    e: F64, n: int, start: F64, trans: F64, n_labels: int, alpha: F64, inverse: F64
) -> float:
    """Filtered weights α_i = e_i ∘ (α_{i-1} · A) / c_{i-1} and 1/c_i, c_i = Σ α_i; Σ_i log c_i.

    Where nothing can follow (c_i = 0), the chain is ignored at that token: α_i = e_i.
    """
    total, product = 0.0, 1.0
    for i in range(n):
        if i == 0:
            scale = multiply_row(start, 0, e, 0, 1.0, alpha, 0)
        else:
            follow(alpha, i - 1, trans, n_labels, inverse[i - 1], alpha, i)
            scale = multiply_row(alpha, i, e, i, 1.0, alpha, i)
        if scale <= 0.0:
            scale = total_of(e, i)
            for k in range(e.shape[1]):
                alpha[i, k] = e[i, k]
        if scale < SMALL:
            scale_row(alpha, i, LIFT)
            scale_row(e, i, LIFT)
            scale *= LIFT
            total -= np.log(LIFT)
        inverse[i] = 1.0 / scale
        if 1.0 / FACTOR < scale < FACTOR:
            product *= scale
            if not 1.0 / PRODUCT < product < PRODUCT:
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
        store(beta, width + b, where_greater(reached, fill(REACHED), step, fill(0.0)))
        both = multiply(reached, back)
        total = add(total, both)
        store(e, y + b, both)
    return float((pick(total, 0) + pick(total, 2)) + (pick(total, 1) + pick(total, 3)))


@kernel
def forward_backward_rows(
    e: F64,
    n: int,
    start: F64,
    trans: F64,
    transposed: F64,
    end: F64,
    n_labels: int,
    weight: float,
    alpha: F64,
    inverse: F64,
    beta: F64,
    pairs: F64,
) -> float:
    """Replace the weights ``e[:n]`` of one sentence by its marginals; returns its log normaliser.

    Scaled recursions (Rabiner 1989): β_{i-1} = A · (e_i ∘ β_i) / c_i,  q_i = α_i ∘ β_i / c_i, with α
    and c from :func:`forward_rows`. Adds ``weight`` · α_{i-1}[j] (e_i ∘ β_i / c_i)[k] to
    ``pairs[j, k]``: expected transitions, once multiplied by A[j, k]. ``start`` and ``end`` are one
    row each; ``alpha``, ``inverse`` and ``beta`` (two rows) are work space.
    """
    if n == 0:
        return 0.0
    width = e.shape[1]
    total = forward_rows(e, n, start, trans, n_labels, alpha, inverse)
    scale = multiply_row(alpha, n - 1, end, 0, inverse[n - 1], beta, 0)
    if scale > 0.0:
        total += np.log(scale)
    for k in range(width):
        beta[0, k] = end[0, k] / scale if scale > 0.0 else 1.0
    for i in range(n - 1, -1, -1):
        scale = _backward_row(e, i, alpha, inverse[i], beta)
        if scale >= SMALL:
            scale_row(e, i, 1.0 / scale)
        else:
            for k in range(width):
                e[i, k] = e[i, k] / scale if scale > 0.0 else alpha[i, k] * inverse[i]
        if i > 0:
            factor = weight * inverse[i - 1]
            for j in range(n_labels):
                add_row(pairs, j, beta, 1, width, alpha[i - 1, j] * factor)
            follow(beta, 1, transposed, n_labels, 1.0, beta, 0)
    return float(total)


@kernel
def viterbi_rows(
    scores: F64,
    n: int,
    start: F64,
    trans: F64,
    end: F64,
    n_labels: int,
    best: F64,
    back: F64,
    tags: I8,
    at: int,
) -> None:
    """One sentence's best path into ``tags[at : at + n]``; ``best`` (two rows), ``back`` are work space.

    Ties go to the label that comes first.
    """
    if n == 0:
        return
    width, tie = scores.shape[1], fill(TIE)
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
        if best[final, k] + end[0, k] > best[final, choice] + end[0, choice] + TIE:
            choice = k
    tags[at + n - 1] = choice
    for i in range(n - 1, 0, -1):
        choice = int(back[i, choice])
        tags[at + i - 1] = choice
