"""Which label may follow which, as tables, and paths held against them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import I64, Bool, Tags
from seqtruth.kernels.native import call


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
    call("count_illegal", tags, offsets, grammar, out)
    return out


def inconsistency(path: Tags, grammar: Grammar) -> int:
    """Number of forbidden transitions of one path tag[n], Eq inc, sentence start and end included."""
    return int(call("count_inconsistency", path, grammar))
