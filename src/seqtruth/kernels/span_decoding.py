"""Spans worth naming: decoding for the F1 of whole spans instead of for the likeliest path.

Under a label chain each candidate span x (start, end, type) has a probability p(x). The spans chosen
maximise Σ_x (p(x) - θ) over sets that do not overlap. For the right θ (half of the F1 that can be
reached) that maximises expected F1; with θ below 1/2 it names spans that the likeliest path leaves out
only because their borders are in doubt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F32, F64, I64, Bool, Tags, tag_dtype
from seqtruth.kernels.chain import Chain
from seqtruth.kernels.native import call
from seqtruth.kernels.threads import chunk_bounds, map_chunks


class Claimed(NamedTuple):
    """Spans that may be named.

    first : int64[T+1], where those that begin at a token are in the two lists; empty: any span may be named.
    end, kind : int64[N], the token after each span, and its type.
    free : bool[T], tokens among which any span may be named, too.
    """

    first: I64
    end: I64
    kind: I64
    free: Bool


_NONE = np.zeros(0, np.int64)
#: Any span may be named.
ANY = Claimed(_NONE, _NONE, _NONE, np.zeros(0, np.bool_))


def choose_spans(
    scores: F64,
    offsets: I64,
    chain: Chain,
    spelling: I64,
    outside: int,
    threshold: float,
    claimed: Claimed = ANY,
) -> tuple[Tags, F32]:
    """Labels tag[T] of the spans chosen, and on each of their tokens that span's probability, else 0.

    Parameters
    ----------
    scores : float64[T, L], log scores.
    offsets : int64[S+1].
    chain : start, transition and end weights; what the scheme forbids has none.
    spelling : int64[types, 5], labels of a single token, the first, inner and last of a span, and the
        one that must not follow because it would make the span longer (-1: none).
    outside : number of ``O``.
    threshold : θ, from 0 to below 1.
    claimed : the spans to choose from.
    """
    tags = np.empty(len(scores), tag_dtype(len(chain.start)))
    span = np.zeros(len(scores), np.float32)
    rules = _Rules(chain, spelling, outside, threshold)
    map_chunks(
        lambda a, b: call("choose_spans", scores, offsets, a, b, rules, claimed, tags, span),
        chunk_bounds(offsets),
    )
    return tags, span


class _Rules(NamedTuple):
    """What does not change from one sentence to the next; see :func:`choose_spans`."""

    chain: Chain
    spelling: I64
    outside: int
    threshold: float
