"""Randomness that depends on names and the seed, and never on the order of the work."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seqtruth.kernels.arrays import U64
from seqtruth.kernels.native import call


def sentence_keys(ids: pa.Array, seed: int) -> U64:
    """A random number per sentence from the seeded generator and the sentence's id.

    Drawing by id and not by position keeps the answer the same when sentences are reordered or
    spread over partitions.
    """
    salt = np.random.default_rng(seed).integers(1, 2**63, dtype=np.uint64)
    column = ids.cast(pa.large_string())
    keys = np.empty(len(column), np.uint64)
    if len(column):
        offsets = np.frombuffer(column.buffers()[1], np.int64)
        offsets = offsets[column.offset : column.offset + len(column) + 1]
        data = column.buffers()[2]
        call("hash_ids", np.frombuffer(data or b"\0", np.uint8), offsets, salt, keys)
    return keys


def draw(key: np.uint64, i: int, n: int) -> int:
    """A number below ``n`` for place ``i`` of the sentence with this key (SplitMix64)."""
    return int(call("draw", key, i, n))
