"""Spans worth naming: decoding for the F1 of whole spans instead of for the likeliest path.

Under a label chain each candidate span x (start, end, type) has a probability p(x). The spans chosen
maximise Σ_x (p(x) - θ) over sets that do not overlap. For the right θ (half of the F1 that can be
reached) that maximises expected F1; with θ below 1/2 it names spans that the likeliest path leaves out
only because their borders are in doubt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F32, F64, I64, Tags, tag_dtype
from seqtruth.kernels.chain import Chain
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.kernels.ties import SCORE_TIE
from seqtruth.kernels.views import longest_sentence


def choose_spans(
    scores: F64, offsets: I64, chain: Chain, spelling: I64, outside: int, threshold: float
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
    """
    tags = np.empty(len(scores), tag_dtype(len(chain.start)))
    span = np.zeros(len(scores), np.float32)
    rules = _Rules(chain, spelling, outside, threshold)
    map_chunks(
        lambda a, b: _choose_spans_chunk(scores, offsets, a, b, rules, tags, span),
        chunk_bounds(offsets),
    )
    return tags, span


class _Rules(NamedTuple):
    """What does not change from one sentence to the next; see :func:`choose_spans`."""

    chain: Chain
    spelling: I64
    outside: int
    threshold: float


class _Tables(NamedTuple):
    """One sentence's scaled recursions: P(y_i = l) = α_i[l] · β_i[l].

    e, alpha, beta : float64[n, L].
    norm : float64[n].
    """

    e: F64
    alpha: F64
    beta: F64
    norm: F64


class _Best(NamedTuple):
    """The best choice of spans for each prefix of a sentence, [n + 1].

    value : what it is worth.
    source : first token of the span that ends it; -1: it ends outside.
    kind, chance : that span's type and probability.
    """

    value: F64
    source: I64
    kind: I64
    chance: F64


@kernel
def _choose_spans_chunk(
    scores: F64, offsets: I64, first: int, last: int, rules: _Rules, tags: Tags, span: F32
) -> None:
    longest, n_labels = longest_sentence(offsets, first, last), len(rules.chain.start)
    tables = _Tables(
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
        np.empty(longest),
    )
    best = _Best(
        np.empty(longest + 1),
        np.empty(longest + 1, np.int64),
        np.empty(longest + 1, np.int64),
        np.empty(longest + 1),
    )
    value, source = best.value, best.source
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        _smooth(scores[a : a + n], rules.chain, tables)
        value[: n + 1], source[: n + 1] = 0.0, -1
        for i in range(n):
            if i > 0 and value[i - 1] > value[i] + SCORE_TIE:
                value[i], source[i] = value[i - 1], -1
            for k in range(len(rules.spelling)):
                _offer_from(i, n, k, rules, tables, best)
        if n and value[n - 1] > value[n] + SCORE_TIE:
            source[n] = -1
        _spell(best, n, rules, tags[a : a + n], span[a : a + n])


@kernel
def _spell(best: _Best, n: int, rules: _Rules, tags: Tags, span: F32) -> None:
    """Labels tag[n] and probabilities of the spans chosen for the whole sentence."""
    tags[:] = rules.outside
    j = n
    while j > 0:
        i = best.source[j]
        if i < 0:
            j -= 1
            continue
        single, begin, inner, final, _ = rules.spelling[best.kind[j]]
        tags[i:j] = inner
        tags[i], tags[j - 1] = begin, final
        if j - i == 1:
            tags[i] = single
        span[i:j] = best.chance[j]
        j = i


@kernel
def _offer_from(i: int, n: int, k: int, rules: _Rules, tables: _Tables, best: _Best) -> None:
    """Offer every span of type k that starts at token i to the prefixes that it ends."""
    single, begin, inner, final, _ = rules.spelling[k]
    e, alpha, beta, norm = tables
    trans = rules.chain.transition
    _offer((i, i, k), n, alpha[i, single], single, rules, tables, best)
    run, before = alpha[i, begin], begin
    for j in range(i + 1, n):
        here = run * trans[before, final] * e[j, final] / norm[j]
        _offer((i, j, k), n, here, final, rules, tables, best)
        run *= trans[before, inner] * e[j, inner] / norm[j]
        before = inner
        if run * beta[j, inner] <= rules.threshold:  # what goes on from here is no likelier
            break


@kernel
def _offer(
    span: tuple[int, int, int],
    n: int,
    run: float,
    label: int,
    rules: _Rules,
    tables: _Tables,
    best: _Best,
) -> None:
    """Take the span (first token, last token, type) where it makes the best choice up to it better.

    ``run`` is the filtered probability of its labels, the last of which is ``label``.
    """
    i, j, k = span
    e, _, beta, norm = tables
    threshold, closed = rules.threshold, rules.spelling[k, 4]
    p = run * beta[j, label]
    if p <= threshold:
        return
    if closed >= 0 and j + 1 < n:
        longer = run * rules.chain.transition[label, closed] * e[j + 1, closed]
        p -= longer * beta[j + 1, closed] / norm[j + 1]
    value = best.value
    if p > threshold and value[i] + p - threshold > value[j + 1] + SCORE_TIE:
        value[j + 1] = value[i] + p - threshold
        best.source[j + 1], best.kind[j + 1], best.chance[j + 1] = i, k, p


@kernel
def _smooth(scores: F64, chain: Chain, tables: _Tables) -> None:
    """The tables of one sentence with log scores float64[n, L]."""
    start, trans, end = chain
    e, alpha, beta, norm = tables
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
