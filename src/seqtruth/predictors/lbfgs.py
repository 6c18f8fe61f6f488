"""Limited-memory BFGS for smooth functions of one flat array.

Vector sums are kernels of ours and not BLAS: their order, and so the result, is the same on any
number of threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from seqtruth.compiled import F64, kernel


def minimise(
    function: Callable[[F64], tuple[float, F64]],
    start: F64,
    *,
    max_iter: int,
    tol: float,
    memory: int = 6,
) -> F64:
    """Minimise ``function`` (value and gradient) from ``start``.

    Two-loop recursion with a backtracking line search (Armijo); pairs of negative curvature are left
    out. Stops when the value falls by less than ``tol`` of itself, or after ``max_iter`` steps.

    References
    ----------
    Nocedal & Wright (2006), Numerical Optimization, Algorithm 7.4. doi:10.1007/978-0-387-40065-5
    """
    x = start.copy()
    value, gradient = function(x)
    pairs: deque[tuple[F64, F64, float]] = deque(maxlen=memory)
    for _ in range(max_iter):
        direction = -_apply_inverse_hessian(gradient, pairs)
        slope = dot(direction, gradient)
        if slope >= 0:  # numerical trouble: fall back on steepest descent
            pairs.clear()
            direction, slope = -gradient, -dot(gradient, gradient)
        if slope == 0:
            break
        step = 1.0 if pairs else 1.0 / max(1.0, float(np.abs(gradient).sum()))
        if not pairs:
            step = max(step, 1e-3 / max(1e-12, float(np.sqrt(-slope))))
        for _ in range(25):
            new = x + step * direction
            new_value, new_gradient = function(new)
            if new_value <= value + 1e-4 * step * slope:
                break
            step *= 0.5
        else:
            break
        change, turn = new - x, new_gradient - gradient
        curvature = dot(change, turn)
        if curvature > 1e-10:
            pairs.append((change, turn, curvature))
        fall = value - new_value
        x, value, gradient = new, new_value, new_gradient
        if fall <= tol * max(1.0, abs(value)):
            break
    return x


def _apply_inverse_hessian(gradient: F64, pairs: deque[tuple[F64, F64, float]]) -> F64:
    q = gradient.copy()
    factors = []
    for change, turn, curvature in reversed(pairs):
        factor = dot(change, q) / curvature
        _add(q, -factor, turn)
        factors.append(factor)
    if pairs:
        _, turn, curvature = pairs[-1]
        q *= curvature / dot(turn, turn)
    for (change, turn, curvature), factor in zip(pairs, reversed(factors), strict=True):
        _add(q, factor - dot(turn, q) / curvature, change)
    return q


@kernel
def dot(x: F64, y: F64) -> float:
    """Σ x·y in four interleaved sums, so that the processor need not wait for each."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    n = len(x) // 4 * 4
    for i in range(0, n, 4):
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
    for i in range(n, len(x)):
        a += x[i] * y[i]
    return (a + b) + (c + d)


@kernel
def _add(x: F64, factor: float, y: F64) -> None:
    for i in range(len(x)):
        x[i] += factor * y[i]
