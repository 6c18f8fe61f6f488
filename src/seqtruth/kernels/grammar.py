"""Which label may follow which, as tables, and paths held against them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import I64, Bool, Tags
from seqtruth.kernels.jit import kernel


class Grammar(NamedTuple):
    """The rules of a label scheme, as kernels read them.

    start, end : bool[L], may the label open, or close, a sentence?
    allowed : bool[L, L], may the second label stand right after the first?
    is_entity : bool[L], does the label mark (part of) an entity?
    outside : number of ``O``; 0 where the scheme has none.
    """

    start: Bool
    allowed: Bool
    end: Bool
    is_entity: Bool
    outside: int


def is_legal(tags: Tags, offsets: I64, grammar: Grammar) -> Bool:
    """bool[S]: does each sentence's path obey the grammar, sentence start and end included?

    Parameters
    ----------
    tags : tag[T].
    offsets : int64[S+1].
    """
    return np.asarray(count_illegal(tags, offsets, grammar) == 0)


def count_illegal(tags: Tags, offsets: I64, grammar: Grammar) -> I64:
    """int64[S]: forbidden transitions in each sentence, counting start and end; -1 is not judged."""
    out = np.zeros(len(offsets) - 1, np.int64)
    _count_illegal(tags, offsets, grammar, out)
    return out


@kernel
def _count_illegal(tags: Tags, offsets: I64, grammar: Grammar, out: I64) -> None:
    start, allowed, end = grammar.start, grammar.allowed, grammar.end
    for s in range(len(offsets) - 1):
        a, b = offsets[s], offsets[s + 1]
        if a == b:
            continue
        if tags[a] >= 0 and not start[tags[a]]:
            out[s] += 1
        if tags[b - 1] >= 0 and not end[tags[b - 1]]:
            out[s] += 1
        for i in range(a + 1, b):
            if tags[i - 1] >= 0 and tags[i] >= 0 and not allowed[tags[i - 1], tags[i]]:
                out[s] += 1


@kernel
def inconsistency(path: Tags, n: int, grammar: Grammar) -> int:
    """Number of forbidden transitions of a path tag[n], Eq inc, sentence start and end included."""
    if n == 0:
        return 0
    found = 0
    if not grammar.start[path[0]]:
        found += 1
    if not grammar.end[path[n - 1]]:
        found += 1
    for i in range(1, n):
        if not grammar.allowed[path[i - 1], path[i]]:
            found += 1
    return found
