"""Sequence maths as pure functions over flat arrays: decoding, forward-backward, crowd expectations.

Shapes: T tokens in S sentences (``offsets`` int64[S+1]), L labels, W annotators. Scores are
logarithms; transition tables come in as probabilities or weights, zero meaning forbidden.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.scheme import Scheme
from seqtruth.kernels.arrays import F32, F64, I8, I64, Bool
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.score_rows import (
    add_row,
    exponential_row,
    forward_backward_rows,
    padded,
    viterbi_rows,
)
from seqtruth.kernels.threads import chunk_bounds, map_chunks

#: Logarithm of what is forbidden; finite, so that a forbidden path still has an order.
FORBIDDEN = -1e9


class Chain(NamedTuple):
    """Weights of a label chain: ``start[L]``, ``transition[L, L]`` (from, to) and ``end[L]``."""

    start: F64
    transition: F64
    end: F64

    @staticmethod
    def legal(scheme: Scheme) -> Chain:
        """One for what the scheme allows, zero for what it forbids."""
        return Chain(
            scheme.start.astype(np.float64),
            scheme.allowed.astype(np.float64),
            scheme.end.astype(np.float64),
        )

    @staticmethod
    def free(n_labels: int) -> Chain:
        """Everything may follow everything."""
        return Chain(np.ones(n_labels), np.ones((n_labels, n_labels)), np.ones(n_labels))

    def logs(self) -> Chain:
        """Logarithms, with :data:`FORBIDDEN` for zero."""
        return Chain(*(np.log(x, out=np.full_like(x, FORBIDDEN), where=x > 0) for x in self))

    def rows(self) -> Chain:
        """Logarithms as rows that :mod:`seqtruth.kernels.score_rows` works on."""
        logs = self.logs()
        return Chain(padded(logs.start[None]), padded(logs.transition, 2), padded(logs.end[None]))


class Posterior(NamedTuple):
    """What forward-backward says of sequences.

    marginals : float32[T, L], P(y_i = l | scores).
    start, transition, end : expected counts of Σ_s [y_1 = l], Σ_i [y_i = a, y_{i+1} = b], Σ_s [y_n = l].
    log_normaliser : float64[S], log Σ_y exp(score(y)) of each sentence.
    """

    marginals: F32
    start: F64
    transition: F64
    end: F64
    log_normaliser: F64


def is_legal(tags: I8, offsets: I64, scheme: Scheme) -> Bool:
    """bool[S]: does each sentence's path obey the scheme, sentence start and end included?"""
    return np.asarray(count_illegal(tags, offsets, scheme) == 0)


def count_illegal(tags: I8, offsets: I64, scheme: Scheme) -> I64:
    """int64[S]: forbidden transitions in each sentence, counting start and end; -1 is not judged."""
    out = np.zeros(len(offsets) - 1, np.int64)
    _count_illegal(tags, offsets, scheme.start, scheme.allowed, scheme.end, out)
    return out


@kernel
def _count_illegal(tags: I8, offsets: I64, start: Bool, allowed: Bool, end: Bool, out: I64) -> None:
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
def longest_sentence(offsets: I64, first: int, last: int) -> int:
    """Number of tokens of the longest of these sentences, at least 1."""
    longest = 1
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest


def viterbi(scores: F32 | F64, offsets: I64, chain: Chain) -> I8:
    """The best path of every sentence, max Σ_i score[i, y_i] + Σ_i log transition.

    Ties go to the label that comes first in the scheme.
    """
    start, trans, end = chain.rows()
    tags = np.empty(int(offsets[-1]), np.int8)
    map_chunks(
        lambda a, b: _viterbi_chunk(scores, offsets, a, b, start, trans, end, tags),
        chunk_bounds(offsets),
    )
    return tags


@kernel
def _viterbi_chunk(
    scores: F32 | F64,
    offsets: I64,
    first: int,
    last: int,
    start: F64,
    trans: F64,
    end: F64,
    tags: I8,
) -> None:
    n_labels, width = scores.shape[1], start.shape[1]
    longest = longest_sentence(offsets, first, last)
    work, best = np.zeros((longest, width)), np.empty((2, width))
    back = np.empty((longest, width))
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        for i in range(n):
            for k in range(n_labels):
                work[i, k] = scores[a + i, k]
        viterbi_rows(work, n, start, trans, end, n_labels, best, back, tags, a)


def forward_backward(
    scores: F32 | F64, offsets: I64, chain: Chain, weights: F64 | None = None
) -> Posterior:
    """Marginals, expected counts and normalisers of a linear chain over given label scores.

    Parameters
    ----------
    scores : [T, L] log scores.
    chain : start, transition and end weights.
    weights : float64[S], how much each sentence counts in the expected counts (default 1).
    """
    n_sentences, n_labels = len(offsets) - 1, len(chain.start)
    weight = np.ones(n_sentences) if weights is None else weights
    marginals = np.empty((int(offsets[-1]), n_labels), np.float32)
    log_z = np.empty(n_sentences)
    start, end = padded(chain.start[None]), padded(chain.end[None])
    trans = padded(chain.transition, 2)
    transposed = np.ascontiguousarray(trans.T)

    def run(a: int, b: int) -> F64:
        counts = np.zeros((n_labels + 2, start.shape[1]))
        _forward_backward_chunk(
            scores, offsets, a, b, start, trans, transposed, end, weight, marginals, log_z, counts
        )
        return counts

    parts = map_chunks(run, chunk_bounds(offsets))
    counts = sum(parts, np.zeros((n_labels + 2, start.shape[1])))[:, :n_labels]
    pairs = counts[:-2] * chain.transition
    return Posterior(marginals, counts[-2].copy(), pairs, counts[-1].copy(), log_z)


@kernel
def _forward_backward_chunk(
    scores: F32 | F64,
    offsets: I64,
    first: int,
    last: int,
    start: F64,
    trans: F64,
    transposed: F64,
    end: F64,
    weights: F64,
    marginals: F32,
    log_z: F64,
    counts: F64,
) -> None:
    n_labels, width = marginals.shape[1], start.shape[1]
    longest = longest_sentence(offsets, first, last)
    q, alpha, beta = np.empty((longest, width)), np.empty((longest, width)), np.empty((2, width))
    inverse = np.empty(longest)
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        tops = 0.0
        for i in range(n):
            for k in range(n_labels):
                q[i, k] = scores[a + i, k]
            for k in range(n_labels, width):
                q[i, k] = -np.inf
            tops += exponential_row(q, i)
        log_z[s] = tops + forward_backward_rows(
            q, n, start, trans, transposed, end, n_labels, weights[s], alpha, inverse, beta, counts
        )
        for i in range(n):
            for k in range(n_labels):
                marginals[a + i, k] = q[i, k]
        if n:
            add_row(counts, n_labels, q, 0, width, weights[s])
            add_row(counts, n_labels + 1, q, n - 1, width, weights[s])
