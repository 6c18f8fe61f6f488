"""Limited-memory BFGS for smooth functions of one flat array."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from seqtruth.compiled import F64


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
        slope = float(direction @ gradient)
        if slope >= 0:  # numerical trouble: fall back on steepest descent
            pairs.clear()
            direction, slope = -gradient, -float(gradient @ gradient)
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
        curvature = float(change @ turn)
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
        factor = float(change @ q) / curvature
        q -= factor * turn
        factors.append(factor)
    if pairs:
        _, turn, curvature = pairs[-1]
        q *= curvature / float(turn @ turn)
    for (change, turn, curvature), factor in zip(pairs, reversed(factors), strict=True):
        q += (factor - float(turn @ q) / curvature) * change
    return q
