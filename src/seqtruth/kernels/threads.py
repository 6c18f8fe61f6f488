"""Work on all cores with one answer.

:func:`map_chunks` cuts the sentences into a number of chunks that depends on the data only, runs the same
kernel on each in a thread, and hands the partial results back *in order*, so that sums are the same bytes
whatever the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import TypeVar

import numpy as np

from seqtruth.kernels.arrays import I64

R = TypeVar("R")

#: Chunks are cut so that each holds about this many tokens, and never more than MAX_CHUNKS.
TOKENS_PER_CHUNK = 8192
MAX_CHUNKS = 32


def threads() -> int:
    """Number of annotator threads: ``SEQTRUTH_THREADS`` or the cores this process may use."""
    if text := os.environ.get("SEQTRUTH_THREADS"):
        return max(1, int(text))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def chunk_bounds(token_offsets: I64) -> I64:
    """Sentence numbers at which to cut, balanced by tokens; depends on the data alone."""
    n_tokens = int(token_offsets[-1])
    n_chunks = max(1, min(MAX_CHUNKS, n_tokens // TOKENS_PER_CHUNK))
    marks = np.arange(1, n_chunks) * (n_tokens / n_chunks)
    inner = np.searchsorted(token_offsets, marks)
    return np.unique(np.concatenate([[0], inner, [len(token_offsets) - 1]]))


def map_chunks(function: Callable[[int, int], R], bounds: I64) -> list[R]:
    """Run ``function(first_sentence, last_sentence)`` on each chunk; results in chunk order."""
    pairs = [(int(a), int(b)) for a, b in pairwise(bounds)]
    n_threads = min(threads(), len(pairs))
    if n_threads <= 1:
        return [function(a, b) for a, b in pairs]
    return list(_pool(threads()).map(lambda pair: function(*pair), pairs))


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Threads are made once; a forked child makes its own."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="seqtruth")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
