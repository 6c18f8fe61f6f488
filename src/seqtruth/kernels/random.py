"""Randomness that depends on names and the seed, and never on the order of the work."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seqtruth.kernels.arrays import F64, U64
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


def uniform_by_name(names: pa.Array, seed: int) -> F64:
    """float64[N], from 0 to below 1: a number for each name, the same wherever it stands."""
    keys = sentence_keys(names, seed)
    keys = (keys ^ (keys >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    keys ^= keys >> np.uint64(33)  # names that differ in their last letter only are far apart now
    return np.asarray((keys >> np.uint64(11)) * 2.0**-53)


def draw(key: np.uint64, i: int, n: int) -> int:
    """A number below ``n`` for place ``i`` of the sentence with this key (SplitMix64)."""
    return int(call("draw", key, i, n))
