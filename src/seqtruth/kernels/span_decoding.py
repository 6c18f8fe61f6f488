"""Spans worth naming: decoding for the F1 of whole spans instead of for the likeliest path.

Under a label chain each candidate span x (start, end, type) has a probability p(x). The spans chosen
maximise Σ_x (p(x) - θ) over sets that do not overlap. For the right θ (half of the F1 that can be
reached) that maximises expected F1; with θ below 1/2 it names spans that the likeliest path leaves out
only because their borders are in doubt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.scheme import BEGIN, END, INSIDE, SINGLE, Scheme
from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import F32, F64, I8, I64
from seqtruth.kernels.chain import Chain, forward_backward, viterbi
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.score_rows import TIE
from seqtruth.kernels.threads import chunk_bounds, map_chunks

#: Schemes in which a span's borders and type say how it is spelled, whatever stands around it.
SPELLABLE = ("iob2", "bioes", "bilou")


class Decoded(NamedTuple):
    """What was chosen.

    tags : int8[T], always legal.
    marginals : float32[T, L], P(y_i = l).
    span : float32[T], on every token of a chosen span the probability of exactly that span, else 0
        (where a path was decoded: that of the span's weakest tag).
    """

    tags: I8
    marginals: F32
    span: F32


def best_spans(
    scores: F64, offsets: I64, chain: Chain, scheme: Scheme, threshold: float | None
) -> Decoded:
    """Choose spans under a chain; in schemes that are not :data:`SPELLABLE`, the likeliest path.

    Parameters
    ----------
    scores : [T, L] log scores.
    chain : start, transition and end weights; what the scheme forbids has none.
    threshold : θ, from 0 to below 1; None: the likeliest path in every scheme.
    """
    marginals = forward_backward(scores, offsets, chain).marginals
    if threshold is None or scheme.kind not in SPELLABLE:
        tags = viterbi(scores, offsets, chain)
        return Decoded(tags, marginals, _weakest_tag(tags, marginals, offsets, scheme))
    tags = np.empty(len(scores), np.int8)
    span = np.zeros(len(scores), np.float32)
    spelling = _spelling(scheme)

    def run(a: int, b: int) -> None:
        _best_spans(
            scores, offsets, a, b, *chain, spelling, scheme.outside, float(threshold), tags, span
        )  # fmt: skip

    map_chunks(run, chunk_bounds(offsets))
    return Decoded(tags, marginals, span)


def _weakest_tag(tags: I8, marginals: F32, offsets: I64, scheme: Scheme) -> F32:
    """float32[T]: on every token of a span the probability of its least probable tag, else 0."""
    spans = extract(tags, offsets, scheme)
    first = offsets[spans.sequence]
    cuts = np.stack([first + spans.start, first + spans.end], axis=1).reshape(-1)
    out = np.zeros(len(tags), np.float32)
    if len(cuts):
        chosen = np.append(marginals[np.arange(len(tags)), tags], np.float32(1))
        least = np.minimum.reduceat(chosen, cuts)[::2]
        out[scheme.is_entity[tags]] = np.repeat(least, spans.end - spans.start)
    return out


def _spelling(scheme: Scheme) -> I64:
    """int64[types, 5]: labels of a single token, the first, inner and last of a span, and the one that
    must not follow because it would make the span longer (-1: none)."""
    rows = []
    for name in scheme.types:
        begin, inside = scheme.label(BEGIN, name), scheme.label(INSIDE, name)
        if scheme.kind == "iob2":
            rows.append((begin, begin, inside, inside, inside))
        else:
            rows.append((scheme.label(SINGLE, name), begin, inside, scheme.label(END, name), -1))
    return np.array(rows, np.int64).reshape(-1, 5)


@kernel
def _best_spans(
    scores: F64,
    offsets: I64,
    first: int,
    last: int,
    start: F64,
    trans: F64,
    end: F64,
    spelling: I64,
    outside: int,
    threshold: float,
    tags: I8,
    span: F32,
) -> None:
    longest, n_labels = 1, len(start)
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    e, alpha, beta = (
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
    )
    norm, value, chance = np.empty(longest), np.empty(longest + 1), np.empty(longest + 1)
    source, kind = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        _scaled(scores[a : a + n], start, trans, end, e, alpha, beta, norm)
        value[: n + 1], source[: n + 1] = 0.0, -1
        for i in range(n):
            if i > 0 and value[i - 1] > value[i] + TIE:
                value[i], source[i] = value[i - 1], -1
            for k in range(len(spelling)):
                _spans_from(
                    i, n, k, spelling[k], trans, e, alpha, beta, norm, threshold, value, source,
                    kind, chance,
                )  # fmt: skip
        if n and value[n - 1] > value[n] + TIE:
            source[n] = -1
        tags[a : a + n] = outside
        j = n
        while j > 0:
            i = source[j]
            if i < 0:
                j -= 1
                continue
            single, begin, inner, final, _ = spelling[kind[j]]
            tags[a + i : a + j] = inner
            tags[a + i], tags[a + j - 1] = begin, final
            if j - i == 1:
                tags[a + i] = single
            span[a + i : a + j] = chance[j]
            j = i


@kernel
def _spans_from(
    i: int,
    n: int,
    k: int,
    spelling: I64,
    trans: F64,
    e: F64,
    alpha: F64,
    beta: F64,
    norm: F64,
    threshold: float,
    value: F64,
    source: I64,
    kind: I64,
    chance: F64,
) -> None:
    """Offer every span of one type that starts at token i to the prefixes that it ends."""
    single, begin, inner, final, closed = spelling
    _offer(
        i, i, k, alpha[i, single], single, closed, n, trans, e, beta, norm, threshold, value, source,
        kind, chance,
    )  # fmt: skip
    run, before = alpha[i, begin], begin
    for j in range(i + 1, n):
        here = run * trans[before, final] * e[j, final] / norm[j]
        _offer(
            i, j, k, here, final, closed, n, trans, e, beta, norm, threshold, value, source, kind,
            chance,
        )  # fmt: skip
        run *= trans[before, inner] * e[j, inner] / norm[j]
        before = inner
        if run * beta[j, inner] <= threshold:  # what goes on from here is no likelier
            break


@kernel
def _offer(
    i: int,
    j: int,
    k: int,
    run: float,
    label: int,
    closed: int,
    n: int,
    trans: F64,
    e: F64,
    beta: F64,
    norm: F64,
    threshold: float,
    value: F64,
    source: I64,
    kind: I64,
    chance: F64,
) -> None:
    """Take the span i … j where it makes the best choice for the first j + 1 tokens better."""
    p = run * beta[j, label]
    if p <= threshold:
        return
    if closed >= 0 and j + 1 < n:
        p -= run * trans[label, closed] * e[j + 1, closed] * beta[j + 1, closed] / norm[j + 1]
    if p > threshold and value[i] + p - threshold > value[j + 1] + TIE:
        value[j + 1] = value[i] + p - threshold
        source[j + 1], kind[j + 1], chance[j + 1] = i, k, p


@kernel
def _scaled(
    scores: F64, start: F64, trans: F64, end: F64, e: F64, alpha: F64, beta: F64, norm: F64
) -> None:
    """Scaled forward and backward tables of one sentence: P(y_i = l) = α_i[l] · β_i[l]."""
    n, n_labels = scores.shape
    for i in range(n):
        top = scores[i].max()
        scale = 0.0
        for k in range(n_labels):
            e[i, k] = np.exp(scores[i, k] - top)
            reach = start[k]
            if i > 0:
                reach = 0.0
                for j in range(n_labels):
                    reach += alpha[i - 1, j] * trans[j, k]
            alpha[i, k] = reach * e[i, k]
            scale += alpha[i, k]
        if scale <= 0.0:  # no path: the chain is ignored here, as in forward_backward
            for k in range(n_labels):
                alpha[i, k] = e[i, k]
                scale += e[i, k]
        for k in range(n_labels):
            alpha[i, k] /= scale
        norm[i] = scale
    scale = 0.0
    for k in range(n_labels):
        if n:
            scale += alpha[n - 1, k] * end[k]
    for i in range(n - 1, -1, -1):
        for j in range(n_labels):
            if i == n - 1:
                beta[i, j] = end[j] / scale if scale > 0.0 else 1.0
            else:
                total = 0.0
                for k in range(n_labels):
                    total += trans[j, k] * e[i + 1, k] * beta[i + 1, k]
                beta[i, j] = total / norm[i + 1]
