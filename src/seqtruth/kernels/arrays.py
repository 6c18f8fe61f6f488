"""Array types as kernels name them, and how many bytes a tag takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int8]
I16 = npt.NDArray[np.int16]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
#: Label numbers, int8 or int16 (:func:`tag_dtype`); kernels are compiled for the one they meet.
Tags = npt.NDArray[np.signedinteger[Any]]

#: Labels that fit into one byte beside -1, "not labelled".
MAX_ONE_BYTE_LABELS = 127


def tag_dtype(n_labels: int) -> np.dtype[np.signedinteger[Any]]:
    """What label numbers are kept in: one byte, or two where one is not enough.

    >>> tag_dtype(127), tag_dtype(128)
    (dtype('int8'), dtype('int16'))
    """
    return np.dtype(np.int8 if n_labels <= MAX_ONE_BYTE_LABELS else np.int16)
