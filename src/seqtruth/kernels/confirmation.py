"""How often what others claim is claimed by one more source, too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import I16, I64, Bool
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.views import CrowdView


class Confirmations(NamedTuple):
    """Counts of claims, added to by :func:`count_confirmations`.

    asked : int64[W, K, 2], tokens a source labelled at which one other (two or more others) claim a type.
    given : int64[W, K, 2], those at which the source claims it, too.
    claims : int64[W, K], tokens at which a source claims a type.
    marked : int64[2], tokens at which anybody claims anything, and labels given there.
    """

    asked: I64
    given: I64
    claims: I64
    marked: I64


@kernel
def count_confirmations(
    crowd: CrowdView, first: int, last: int, type_of: I16, counted: Bool, out: Confirmations
) -> None:
    """Count on the sentences first … last - 1.

    Parameters
    ----------
    type_of : int16[L], each label's type; -1: claims nothing.
    counted : bool[W], sources that count; of all others only ``claims`` are counted.
    """
    support = np.zeros(out.claims.shape[1], np.int64)
    named = np.zeros(out.claims.shape[1], np.int64)
    for s in range(first, last):
        n = crowd.token_offsets[s + 1] - crowd.token_offsets[s]
        begin, row = crowd.tag_offsets[s], crowd.sentence_rows[s]
        n_rows = crowd.sentence_rows[s + 1] - row
        for i in range(n):
            n_named = 0
            for r in range(n_rows):
                tag = crowd.tags[begin + r * n + i]
                if tag < 0 or type_of[tag] < 0:
                    continue
                kind, who = type_of[tag], crowd.row_annotator[row + r]
                out.claims[who, kind] += 1
                if counted[who]:
                    if support[kind] == 0:
                        named[n_named] = kind
                        n_named += 1
                    support[kind] += 1
            if n_named == 0:
                continue
            out.marked[0] += 1
            for r in range(n_rows):
                tag, who = crowd.tags[begin + r * n + i], crowd.row_annotator[row + r]
                if tag < 0 or not counted[who]:
                    continue
                out.marked[1] += 1
                for x in range(n_named):
                    kind = named[x]
                    mine = type_of[tag] == kind
                    others = support[kind] - mine
                    if others > 0:
                        out.asked[who, kind, min(others, 2) - 1] += 1
                        out.given[who, kind, min(others, 2) - 1] += mine
            for x in range(n_named):
                support[named[x]] = 0
