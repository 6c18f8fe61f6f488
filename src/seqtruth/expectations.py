"""The E-step of every probabilistic method: what annotators, chain and evidence say of the truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.compiled import F32, F64, I8, I32, I64, chunk_bounds, kernel, map_chunks
from seqtruth.data import Crowd
from seqtruth.inference import FORBIDDEN, forward_backward_sentence


class Expectations(NamedTuple):
    """Sufficient statistics of one pass over a crowd (all of them add up over partitions).

    posterior : float32[T, L], P(t_i = l | everything).
    workers : float64[W, P, C, L], expected number of times annotator w gave tag c where his own
        previous tag was p and the true label is l (P is 1 where the previous tag does not matter).
    start, transition : float64[L], float64[L, L], expected counts of the label chain.
    prior : float64[L], expected number of tokens of each label (without a chain, of those that
        somebody labelled: what nobody speaks of says nothing about what is spoken of).
    log_likelihood : Σ_s log normaliser.
    """

    posterior: F32
    workers: F64
    start: F64
    transition: F64
    prior: F64
    log_likelihood: float


def crowd_expectations(
    crowd: Crowd,
    table: F64,
    start: F64,
    transition: F64 | None,
    evidence: F32 | None = None,
    known: I8 | None = None,
) -> Expectations:
    """E-step of every probabilistic method: from log tables to posteriors and expected counts.

    A label sequence t has log weight  log start[t_1] + Σ_i log transition[t_i, t_{i+1}]
    + Σ_i Σ_j table[j, c^j_{i-1}, c^j_i, t_i] + Σ_i evidence[i, t_i].

    Parameters
    ----------
    table : [W, P, C, L] log probability (or expected log) of tag c from annotator w after his own
        tag p, given the true label; P is 1 (previous tag ignored) or C. Before the first token, and
        after a missing tag, the previous tag counts as ``O``.
    start, transition : weights of the label chain. Without ``transition`` tokens are independent and
        ``start`` is the class prior of each.
    evidence : [T, L] further log evidence, such as a predictor's.
    known : int8[T], true labels that are given (-1: not given); they are kept fixed.
    """
    n_labels = len(start)
    posterior = np.empty((crowd.n_tokens, n_labels), np.float32)
    outside = max(crowd.scheme.outside, 0)
    chained = transition is not None
    trans = np.ones((n_labels, n_labels)) if transition is None else transition
    first_tag = crowd.row_offsets[crowd.sentence_rows]
    none = np.zeros((0, n_labels), np.float32)

    def run(a: int, b: int) -> tuple[F64, F64, float]:
        counts = np.zeros(table.shape)
        chain = np.zeros((n_labels + 2, n_labels))
        log_likelihood = _expectations_chunk(
            crowd.tags, first_tag, crowd.corpus.token_offsets, crowd.sentence_rows, crowd.row_worker,
            a, b, table, start, trans, chained, outside,
            none if evidence is None else evidence,
            np.zeros(0, np.int8) if known is None else known,
            posterior, counts, chain,
        )  # fmt: skip
        return counts, chain, log_likelihood

    parts = map_chunks(run, chunk_bounds(crowd.corpus.token_offsets))
    workers, chain = np.zeros(table.shape), np.zeros((n_labels + 2, n_labels))
    for counts, part, _ in parts:
        workers += counts
        chain += part
    return Expectations(
        posterior, workers, chain[-2], chain[:-2], chain[-1], sum(part[2] for part in parts)
    )


@kernel
def _expectations_chunk(
    tags: I8,
    first_tag: I64,
    offsets: I64,
    sentence_rows: I64,
    row_worker: I32,
    first: int,
    last: int,
    table: F64,
    start: F64,
    trans: F64,
    chained: bool,
    outside: int,
    evidence: F32,
    known: I8,
    posterior: F32,
    counts: F64,
    chain: F64,
) -> float:
    n_labels = len(start)
    by_previous = table.shape[1] > 1
    longest = 1
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    scores, alpha, q = (
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
    )
    norm, end, spoken = np.empty(longest), np.ones(n_labels), np.empty(longest, np.bool_)
    log_start = np.log(start)
    total = 0.0
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        scores[:n] = 0.0
        spoken[:n] = chained
        if len(evidence):
            for i in range(n):
                for k in range(n_labels):
                    scores[i, k] = evidence[a + i, k]
        for r in range(sentence_rows[s], sentence_rows[s + 1]):
            at, worker = first_tag[s] + (r - sentence_rows[s]) * n, row_worker[r]
            previous = outside if by_previous else 0
            for i in range(n):
                tag = tags[at + i]
                if tag >= 0:
                    spoken[i] = True
                    row = table[worker, previous, tag]
                    for k in range(n_labels):
                        scores[i, k] += row[k]
                if by_previous:
                    previous = tag if tag >= 0 else outside
        if len(known):
            for i in range(n):
                if known[a + i] >= 0:
                    for k in range(n_labels):
                        if k != known[a + i]:
                            scores[i, k] = FORBIDDEN
        if chained:
            total += forward_backward_sentence(
                scores[:n], start, trans, end, alpha, norm, q[:n], chain[:n_labels]
            )
        else:
            for i in range(n):
                total += _independent(scores[i], log_start, q[i])
        for i in range(n):
            for k in range(n_labels):
                posterior[a + i, k] = q[i, k]
                if spoken[i]:
                    chain[n_labels + 1, k] += q[i, k]
        if n:
            for k in range(n_labels):
                chain[n_labels, k] += q[0, k]
        for r in range(sentence_rows[s], sentence_rows[s + 1]):
            at, worker = first_tag[s] + (r - sentence_rows[s]) * n, row_worker[r]
            previous = outside if by_previous else 0
            for i in range(n):
                tag = tags[at + i]
                if tag >= 0:
                    count = counts[worker, previous, tag]
                    for k in range(n_labels):
                        count[k] += q[i, k]
                if by_previous:
                    previous = tag if tag >= 0 else outside
    return total


@kernel
def _independent(scores: F64, log_start: F64, q: F64) -> float:
    """Posterior of one token under a class prior; returns its log evidence."""
    top = scores[0] + log_start[0]
    for k in range(len(q)):
        q[k] = scores[k] + log_start[k]
        top = max(top, q[k])
    scale = 0.0
    for k in range(len(q)):
        q[k] = np.exp(q[k] - top)
        scale += q[k]
    for k in range(len(q)):
        q[k] /= scale
    return float(top + np.log(scale))
