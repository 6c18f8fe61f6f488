"""How often what others claim is claimed by one more source, too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import I16, I64, Bool, Tags
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.views import CrowdView


class Confirmations(NamedTuple):
    """Counts of claims, added to by :func:`count_confirmations`.

    asked : int64[W, K, 2], tokens a source labelled at which one other (two or more others) claim a type and
        nobody another one.
    given : int64[W, K, 2], those at which the source claims it, too.
    claims : int64[W, K], tokens at which a source claims a type.
    labelled : int64[W], tokens that a source labelled.
    marked : int64[2], tokens at which anybody claims anything, and labels given there.
    """

    asked: I64
    given: I64
    claims: I64
    labelled: I64
    marked: I64


@kernel
def count_confirmations(
    crowd: CrowdView, first: int, last: int, type_of: I16, counted: Bool, out: Confirmations
) -> None:
    """Count on the sentences first … last - 1.

    Parameters
    ----------
    type_of : int16[L], each label's type; -1: claims nothing.
    counted : bool[W], sources that count; of all others only ``claims`` and ``labelled`` are.
    """
    support = np.zeros(out.claims.shape[1], np.int64)
    named = np.zeros(out.claims.shape[1], np.int64)
    for s in range(first, last):
        n = crowd.token_offsets[s + 1] - crowd.token_offsets[s]
        begin, row = crowd.tag_offsets[s], crowd.sentence_rows[s]
        n_rows = crowd.sentence_rows[s + 1] - row
        for i in range(n):
            n_named, total = 0, 0
            for r in range(n_rows):
                tag, who = crowd.tags[begin + r * n + i], crowd.row_annotator[row + r]
                out.labelled[who] += tag >= 0
                if tag < 0 or type_of[tag] < 0:
                    continue
                kind = type_of[tag]
                out.claims[who, kind] += 1
                if counted[who]:
                    if support[kind] == 0:
                        named[n_named] = kind
                        n_named += 1
                    support[kind] += 1
                    total += 1
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
                    if others > 0 and total == others + mine:
                        out.asked[who, kind, min(others, 2) - 1] += 1
                        out.given[who, kind, min(others, 2) - 1] += mine
            for x in range(n_named):
                support[named[x]] = 0


@kernel
def drop_silence(
    crowd: CrowdView, first: int, last: int, type_of: I16, silent: Bool, tags: Tags, allowed: Bool
) -> None:
    """Make -1 of every label that claims nothing and denies nothing, on the sentences first … last - 1.

    Parameters
    ----------
    type_of : int16[L], each label's type; -1: claims nothing.
    silent : bool[W, K], whether a source that claims nothing denies nothing of a type.
    tags : tag[A], changed in place.
    allowed : bool[T, L], set to what can be true: where nobody claims anything, what claims nothing;
        where somebody does and nobody denies it, labels of the types claimed; anything elsewhere, and
        where nobody looked. Or bool[0, L], where that is not asked for.
    """
    claimed = np.zeros(silent.shape[1] + 1, np.int64)
    for s in range(first, last):
        a, n = crowd.token_offsets[s], crowd.token_offsets[s + 1] - crowd.token_offsets[s]
        begin, row = crowd.tag_offsets[s], crowd.sentence_rows[s]
        n_rows = crowd.sentence_rows[s + 1] - row
        for i in range(n):
            n_claimed, seen = 0, False
            for r in range(n_rows):
                tag = crowd.tags[begin + r * n + i]
                seen = seen or tag >= 0
                if tag >= 0 and type_of[tag] >= 0:
                    claimed[n_claimed] = type_of[tag]
                    for x in range(n_claimed):
                        if claimed[x] == type_of[tag]:
                            n_claimed -= 1
                            break
                    n_claimed += 1
            if n_claimed == 0:
                if seen and len(allowed):
                    allowed[a + i] = type_of < 0
                continue
            named = True
            for r in range(n_rows):
                at = begin + r * n + i
                if crowd.tags[at] < 0 or type_of[crowd.tags[at]] >= 0:
                    continue
                denies = False
                for x in range(n_claimed):
                    denies = denies or not silent[crowd.row_annotator[row + r], claimed[x]]
                if denies:
                    named = False
                else:
                    tags[at] = -1
            if named and len(allowed):
                allowed[a + i] = False
                for c in range(len(type_of)):
                    for x in range(n_claimed):
                        if type_of[c] == claimed[x]:
                            allowed[a + i, c] = True
