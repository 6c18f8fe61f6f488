"""Linear label chains over flat arrays: best paths (Viterbi), marginals and expected counts (smoother).

Scores are logarithms; transition tables come in as probabilities or weights, zero meaning forbidden.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F32, F64, I64, Tags, tag_dtype
from seqtruth.kernels.grammar import Grammar
from seqtruth.kernels.native import call
from seqtruth.kernels.padded_rows import padded
from seqtruth.kernels.threads import chunk_bounds, map_chunks

#: Logarithm of what is forbidden; finite, so that a forbidden path still has an order.
FORBIDDEN = -1e9


class PaddedChain(NamedTuple):
    """A label chain's weights, or their logarithms, as padded rows.

    start, end : float64[1, width].
    transition : float64[width, width], (from, to); ``transposed`` is (to, from).
    n_labels : L, the rest of ``width`` being padding.
    """

    start: F64
    transition: F64
    transposed: F64
    end: F64
    n_labels: int


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

    @staticmethod
    def of_rows(rows: F64) -> Chain:
        """From float64[L+2, L]: transitions, start, end."""
        return Chain(rows[-2].copy(), rows[:-2].copy(), rows[-1].copy())

    def as_rows(self) -> F64:
        """Inverse of :meth:`of_rows`."""
        return np.vstack([self.transition, self.start, self.end])

    def power(self, power: float) -> Chain:
        """Weights to a power; what is forbidden stays so."""
        return Chain(*(np.where(x > 0, np.maximum(x, 1e-300) ** power, 0.0) for x in self))

    def times(self, other: Chain) -> Chain:
        """Both together."""
        return Chain(*(x * y for x, y in zip(self, other, strict=True)))

    def logs(self) -> Chain:
        """Logarithms, with :data:`FORBIDDEN` for zero."""
        return Chain(*(np.log(x, out=np.full_like(x, FORBIDDEN), where=x > 0) for x in self))

    def rows(self) -> PaddedChain:
        """The same as rows that ``cpp/recursions.hpp`` works on."""
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
        lambda a, b: call("best_chain_paths", scores, offsets, a, b, logs, tags),
        chunk_bounds(offsets),
    )
    return tags


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
        call("smooth_chain", scores, offsets, a, b, rows, weight, marginals, log_z, counts)
        return counts

    parts = map_chunks(run, chunk_bounds(offsets))
    counts = sum(parts, np.zeros((n_labels + 2, rows.start.shape[1])))[:, :n_labels]
    pairs = counts[:-2] * chain.transition
    return Posterior(marginals, counts[-2].copy(), pairs, counts[-1].copy(), log_z)
