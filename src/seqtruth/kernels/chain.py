"""Linear label chains over flat arrays: best paths (Viterbi), marginals and expected counts (smoother).

Scores are logarithms; transition tables come in as probabilities or weights, zero meaning forbidden.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F32, F64, I64, Tags, tag_dtype
from seqtruth.kernels.grammar import Grammar
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.padded_rows import add_row, exponential_row, padded
from seqtruth.kernels.recursions import (
    PaddedChain,
    smooth_sentence,
    smoother_space,
    viterbi_sentence,
    viterbi_space,
)
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.kernels.views import longest_sentence

#: Logarithm of what is forbidden; finite, so that a forbidden path still has an order.
FORBIDDEN = -1e9


class Chain(NamedTuple):
    """Weights of a label chain: ``start[L]``, ``transition[L, L]`` (from, to) and ``end[L]``."""

    start: F64
    transition: F64
    end: F64

    @staticmethod
    def legal(grammar: Grammar) -> Chain:
        """One for what the grammar allows, zero for what it forbids."""
        return Chain(
            grammar.start.astype(np.float64),
            grammar.allowed.astype(np.float64),
            grammar.end.astype(np.float64),
        )

    @staticmethod
    def free(n_labels: int) -> Chain:
        """Everything may follow everything."""
        return Chain(np.ones(n_labels), np.ones((n_labels, n_labels)), np.ones(n_labels))

    def logs(self) -> Chain:
        """Logarithms, with :data:`FORBIDDEN` for zero."""
        return Chain(*(np.log(x, out=np.full_like(x, FORBIDDEN), where=x > 0) for x in self))

    def rows(self) -> PaddedChain:
        """The same as rows that :mod:`seqtruth.kernels.recursions` works on."""
        transition = padded(self.transition, 2)
        return PaddedChain(
            padded(self.start[None]),
            transition,
            np.ascontiguousarray(transition.T),
            padded(self.end[None]),
            len(self.start),
        )


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


def viterbi(scores: F32 | F64, offsets: I64, chain: Chain) -> Tags:
    """tag[T]: the best path of every sentence, max Σ_i score[i, y_i] + Σ_i log transition.

    Ties go to the label that comes first in the scheme.

    Parameters
    ----------
    scores : float32 or float64[T, L].
    offsets : int64[S+1].
    """
    logs = chain.logs().rows()
    tags = np.empty(int(offsets[-1]), tag_dtype(len(chain.start)))
    map_chunks(
        lambda a, b: _viterbi_chunk(scores, offsets, a, b, logs, tags), chunk_bounds(offsets)
    )
    return tags


@kernel
def _viterbi_chunk(
    scores: F32 | F64, offsets: I64, first: int, last: int, logs: PaddedChain, tags: Tags
) -> None:
    n_labels, width = scores.shape[1], logs.start.shape[1]
    longest = longest_sentence(offsets, first, last)
    rows, space = np.zeros((longest, width)), viterbi_space(longest, width)
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        for i in range(n):
            for k in range(n_labels):
                rows[i, k] = scores[a + i, k]
        viterbi_sentence(rows, n, logs, space, tags, a)


def forward_backward(
    scores: F32 | F64, offsets: I64, chain: Chain, weights: F64 | None = None
) -> Posterior:
    """Marginals, expected counts and normalisers of a linear chain over given label scores.

    Parameters
    ----------
    scores : float32 or float64[T, L], log scores.
    offsets : int64[S+1].
    chain : start, transition and end weights.
    weights : float64[S], how much each sentence counts in the expected counts (default 1).
    """
    n_sentences, n_labels = len(offsets) - 1, len(chain.start)
    weight = np.ones(n_sentences) if weights is None else weights
    marginals = np.empty((int(offsets[-1]), n_labels), np.float32)
    log_z = np.empty(n_sentences)
    rows = chain.rows()

    def run(a: int, b: int) -> F64:
        counts = np.zeros((n_labels + 2, rows.start.shape[1]))
        _smooth_chunk(scores, offsets, a, b, rows, weight, (marginals, log_z, counts))
        return counts

    parts = map_chunks(run, chunk_bounds(offsets))
    counts = sum(parts, np.zeros((n_labels + 2, rows.start.shape[1])))[:, :n_labels]
    pairs = counts[:-2] * chain.transition
    return Posterior(marginals, counts[-2].copy(), pairs, counts[-1].copy(), log_z)


@kernel
def _smooth_chunk(
    scores: F32 | F64,
    offsets: I64,
    first: int,
    last: int,
    chain: PaddedChain,
    weights: F64,
    out: tuple[F32, F64, F64],
) -> None:
    """``out``: marginals [T, L], log normalisers [S], counts [L + 2, width] (start and end last)."""
    marginals, log_z, counts = out
    n_labels, width = chain.n_labels, chain.start.shape[1]
    longest = longest_sentence(offsets, first, last)
    q, space = np.empty((longest, width)), smoother_space(longest, width)
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        tops = 0.0
        for i in range(n):
            for k in range(n_labels):
                q[i, k] = scores[a + i, k]
            for k in range(n_labels, width):
                q[i, k] = -np.inf
            tops += exponential_row(q, i)
        log_z[s] = tops + smooth_sentence(q, n, chain, weights[s], space, counts)
        for i in range(n):
            for k in range(n_labels):
                marginals[a + i, k] = q[i, k]
        if n:
            add_row(counts, n_labels, q, 0, width, weights[s])
            add_row(counts, n_labels + 1, q, n - 1, width, weights[s])
