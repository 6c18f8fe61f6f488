"""L-BFGS: the plain two-loop recursion is followed to the last bit."""

from __future__ import annotations

from collections import deque

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seqtruth.predictors.crf.lbfgs import dot, minimise


def plain(function, x, max_iter, tol, memory=6):
    value, gradient = function(x)
    pairs = deque(maxlen=memory)
    for _ in range(max_iter):
        q, factors = gradient.copy(), []
        for change, turn, curvature in reversed(pairs):
            factors.append(dot(change, q) / curvature)
            q += -factors[-1] * turn
        if pairs:
            q *= pairs[-1][2] / dot(pairs[-1][1], pairs[-1][1])
        for change, turn, curvature in pairs:
            q += (factors.pop() - dot(turn, q) / curvature) * change
        direction, slope = -q, dot(-q, gradient)
        if slope >= 0:
            pairs.clear()
            direction, slope = -gradient, -dot(gradient, gradient)
        if slope == 0:
            break
        step = 1.0
        if not pairs:
            step = max(1 / max(1.0, np.abs(gradient).sum()), 1e-3 / max(1e-12, np.sqrt(-slope)))
        for _ in range(25):
            new = x + step * direction
            new_value, new_gradient = function(new)
            if new_value <= value + 1e-4 * step * slope:
                break
            step *= 0.5
        else:
            break
        if (curvature := dot(new - x, new_gradient - gradient)) > 1e-10:
            pairs.append((new - x, new_gradient - gradient, curvature))
        fall, x, value, gradient = value - new_value, new, new_value, new_gradient
        if fall <= tol * max(1.0, abs(value)):
            break
    return x


def wavy(seed: int, n: int, again: np.ndarray | None = None):
    """Neither convex nor scaled; the gradient in the same array each time where one is given."""
    rng = np.random.default_rng(seed)
    scale, phase = np.exp(rng.normal(0, 2, n)), rng.normal(0, 3, n)

    def function(x):
        slope = scale * (x - phase) + 3.0 * np.cos(3 * x)
        value = float((0.5 * scale * (x - phase) ** 2 + np.sin(3 * x)).sum())
        if again is None:
            return value, slope
        again[:] = slope
        return value, again

    return function


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 23), st.integers(1, 4), st.booleans())
def test_same_steps_as_the_plain_way(seed: int, n: int, memory: int, same_array: bool) -> None:
    start = np.random.default_rng(seed).normal(size=n)
    before = start.copy()
    expected = plain(wavy(seed, n), start, 40, 1e-9, memory)
    again = np.empty(n) if same_array else None
    found = minimise(wavy(seed, n, again), start, max_iter=40, tol=1e-9, memory=memory)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(start, before)
