"""Logistic regression with a Gaussian prior, for the few numbers by which confidences are corrected."""

from __future__ import annotations

import numpy as np

from seqtruth.kernels.arrays import F64, Bool

#: Steps at most, and the step that is too small to matter.
STEPS, SMALL = 30, 1e-9


def fit_logistic(
    columns: F64,
    right: Bool,
    strength: F64,
    centre: F64 | None = None,
    counts: F64 | None = None,
    base: F64 | None = None,
) -> F64:
    """float64[D]: weights of the columns, by Newton's method with halved steps.

    Parameters
    ----------
    columns : float64[N, D].
    right : bool[N], what they should tell.
    strength, centre : float64[D], how strongly each weight is drawn to its centre (0 where not given).
    counts : float64[N], how much each row counts.
    base : float64[N], log odds that are there without the columns.

    Examples
    --------
    >>> ones = np.ones((100, 1))
    >>> fit_logistic(ones, np.arange(100) < 80, np.array([0.0])).round(3).tolist()  # log(80 / 20)
    [1.386]
    """
    n, d = columns.shape
    count = np.ones(n) if counts is None else counts
    away = np.zeros(n) if base is None else base
    middle = np.zeros(d) if centre is None else centre
    sign = np.where(right, -1.0, 1.0)
    w = middle.copy()

    def loss(w: F64) -> float:
        missed = count @ np.logaddexp(0.0, sign * (away + columns @ w))
        return float(missed + 0.5 * (strength * (w - middle) ** 2).sum())

    for _ in range(STEPS):
        p = 1.0 / (1.0 + np.exp(-(away + columns @ w)))
        slope = columns.T @ (count * (p - right)) + strength * (w - middle)
        bend = (columns * (count * p * (1.0 - p))[:, None]).T @ columns + np.diag(strength)
        step = np.linalg.solve(bend, slope)
        now = loss(w)
        while loss(w - step) > now * (1.0 + 1e-12) and np.abs(step).max() >= SMALL:
            step = step * 0.5
        w = w - step
        if np.abs(step).max() < SMALL:
            break
    return w
