"""Randomness that depends on names and the seed, and never on the order of the work."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seqtruth.kernels.arrays import I64, U64
from seqtruth.kernels.jit import kernel


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
        _hash(np.frombuffer(data or b"\0", np.uint8), offsets, salt, keys)
    return keys


@kernel
def _hash(data: np.ndarray, offsets: I64, salt: np.uint64, keys: U64) -> None:
    for s in range(len(keys)):
        value = np.uint64(14695981039346656037) ^ salt  # FNV-1a
        for i in range(offsets[s], offsets[s + 1]):
            value = (value ^ np.uint64(data[i])) * np.uint64(1099511628211)
        keys[s] = value


@kernel
def draw(key: np.uint64, i: int, n: int) -> int:
    """A number below ``n`` for place ``i`` of the sentence with this key (SplitMix64)."""
    z = key + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((z ^ (z >> np.uint64(31))) % np.uint64(n))
