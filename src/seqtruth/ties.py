"""Ties, by name, and randomness that depends on the sentence and not on the order of the work."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seqtruth.compiled import F64, I8, I64, U64, kernel
from seqtruth.errors import ParameterError
from seqtruth.lanes import TIE
from seqtruth.scheme import Scheme

RULES = ("alphabetical", "entity", "O", "random")


def order(rule: str, scheme: Scheme) -> I8:
    """Labels in the order in which a tie prefers them (``random`` starts from alphabetical)."""
    if rule not in RULES:
        raise ParameterError(f"ties must be one of {', '.join(RULES)}", got=repr(rule))
    outside = ~scheme.is_entity
    if rule == "entity":
        return np.argsort(outside, kind="stable").astype(np.int8)
    if rule == "O":
        return np.argsort(~outside, kind="stable").astype(np.int8)
    return np.arange(len(scheme.labels), dtype=np.int8)


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


@kernel
def pick(values: F64, preference: I8, random: bool, key: np.uint64, i: int) -> int:
    """Label with the largest value; near-equal values are a tie for ``preference`` or the draw."""
    top = values[0]
    for k in range(1, len(values)):
        top = max(top, values[k])
    bar = top - TIE * max(abs(top), 1e-300)
    tied = 0
    for k in range(len(values)):
        if values[k] >= bar:
            tied += 1
    chosen = draw(key, i, tied) if random and tied > 1 else 0
    for place in range(len(preference)):
        label = preference[place]
        if values[label] >= bar:
            if chosen == 0:
                return int(label)
            chosen -= 1
    return int(preference[0])
