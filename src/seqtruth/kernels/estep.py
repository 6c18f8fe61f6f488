"""What annotators, chain and evidence say of the truth: posteriors, expected counts, best paths."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F32, F64, I32, I64, Tags, tag_dtype
from seqtruth.kernels.chain import Chain
from seqtruth.kernels.native import Packed, call
from seqtruth.kernels.padded_rows import padded
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.kernels.views import CrowdView

#: Of tables above this, the E-step takes only the rows that anybody uses: with many annotators, who have said
#: little each, these are few.
MAX_WHOLE_BYTES = 64 << 20
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
    heard, used = _heard(crowd, table, start, transition, evidence, known)
    weights = np.ones((n_labels, n_labels)) if transition is None else transition
    chain = Chain(start, weights, np.ones(n_labels)).rows()
    width, shared = chain.start.shape[1], Packed(heard, chain, transition is not None, posterior)
    view = Packed(crowd)

    def run(a: int, b: int) -> tuple[F64, F64, float]:
        counts, pairs = np.zeros(heard.table.shape), np.zeros((n_labels + 2, width))
        log_likelihood = call("expect", view, a, b, shared, counts, pairs)
        return counts, pairs, log_likelihood

    parts = map_chunks(run, _bounds(crowd.token_offsets, _padded_bytes(table)))
    flat, pairs = np.zeros(heard.table.shape), np.zeros((n_labels + 2, width))
    for counts, part, _ in parts:
        flat += counts
        pairs += part
    pairs = np.ascontiguousarray(pairs[:, :n_labels])
    annotators = np.ascontiguousarray(flat[:, :n_labels])
    if used is not None:
        annotators, compact = np.zeros((math.prod(table.shape[:3]), n_labels)), annotators
        annotators[used] = compact
    return Expectations(
        posterior,
        annotators.reshape(table.shape),
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
    heard, _ = _heard(crowd, table, start, transition, evidence, known)
    weights = np.ones((n_labels, n_labels)) if transition is None else transition
    logs = Chain(start, weights, end).logs().rows()
    tags = np.empty(int(crowd.token_offsets[-1]), tag_dtype(n_labels))
    view, shared = Packed(crowd), Packed(heard, logs, transition is not None, tags)
    map_chunks(
        lambda a, b: call("best_crowd_paths", view, a, b, shared),
        chunk_bounds(crowd.token_offsets),
    )
    return tags


class _Heard(NamedTuple):
    """What speaks of the truth.

    table : float64[W * P * C, width], rows of log probabilities, padded; or only those that are used.
    where : int32[W * P * C], which row of the table that is; of length 0 where all are there.
    n_previous, n_tags : P and C.
    base : float64[1, width], what every token's scores begin with.
    evidence, known : of length 0 where there is none.
    """

    table: F64
    where: I32
    n_previous: int
    n_tags: int
    base: F64
    evidence: F32
    known: Tags


def _heard(
    crowd: CrowdView,
    table: F64,
    start: F64,
    transition: F64 | None,
    evidence: F32 | None,
    known: Tags | None,
) -> tuple[_Heard, I64 | None]:
    """What speaks, and which rows of the table are in it, where not all are."""
    _, n_previous, n_tags, n_labels = table.shape
    where, used = np.zeros(0, np.int32), None
    if _padded_bytes(table) > MAX_WHOLE_BYTES:
        used = _used_rows(crowd, *table.shape[:3])
        where = np.zeros(math.prod(table.shape[:3]), np.int32)
        where[used] = np.arange(len(used))
        wide = padded(table[np.unravel_index(used, table.shape[:3])])
    else:
        wide = padded(table).reshape(math.prod(table.shape[:3]), -1)
    with np.errstate(divide="ignore"):
        base = np.log(start) if transition is None else np.zeros(n_labels)
    heard = _Heard(
        wide,
        where,
        n_previous,
        n_tags,
        padded(base[None], fill=-np.inf),
        np.zeros((0, n_labels), np.float32) if evidence is None else evidence,
        np.zeros(0, tag_dtype(n_labels)) if known is None else known,
    )
    return heard, used


def _used_rows(crowd: CrowdView, n_annotators: int, n_previous: int, n_tags: int) -> I64:
    """int64[…]: rows of a table [W * P * C] that the crowd's tags speak through."""
    used, view = np.zeros(n_annotators * n_previous * n_tags, np.bool_), Packed(crowd)
    call("mark_rows", view, 0, len(crowd.token_offsets) - 1, n_previous, n_tags, used)
    return np.flatnonzero(used)


def _padded_bytes(table: F64) -> int:
    """What the whole table takes in padded rows."""
    return int(math.prod(table.shape[:3]) * (-(-table.shape[3] // 4) * 4) * table.itemsize)


def _bounds(offsets: I64, table_bytes: int) -> I64:
    """Where to cut, so that one table of counts for every chunk is not too much memory."""
    bounds = chunk_bounds(offsets)
    most = max(2, MAX_COUNT_BYTES // max(1, table_bytes))
    if len(bounds) - 1 <= most:
        return bounds
    return bounds[np.arange(most + 1) * (len(bounds) - 1) // most]
