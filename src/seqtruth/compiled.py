"""How our loops become machine code, and how they run on all cores with one answer.

Kernels are plain functions over flat arrays, compiled by Numba without the GIL and cached on disk.
Parallelism is not inside them: :func:`map_chunks` cuts the sentences into a number of chunks that
depends on the data only, runs the same kernel on each in a thread, and hands the partial results
back *in order*, so that sums are the same bytes whatever the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba.core.event import Event, Listener, register

P = ParamSpec("P")
R = TypeVar("R")

# Array types as kernels name them.
I8 = npt.NDArray[np.int8]
I16 = npt.NDArray[np.int16]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

#: Chunks are cut so that each holds about this many tokens, and never more than MAX_CHUNKS.
TOKENS_PER_CHUNK = 8192
MAX_CHUNKS = 32


#: Every kernel of the modules imported so far.
_KERNELS: list[Any] = []


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` with Numba: no GIL, cached on disk, IEEE division."""
    made = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    _KERNELS.append(made)
    return cast(Callable[P, R], made)


def kernels_are_cached() -> bool:
    """Whether an earlier run has left compiled kernels of the modules imported so far.

    They are beside the source, or in the user's own cache where that folder cannot be written to.
    """
    folders = {Path(made.stats.cache_path) for made in _KERNELS}
    return any(True for folder in folders for _ in folder.glob("*.nbi"))


class _Teller(Listener):
    """Calls a function when a kernel is first compiled; one read from the cache does not count."""

    tell: Callable[[], None] | None = None

    def on_start(self, event: Event) -> None:
        if self.tell is not None and event.data["dispatcher"] in _KERNELS:
            tell, self.tell = self.tell, None
            tell()

    def on_end(self, event: Event) -> None:
        pass


_TELLER = _Teller()
cast(Any, register)("numba:compile", _TELLER)


def when_compiling(tell: Callable[[], None] | None) -> None:
    """From now on call ``tell`` once, when (and if) a kernel has to be compiled; None: nobody."""
    _TELLER.tell = tell


def threads() -> int:
    """Number of worker threads: ``SEQTRUTH_THREADS`` or the cores this process may use."""
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
