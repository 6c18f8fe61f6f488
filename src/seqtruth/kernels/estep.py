"""What annotators, chain and evidence say of the truth: posteriors, expected counts, best paths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.kernels.arrays import F32, F64, I8, I32, I64
from seqtruth.kernels.chain import FORBIDDEN, Chain, longest_sentence
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.score_rows import (
    PRODUCT,
    TIE,
    add_row,
    exponential_row,
    forward_backward_rows,
    padded,
    scale_row,
    total_of,
    viterbi_rows,
)
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.kernels.vectors import add, load, store

#: Chunks are as few as keep their tables of counts within this, but two at least.
MAX_COUNT_BYTES = 128 << 20


class Expectations(NamedTuple):
    """Sufficient statistics of one pass over a crowd (all of them add up over partitions).

    posterior : float32[T, L], P(t_i = l | everything); float32[0, L] where it was not to be kept.
    annotators : float64[W, P, C, L], expected number of times annotator w gave tag c where his own
        previous tag was p and the true label is l (P is 1 where the previous tag does not matter).
    start, transition : float64[L], float64[L, L], expected counts of the label chain.
    prior : float64[L], expected number of tokens of each label (without a chain, of those that
        somebody labelled: what nobody speaks of says nothing about what is spoken of).
    log_likelihood : Σ_s log normaliser.
    """

    posterior: F32
    annotators: F64
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
    keep_posterior: bool = True,
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
    keep_posterior : without, only sums are made and nothing as long as the crowd.
    """
    n_labels = len(start)
    posterior = np.empty((crowd.n_tokens if keep_posterior else 0, n_labels), np.float32)
    chained = transition is not None
    weights = np.ones((n_labels, n_labels)) if transition is None else transition
    trans = padded(weights, 2)
    with np.errstate(divide="ignore"):
        base = np.zeros(n_labels) if chained else np.log(start)
    said = _Said.of(crowd, table, base, evidence, known)
    first, transposed = padded(start[None]), np.ascontiguousarray(trans.T)
    width = trans.shape[1]

    def run(a: int, b: int) -> tuple[F64, F64, float]:
        counts, chain = np.zeros(said.table.shape), np.zeros((n_labels + 2, width))
        log_likelihood = _expectations_chunk(
            *said, a, b, first, trans, transposed, chained, posterior, counts, chain
        )
        return counts, chain, log_likelihood

    parts = map_chunks(run, _bounds(said.offsets, said.table.nbytes))
    annotators, chain = np.zeros((*table.shape[:3], width)), np.zeros((n_labels + 2, width))
    flat = annotators.reshape(said.table.shape)
    for counts, part, _ in parts:
        flat += counts
        chain += part
    chain = np.ascontiguousarray(chain[:, :n_labels])
    return Expectations(
        posterior,
        np.ascontiguousarray(annotators[..., :n_labels]),
        chain[-2],
        chain[:-2] * weights,
        chain[-1],
        sum(part[2] for part in parts),
    )


def crowd_viterbi(
    crowd: Crowd,
    table: F64,
    start: F64,
    transition: F64 | None,
    end: F64,
    evidence: F32 | None = None,
    known: I8 | None = None,
) -> I8:
    """The label sequences of the largest weight, as :func:`crowd_expectations` weighs them.

    Ties go to the label that comes first in the scheme. Known labels stay even where they break the
    rules of the chain. Without ``transition`` it is the best label of every token.

    Parameters
    ----------
    table, start, transition, evidence, known : as for :func:`crowd_expectations`.
    end : weights of a sentence's last label (of no account without ``transition``).
    """
    n_labels = len(start)
    chained = transition is not None
    with np.errstate(divide="ignore"):
        base = np.zeros(n_labels) if chained else np.log(start)
    said = _Said.of(crowd, table, base, evidence, known)
    logs = Chain(start, np.ones((1, 1)) if transition is None else transition, end).logs()
    first, last, trans = (
        padded(logs.start[None]),
        padded(logs.end[None]),
        padded(logs.transition, 2),
    )
    tags = np.empty(crowd.n_tokens, np.int8)
    map_chunks(
        lambda a, b: _viterbi_chunk(*said, a, b, first, trans, last, chained, tags),
        chunk_bounds(said.offsets),
    )
    return tags


class _Said(NamedTuple):
    """What the kernels read of a crowd.

    table : [W * P * C, L], rows of log probabilities, padded; ``n_previous``, ``n_tags`` are P and C.
    base : [1, L], what every token's scores begin with.
    evidence, known : of length 0 where there is none.
    """

    tags: I8
    first_tag: I64
    offsets: I64
    sentence_rows: I64
    row_annotator: I32
    outside: int
    n_labels: int
    n_previous: int
    n_tags: int
    table: F64
    base: F64
    evidence: F32
    known: I8

    @staticmethod
    def of(crowd: Crowd, table: F64, base: F64, evidence: F32 | None, known: I8 | None) -> _Said:
        n_labels = table.shape[3]
        wide = padded(table)
        return _Said(
            crowd.tags,
            crowd.sentence_tags,
            crowd.corpus.token_offsets,
            crowd.sentence_rows,
            crowd.row_annotator,
            max(crowd.scheme.outside, 0),
            n_labels,
            table.shape[1],
            table.shape[2],
            wide.reshape(-1, wide.shape[3]),
            padded(base[None], fill=-np.inf),
            np.zeros((0, n_labels), np.float32) if evidence is None else evidence,
            np.zeros(0, np.int8) if known is None else known,
        )


def _bounds(offsets: I64, table_bytes: int) -> I64:
    """Where to cut, so that one table of counts for every chunk is not too much memory."""
    bounds = chunk_bounds(offsets)
    most = max(2, MAX_COUNT_BYTES // max(1, table_bytes))
    if len(bounds) - 1 <= most:
        return bounds
    return bounds[np.arange(most + 1) * (len(bounds) - 1) // most]


@kernel
def _find_rows(
    tags: I8,
    first_tag: I64,
    offsets: I64,
    sentence_rows: I64,
    row_annotator: I32,
    outside: int,
    n_previous: int,
    n_tags: int,
    width: int,
    s: int,
    rows: I64,
    ends: I64,
) -> None:
    """Where in the table the row begins that each tag of one sentence speaks through.

    Token i's are ``rows[ends[i] : ends[i + 1]]``, its annotators in order; missing tags have none.
    """
    n, first, last = offsets[s + 1] - offsets[s], sentence_rows[s], sentence_rows[s + 1]
    ends[0] = found = 0
    for i in range(n):
        at = first_tag[s] + i
        for r in range(first, last):
            tag = tags[at]
            if tag >= 0:
                row = np.int64(row_annotator[r])
                if n_previous > 1:
                    previous = tags[at - 1] if i > 0 else -1
                    row = row * n_previous + (previous if previous >= 0 else outside)
                rows[found] = (row * n_tags + tag) * width
                found += 1
            at += n
        ends[i + 1] = found


@kernel
def _hear(
    table: F64, base: F64, evidence: F32, at: int, n: int, rows: I64, ends: I64, scores: F64
) -> None:
    """Scores of one sentence's tokens: base, what every annotator says, evidence."""
    width = scores.shape[1]
    for i in range(n):
        for b in range(0, width, 4):
            total = load(base, b)
            for m in range(ends[i], ends[i + 1]):
                total = add(total, load(table, rows[m] + b))
            store(scores, i * width + b, total)
    if len(evidence):
        for i in range(n):
            for k in range(evidence.shape[1]):
                scores[i, k] += evidence[at + i, k]


@kernel
def _count(q: F64, n: int, rows: I64, ends: I64, counts: F64) -> None:
    """Add each token's posterior to the rows its tags speak through."""
    width = q.shape[1]
    for i in range(n):
        for b in range(0, width, 4):
            share = load(q, i * width + b)
            for m in range(ends[i], ends[i + 1]):
                store(counts, rows[m] + b, add(load(counts, rows[m] + b), share))


@kernel
def _most_tags(offsets: I64, sentence_rows: I64, first: int, last: int) -> int:
    """Number of tags of the sentence that has the most."""
    most = 0
    for s in range(first, last):
        n = (offsets[s + 1] - offsets[s]) * (sentence_rows[s + 1] - sentence_rows[s])
        most = max(most, n)
    return most


@kernel
def _expectations_chunk(
    tags: I8,
    first_tag: I64,
    offsets: I64,
    sentence_rows: I64,
    row_annotator: I32,
    outside: int,
    n_labels: int,
    n_previous: int,
    n_tags: int,
    table: F64,
    base: F64,
    evidence: F32,
    known: I8,
    first: int,
    last: int,
    start: F64,
    trans: F64,
    transposed: F64,
    chained: bool,
    posterior: F32,
    counts: F64,
    chain: F64,
) -> float:
    longest, width = longest_sentence(offsets, first, last), table.shape[1]
    q, alpha, beta = np.empty((longest, width)), np.empty((longest, width)), np.empty((2, width))
    inverse, end = np.empty(longest), np.ones((1, width))
    rows = np.empty(_most_tags(offsets, sentence_rows, first, last), np.int64)
    ends = np.empty(longest + 1, np.int64)
    total = 0.0
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        _find_rows(
            tags, first_tag, offsets, sentence_rows, row_annotator, outside, n_previous, n_tags, width,
            s, rows, ends,
        )  # fmt: skip
        _hear(table, base, evidence, a, n, rows, ends, q)
        if len(known):
            for i in range(n):
                if known[a + i] >= 0:
                    for k in range(n_labels):
                        if k != known[a + i]:
                            q[i, k] = FORBIDDEN + base[0, k]
        for i in range(n):
            total += exponential_row(q, i)
        if chained:
            total += forward_backward_rows(
                q, n, start, trans, transposed, end, n_labels, 1.0, alpha, inverse, beta, chain
            )
        else:
            total += _normalise(q, n)
        _count(q, n, rows, ends, counts)
        for i in range(n):
            if chained or ends[i + 1] > ends[i]:
                add_row(chain, n_labels + 1, q, i, width, 1.0)
        if n:
            add_row(chain, n_labels, q, 0, width, 1.0)
        if len(posterior):
            for i in range(n):
                for k in range(n_labels):
                    posterior[a + i, k] = q[i, k]
    return total


@kernel
def _normalise(q: F64, n: int) -> float:
    """Bring rows to the sum 1; returns Σ log of what they summed up to."""
    total, product = 0.0, 1.0
    for i in range(n):
        scale = total_of(q, i)
        scale_row(q, i, 1.0 / scale)
        product *= scale
        if not product < PRODUCT:
            total += np.log(product)
            product = 1.0
    return float(total + np.log(product))


@kernel
def _viterbi_chunk(
    tags: I8,
    first_tag: I64,
    offsets: I64,
    sentence_rows: I64,
    row_annotator: I32,
    outside: int,
    n_labels: int,
    n_previous: int,
    n_tags: int,
    table: F64,
    base: F64,
    evidence: F32,
    known: I8,
    first: int,
    last: int,
    start: F64,
    trans: F64,
    end: F64,
    chained: bool,
    path: I8,
) -> None:
    longest, width = longest_sentence(offsets, first, last), table.shape[1]
    scores, best, back = (
        np.empty((longest, width)),
        np.empty((2, width)),
        np.empty((longest, width)),
    )
    rows = np.empty(_most_tags(offsets, sentence_rows, first, last), np.int64)
    ends = np.empty(longest + 1, np.int64)
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        _find_rows(
            tags, first_tag, offsets, sentence_rows, row_annotator, outside, n_previous, n_tags, width,
            s, rows, ends,
        )  # fmt: skip
        _hear(table, base, evidence, a, n, rows, ends, scores)
        if len(known):
            for i in range(n):
                if known[a + i] >= 0:
                    for k in range(n_labels):
                        if k != known[a + i]:
                            # more than what the scheme forbids: known tags stay even against it
                            scores[i, k] = 4 * FORBIDDEN
        if chained:
            viterbi_rows(scores, n, start, trans, end, n_labels, best, back, path, a)
        else:
            for i in range(n):
                choice = 0
                for k in range(1, n_labels):
                    if scores[i, k] > scores[i, choice] + TIE:
                        choice = k
                path[a + i] = choice
