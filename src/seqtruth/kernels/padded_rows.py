"""Arithmetic on rows of label scores that are padded to a multiple of four, at the speed of vector registers.

``rows`` is float64[any, width]; a row is named by its number.
"""

from __future__ import annotations

import numpy as np

from seqtruth.kernels.arrays import F64
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.simd import (
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

LOG2_E = 1.4426950408889634
#: exp of less is taken as 0 (in powers of two; next to the smallest normal number).
LEAST_EXPONENT = -1021.0
#: Adding this to a number leaves it, rounded, in the lowest bits.
ROUNDING_SHIFT = 6755399441055744.0


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
    least, shift = fill(LEAST_EXPONENT), fill(ROUNDING_SHIFT)
    for b in range(0, width, 4):
        x = multiply(add(load(rows, y + b), fill(-top)), fill(LOG2_E))
        near = where_greater(least, x, least, x)
        k = add(near, shift)
        f = add(near, multiply(add(k, fill(-ROUNDING_SHIFT)), fill(-1.0)))
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
def multiply_matrix(
    rows: F64, r: int, matrix: F64, n_labels: int, factor: float, out: F64, to: int
) -> None:
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
