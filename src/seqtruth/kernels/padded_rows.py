"""Rows of label scores, padded to a multiple of four for vector registers (``cpp/padded_rows.hpp``)."""

from __future__ import annotations

import numpy as np

from seqtruth.kernels.arrays import F64


def padded(array: F64, axes: int = 1, fill: float = 0.0) -> F64:
    """A copy whose last ``axes`` axes are a multiple of four long, filled up with ``fill``.

    >>> padded(np.ones(5)).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    """
    kept = array.ndim - axes
    out = np.full((*array.shape[:kept], *(-(-n // 4) * 4 for n in array.shape[kept:])), fill)
    out[tuple(slice(n) for n in array.shape)] = array
    return out
