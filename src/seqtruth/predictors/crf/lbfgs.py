"""Limited-memory BFGS for smooth functions of one flat array.

Vector sums are kernels of ours and not BLAS: their order, and so the result, is the same on any
number of threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F32, F64
from seqtruth.kernels.native import call
from seqtruth.stopping import check_stop

#: Steps of the past: they only shape the next one, and single precision will do.
Kept = F32 | F64


class _Pair(NamedTuple):
    """A step and how the gradient turned on it."""

    change: Kept
    turn: Kept
    curvature: float  # change · turn
    sharpness: float  # turn · turn


def minimise(
    function: Callable[[F64], tuple[float, F64]],
    start: F64,
    *,
    max_iter: int,
    tol: float,
    memory: int = 6,
    single: bool = False,
) -> F64:
    """Minimise ``function`` (value and gradient) from ``start``.

    Two-loop recursion with a backtracking line search (Armijo); pairs of negative curvature are left
    out. Stops when the value falls by less than ``tol`` of itself, or after ``max_iter`` steps. The
    function may give its gradient in the same array each time. ``single`` keeps the steps of the past in
    single precision: a third less memory, and less to fetch.

    References
    ----------
    Nocedal & Wright (2006), Numerical Optimization, Algorithm 7.4. doi:10.1007/978-0-387-40065-5
    """
    # in one piece: a large one is given large pages
    x, new, ascent, gradient = np.empty((4, len(start)))
    rows = np.empty((2 * memory + 2, len(start)), np.float32 if single else np.float64)
    spares = list(zip(rows[::2], rows[1::2], strict=True))
    x[:] = start
    value, new_gradient = function(x)
    gradient[:] = new_gradient
    pairs: deque[_Pair] = deque(maxlen=memory)
    for _ in range(max_iter):
        slope = -_apply_inverse_hessian(gradient, pairs, ascent)
        if slope >= 0:  # numerical trouble: fall back on steepest descent
            spares += [pair[:2] for pair in pairs]
            pairs.clear()
            slope = -_apply_inverse_hessian(gradient, pairs, ascent)
        if slope == 0:
            break
        step = 1.0 if pairs else 1.0 / max(1.0, float(np.abs(gradient).sum()))
        if not pairs:
            step = max(step, 1e-3 / max(1e-12, float(np.sqrt(-slope))))
        for _ in range(25):
            check_stop()
            add(x, -step, ascent, new)
            new_value, new_gradient = function(new)
            if new_value <= value + 1e-4 * step * slope:
                break
            step *= 0.5
        else:
            break
        curvature, sharpness = _differences(x, new, gradient, new_gradient, *spares[-1])
        if curvature > 1e-10:
            pair = _Pair(*spares.pop(), curvature, sharpness)
            if len(pairs) == memory:
                spares.append(pairs[0][:2])
            pairs.append(pair)
        fall = value - new_value
        x, new, value = new, x, new_value
        if fall <= tol * max(1.0, abs(value)):
            break
    return x.copy()


def _apply_inverse_hessian(gradient: F64, pairs: deque[_Pair], q: F64) -> float:
    """The inverse Hessian times the gradient into ``q``; returns q · gradient.

    Every pass over ``q`` ends with the product that the next one needs.
    """
    if not pairs:
        q[:] = gradient
        return dot(gradient, gradient)
    changes, turns = [pair.change for pair in pairs], [pair.turn for pair in pairs]
    last, factors, source = pairs[-1], [], gradient
    product = dot(last.change, gradient)
    for n in reversed(range(len(pairs))):
        factors.append(product / pairs[n].curvature)
        follows = changes[n - 1] if n else turns[0]
        scale = 1.0 if n else last.curvature / last.sharpness
        product = _add_dot(source, -factors[-1], turns[n], scale, follows, q)
        source = q
    after: list[Kept] = [*turns[1:], gradient]
    for pair, behind in zip(pairs, after, strict=True):
        factor = factors.pop() - product / pair.curvature
        product = _add_dot(q, factor, pair.change, 1.0, behind, q)
    return product


def dot(x: Kept, y: F64) -> float:
    """Σ x·y in four interleaved sums, so that the processor need not wait for each."""
    return float(call("dot", x, y))


def add(x: F64, factor: float, y: F64, out: F64) -> None:
    """x + factor · y into ``out``, which may be x."""
    call("add_vector", x, factor, y, out)


def _add_dot(x: F64, factor: float, y: Kept, scale: float, z: Kept, out: F64) -> float:
    """(x + factor · y) · scale into ``out`` (which may be x), and its :func:`dot` with z."""
    return float(call("add_dot", x, factor, y, scale, z, out))


def _differences(
    x: F64, new: F64, gradient: F64, new_gradient: F64, change: Kept, turn: Kept
) -> tuple[float, float]:
    """new - x and new_gradient - gradient; change · turn and turn · turn. Keeps the new gradient."""
    products = np.empty(2)
    call("differences", x, new, gradient, new_gradient, change, turn, products)
    return float(products[0]), float(products[1])
