"""Sequence maths as pure functions over flat arrays: decoding, forward-backward, crowd expectations.

Shapes: T tokens in S sentences (``offsets`` int64[S+1]), L labels, W annotators. Scores are
logarithms; transition tables come in as probabilities or weights, zero meaning forbidden.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.compiled import F32, F64, I8, I32, I64, Bool, chunk_bounds, kernel, map_chunks
from seqtruth.data import Crowd
from seqtruth.scheme import Scheme

#: Scores closer than this are ties, so that the order of a sum cannot pick the winner.
TIE = 1e-9
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


def viterbi(scores: F32 | F64, offsets: I64, chain: Chain) -> I8:
    """The best path of every sentence, max Σ_i score[i, y_i] + Σ_i log transition.

    Ties go to the label that comes first in the scheme.
    """
    logs = chain.logs()
    tags = np.empty(int(offsets[-1]), np.int8)
    map_chunks(
        lambda a, b: _viterbi_chunk(
            scores, offsets, a, b, logs.start, logs.transition, logs.end, tags
        ),
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
    longest = 1
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    n_labels = len(start)
    best = np.empty((2, n_labels))
    back = np.empty((longest, n_labels), np.int8)
    for s in range(first, last):
        a, b = offsets[s], offsets[s + 1]
        viterbi_sentence(scores[a:b], start, trans, end, best, back, tags[a:b])


@kernel
def viterbi_sentence(
    scores: F32 | F64, start: F64, trans: F64, end: F64, best: F64, back: I8, path: I8
) -> None:
    """One sentence's best path into ``path``; ``best[2, L]`` and ``back[n, L]`` are work space."""
    n, n_labels = len(path), len(start)
    if n == 0:
        return
    for k in range(n_labels):
        best[0, k] = start[k] + scores[0, k]
    for i in range(1, n):
        now, before = best[i % 2], best[(i - 1) % 2]
        for k in range(n_labels):
            top, source = before[0] + trans[0, k], 0
            for j in range(1, n_labels):
                value = before[j] + trans[j, k]
                if value > top + TIE:
                    top, source = value, j
            now[k] = top + scores[i, k]
            back[i, k] = source
    final = best[(n - 1) % 2]
    choice = 0
    for k in range(1, n_labels):
        if final[k] + end[k] > final[choice] + end[choice] + TIE:
            choice = k
    path[n - 1] = choice
    for i in range(n - 1, 0, -1):
        choice = back[i, choice]
        path[i - 1] = choice


@kernel
def forward_backward_sentence(
    scores: F64, start: F64, trans: F64, end: F64, alpha: F64, norm: F64, q: F64, pairs: F64
) -> float:
    """Marginals of one sentence into ``q[n, L]``; adds expected transitions to ``pairs[L, L]``.

    Scaled recursions (Rabiner 1989): α_i = e_i ∘ (α_{i-1} · A) / c_i,  β_{i-1} = A · (e_i ∘ β_i) / c_i,
    q_i = α_i ∘ β_i, with e_i = exp(score_i - max score_i). ``alpha``, ``norm`` are work space.
    Returns the log normaliser. Where forbidden transitions leave no path at all, the chain is
    ignored at that token, so that the answer stays a distribution.
    """
    n, n_labels = scores.shape
    if n == 0:
        return 0.0
    total = 0.0
    for i in range(n):
        top = scores[i, 0]
        for k in range(1, n_labels):
            top = max(top, scores[i, k])
        for k in range(n_labels):
            q[i, k] = np.exp(scores[i, k] - top)
            alpha[i, k] = 0.0
        if i == 0:
            for k in range(n_labels):
                alpha[0, k] = start[k] * q[0, k]
        else:
            for j in range(n_labels):
                weight = alpha[i - 1, j]
                for k in range(n_labels):
                    alpha[i, k] += weight * trans[j, k]
            for k in range(n_labels):
                alpha[i, k] *= q[i, k]
        scale = 0.0
        for k in range(n_labels):
            scale += alpha[i, k]
        if scale <= 0.0:
            for k in range(n_labels):
                alpha[i, k] = q[i, k]
                scale += q[i, k]
        for k in range(n_labels):
            alpha[i, k] /= scale
        norm[i] = scale
        total += np.log(scale) + top
    beta, next_beta = np.empty(n_labels), np.empty(n_labels)
    scale = 0.0
    for k in range(n_labels):
        scale += alpha[n - 1, k] * end[k]
    if scale > 0.0:
        total += np.log(scale)
        for k in range(n_labels):
            beta[k] = end[k] / scale
    else:
        beta[:] = 1.0
    for i in range(n - 1, -1, -1):
        if i > 0:
            for k in range(n_labels):
                next_beta[k] = q[i, k] * beta[k] / norm[i]
        scale = 0.0
        for k in range(n_labels):
            q[i, k] = alpha[i, k] * beta[k]
            scale += q[i, k]
        if scale > 0.0:
            for k in range(n_labels):
                q[i, k] /= scale
        else:
            for k in range(n_labels):
                q[i, k] = alpha[i, k]
        if i > 0:
            for j in range(n_labels):
                value = 0.0
                for k in range(n_labels):
                    step = trans[j, k] * next_beta[k]
                    value += step
                    pairs[j, k] += alpha[i - 1, j] * step
                beta[j] = value
    return total


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

    def run(a: int, b: int) -> F64:
        counts = np.zeros((n_labels + 2, n_labels))
        _forward_backward_chunk(scores, offsets, a, b, *chain, weight, marginals, log_z, counts)
        return counts

    counts = sum(map_chunks(run, chunk_bounds(offsets)), np.zeros((n_labels + 2, n_labels)))
    return Posterior(marginals, counts[-2], counts[:-2], counts[-1], log_z)


@kernel
def _forward_backward_chunk(
    scores: F32 | F64,
    offsets: I64,
    first: int,
    last: int,
    start: F64,
    trans: F64,
    end: F64,
    weights: F64,
    marginals: F32,
    log_z: F64,
    counts: F64,
) -> None:
    n_labels = len(start)
    longest = 1
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    work, alpha, q = (
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
    )
    norm, pairs = np.empty(longest), np.empty((n_labels, n_labels))
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        for i in range(n):
            for k in range(n_labels):
                work[i, k] = scores[a + i, k]
        pairs[:] = 0.0
        log_z[s] = forward_backward_sentence(work[:n], start, trans, end, alpha, norm, q[:n], pairs)
        for i in range(n):
            for k in range(n_labels):
                marginals[a + i, k] = q[i, k]
        if n:
            for j in range(n_labels):
                counts[n_labels, j] += weights[s] * q[0, j]
                counts[n_labels + 1, j] += weights[s] * q[n - 1, j]
                for k in range(n_labels):
                    counts[j, k] += weights[s] * pairs[j, k]


class Expectations(NamedTuple):
    """Sufficient statistics of one pass over a crowd (all of them add up over partitions).

    posterior : float32[T, L], P(t_i = l | everything).
    workers : float64[W, P, C, L], expected number of times annotator w gave tag c where his own
        previous tag was p and the true label is l (P is 1 where the previous tag does not matter).
    start, transition : float64[L], float64[L, L], expected counts of the label chain.
    prior : float64[L], expected number of tokens of each label.
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
    norm, end = np.empty(longest), np.ones(n_labels)
    log_start = np.log(start)
    total = 0.0
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        scores[:n] = 0.0
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
