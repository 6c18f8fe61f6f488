"""What annotators, chain and evidence say of the truth: posteriors, expected counts, best paths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F32, F64, I64, Tags, tag_dtype
from seqtruth.kernels.chain import FORBIDDEN, Chain
from seqtruth.kernels.jit import inlined, kernel
from seqtruth.kernels.padded_rows import add_row, exponential_row, padded, scale_row, total_of
from seqtruth.kernels.recursions import (
    LARGEST_PRODUCT,
    PaddedChain,
    smooth_sentence,
    smoother_space,
    viterbi_sentence,
    viterbi_space,
)
from seqtruth.kernels.simd import add, load, store
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.kernels.ties import SCORE_TIE
from seqtruth.kernels.views import CrowdView, longest_sentence, most_tags

#: Chunks are as few as keep their tables of counts within this, but two at least.
MAX_COUNT_BYTES = 128 << 20


class Expectations(NamedTuple):
    """Sufficient statistics of one pass over a crowd (all of them add up over partitions).

    posterior : float32[T, L], P(t_i = l | everything); float32[0, L] where it was not to be kept.
    annotators : float64[W, P, C, L], expected number of times annotator w gave tag c where their own
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


def expected_counts(
    crowd: CrowdView,
    table: F64,
    start: F64,
    transition: F64 | None,
    evidence: F32 | None = None,
    known: Tags | None = None,
    keep_posterior: bool = True,
) -> Expectations:
    """E-step of every probabilistic method: from log tables to posteriors and expected counts.

    A label sequence t has log weight  log start[t_1] + Σ_i log transition[t_i, t_{i+1}]
    + Σ_i Σ_j table[j, c^j_{i-1}, c^j_i, t_i] + Σ_i evidence[i, t_i].

    Parameters
    ----------
    table : float64[W, P, C, L], log probability (or expected log) of tag c from annotator w after
        their own tag p, given the true label; P is 1 (previous tag ignored) or C. Before the first
        token, and after a missing tag, the previous tag counts as ``O``.
    start, transition : float64[L], float64[L, L], weights of the label chain. Without ``transition``
        tokens are independent and ``start`` is the class prior of each.
    evidence : float32[T, L], further log evidence, such as a predictor's.
    known : tag[T], true labels that are given (-1: not given); they are kept fixed.
    keep_posterior : without, only sums are made and nothing as long as the crowd.
    """
    n_labels, n_tokens = len(start), int(crowd.token_offsets[-1])
    posterior = np.empty((n_tokens if keep_posterior else 0, n_labels), np.float32)
    heard = _heard(table, start, transition, evidence, known)
    weights = np.ones((n_labels, n_labels)) if transition is None else transition
    chain = Chain(start, weights, np.ones(n_labels)).rows()
    width = chain.start.shape[1]

    def run(a: int, b: int) -> tuple[F64, F64, float]:
        counts, pairs = np.zeros(heard.table.shape), np.zeros((n_labels + 2, width))
        log_likelihood = _expectations_chunk(
            crowd, a, b, heard, chain, transition is not None, (posterior, counts, pairs)
        )
        return counts, pairs, log_likelihood

    parts = map_chunks(run, _bounds(crowd.token_offsets, heard.table.nbytes))
    annotators, pairs = np.zeros((*table.shape[:3], width)), np.zeros((n_labels + 2, width))
    flat = annotators.reshape(heard.table.shape)
    for counts, part, _ in parts:
        flat += counts
        pairs += part
    pairs = np.ascontiguousarray(pairs[:, :n_labels])
    return Expectations(
        posterior,
        np.ascontiguousarray(annotators[..., :n_labels]),
        pairs[-2],
        pairs[:-2] * weights,
        pairs[-1],
        sum(part[2] for part in parts),
    )


def best_paths(
    crowd: CrowdView,
    table: F64,
    start: F64,
    transition: F64 | None,
    end: F64,
    evidence: F32 | None = None,
    known: Tags | None = None,
) -> Tags:
    """tag[T]: the label sequences of the largest weight, as :func:`expected_counts` weighs them.

    Ties go to the label that comes first in the scheme. Known labels stay even where they break the
    rules of the chain. Without ``transition`` it is the best label of every token.

    Parameters
    ----------
    table, start, transition, evidence, known : as for :func:`expected_counts`.
    end : float64[L], weights of a sentence's last label (of no account without ``transition``).
    """
    n_labels = len(start)
    heard = _heard(table, start, transition, evidence, known)
    weights = np.ones((n_labels, n_labels)) if transition is None else transition
    logs = Chain(start, weights, end).logs().rows()
    tags = np.empty(int(crowd.token_offsets[-1]), tag_dtype(n_labels))
    map_chunks(
        lambda a, b: _viterbi_chunk(crowd, a, b, heard, logs, transition is not None, tags),
        chunk_bounds(crowd.token_offsets),
    )
    return tags


class _Heard(NamedTuple):
    """What speaks of the truth.

    table : float64[W * P * C, width], rows of log probabilities, padded.
    n_previous, n_tags : P and C.
    base : float64[1, width], what every token's scores begin with.
    evidence, known : of length 0 where there is none.
    """

    table: F64
    n_previous: int
    n_tags: int
    base: F64
    evidence: F32
    known: Tags


def _heard(
    table: F64, start: F64, transition: F64 | None, evidence: F32 | None, known: Tags | None
) -> _Heard:
    n_labels, wide = table.shape[3], padded(table)
    with np.errstate(divide="ignore"):
        base = np.log(start) if transition is None else np.zeros(n_labels)
    return _Heard(
        wide.reshape(-1, wide.shape[3]),
        table.shape[1],
        table.shape[2],
        padded(base[None], fill=-np.inf),
        np.zeros((0, n_labels), np.float32) if evidence is None else evidence,
        np.zeros(0, tag_dtype(n_labels)) if known is None else known,
    )


def _bounds(offsets: I64, table_bytes: int) -> I64:
    """Where to cut, so that one table of counts for every chunk is not too much memory."""
    bounds = chunk_bounds(offsets)
    most = max(2, MAX_COUNT_BYTES // max(1, table_bytes))
    if len(bounds) - 1 <= most:
        return bounds
    return bounds[np.arange(most + 1) * (len(bounds) - 1) // most]


class _Said(NamedTuple):
    """Where in the table begin the rows that one sentence's tags speak through.

    Token i's are ``rows[ends[i] : ends[i + 1]]``, its annotators in order; missing tags have none.
    """

    rows: I64
    ends: I64


@inlined
def _find_rows(crowd: CrowdView, s: int, heard: _Heard, said: _Said) -> None:
    tags, width = crowd.tags, heard.table.shape[1]
    n = crowd.token_offsets[s + 1] - crowd.token_offsets[s]
    first, last = crowd.sentence_rows[s], crowd.sentence_rows[s + 1]
    said.ends[0] = found = 0
    for i in range(n):
        at = crowd.tag_offsets[s] + i
        for r in range(first, last):
            tag = tags[at]
            if tag >= 0:
                row = np.int64(crowd.row_annotator[r])
                if heard.n_previous > 1:
                    previous = np.int64(tags[at - 1]) if i > 0 else -1
                    previous = previous if previous >= 0 else crowd.grammar.outside
                    row = row * heard.n_previous + previous
                said.rows[found] = (row * heard.n_tags + tag) * width
                found += 1
            at += n
        said.ends[i + 1] = found


@inlined
def _add_evidence(heard: _Heard, said: _Said, at: int, n: int, scores: F64) -> None:
    """Scores of one sentence's tokens, float64[≥ n, width]: base, what every annotator says, evidence."""
    width = scores.shape[1]
    for i in range(n):
        for b in range(0, width, 4):
            total = load(heard.base, b)
            for m in range(said.ends[i], said.ends[i + 1]):
                total = add(total, load(heard.table, said.rows[m] + b))
            store(scores, i * width + b, total)
    if len(heard.evidence):
        for i in range(n):
            for k in range(heard.evidence.shape[1]):
                scores[i, k] += heard.evidence[at + i, k]


@inlined
def _count(q: F64, n: int, said: _Said, counts: F64) -> None:
    """Add each token's posterior to the rows its tags speak through."""
    width = q.shape[1]
    for i in range(n):
        for b in range(0, width, 4):
            share = load(q, i * width + b)
            for m in range(said.ends[i], said.ends[i + 1]):
                row = said.rows[m] + b
                store(counts, row, add(load(counts, row), share))


@kernel
def _expectations_chunk(
    crowd: CrowdView,
    first: int,
    last: int,
    heard: _Heard,
    chain: PaddedChain,
    chained: bool,
    out: tuple[F32, F64, F64],
) -> float:
    """``out``: posterior [T, L], counts as ``heard.table``, pairs [L + 2, width] (start and prior last)."""
    posterior, counts, pairs = out
    offsets, known, n_labels = crowd.token_offsets, heard.known, chain.n_labels
    longest, width = longest_sentence(offsets, first, last), heard.table.shape[1]
    q, space = np.empty((longest, width)), smoother_space(longest, width)
    said = _Said(np.empty(most_tags(crowd, first, last), np.int64), np.empty(longest + 1, np.int64))
    total = 0.0
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        _find_rows(crowd, s, heard, said)
        _add_evidence(heard, said, a, n, q)
        if len(known):
            for i in range(n):
                if known[a + i] >= 0:
                    for k in range(n_labels):
                        if k != known[a + i]:
                            q[i, k] = FORBIDDEN + heard.base[0, k]
        for i in range(n):
            total += exponential_row(q, i)
        if chained:
            total += smooth_sentence(q, n, chain, 1.0, space, pairs)
        else:
            total += _normalise(q, n)
        _count(q, n, said, counts)
        for i in range(n):
            if chained or said.ends[i + 1] > said.ends[i]:
                add_row(pairs, n_labels + 1, q, i, width, 1.0)
        if n:
            add_row(pairs, n_labels, q, 0, width, 1.0)
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
        if not product < LARGEST_PRODUCT:
            total += np.log(product)
            product = 1.0
    return float(total + np.log(product))


@kernel
def _viterbi_chunk(
    crowd: CrowdView,
    first: int,
    last: int,
    heard: _Heard,
    logs: PaddedChain,
    chained: bool,
    path: Tags,
) -> None:
    offsets, known, n_labels = crowd.token_offsets, heard.known, logs.n_labels
    longest, width = longest_sentence(offsets, first, last), heard.table.shape[1]
    scores, space = np.empty((longest, width)), viterbi_space(longest, width)
    said = _Said(np.empty(most_tags(crowd, first, last), np.int64), np.empty(longest + 1, np.int64))
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        _find_rows(crowd, s, heard, said)
        _add_evidence(heard, said, a, n, scores)
        if len(known):
            for i in range(n):
                if known[a + i] >= 0:
                    for k in range(n_labels):
                        if k != known[a + i]:
                            # more than what the scheme forbids: known tags stay even against it
                            scores[i, k] = 4 * FORBIDDEN
        if chained:
            viterbi_sentence(scores, n, logs, space, path, a)
        else:
            for i in range(n):
                choice = 0
                for k in range(1, n_labels):
                    if scores[i, k] > scores[i, choice] + SCORE_TIE:
                        choice = k
                path[a + i] = choice
