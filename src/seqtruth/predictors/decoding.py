"""Which spans to name, given label scores and a chain: those worth naming, or those of the likeliest path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import F32, F64, I64, Tags
from seqtruth.kernels.chain import Chain, forward_backward, viterbi
from seqtruth.kernels.span_decoding import ANY, Claimed, choose_spans
from seqtruth.kernels.spans import BEGIN, END, INSIDE, SINGLE

#: Schemes in which a span's borders and type say how it is spelled, whatever stands around it.
SPELLABLE = ("iob2", "bioes", "bilou")


class Decoded(NamedTuple):
    """What was chosen.

    tags : tag[T], always legal.
    marginals : float32[T, L], P(y_i = l).
    span : float32[T], on every token of a chosen span the probability of exactly that span, else 0
        (where a path was decoded: that of the span's weakest tag).
    """

    tags: Tags
    marginals: F32
    span: F32


def best_spans(
    scores: F64,
    offsets: I64,
    chain: Chain,
    scheme: Scheme,
    threshold: float | None,
    claimed: Claimed = ANY,
) -> Decoded:
    """Choose spans under a chain; in schemes that are not :data:`SPELLABLE`, the likeliest path.

    Parameters
    ----------
    scores : float64[T, L], log scores.
    offsets : int64[S+1].
    chain : start, transition and end weights; what the scheme forbids has none.
    threshold : θ of :mod:`seqtruth.kernels.span_decoding`, from 0 to below 1; None: the likeliest
        path in every scheme.
    claimed : the spans to choose from.
    """
    marginals = forward_backward(scores, offsets, chain).marginals
    if threshold is None or scheme.kind not in SPELLABLE:
        tags = viterbi(scores, offsets, chain)
        return Decoded(tags, marginals, _weakest_tag(tags, marginals, offsets, scheme))
    tags, span = choose_spans(
        scores, offsets, chain, _spelling(scheme), scheme.outside, float(threshold), claimed
    )
    return Decoded(tags, marginals, span)


def _weakest_tag(tags: Tags, marginals: F32, offsets: I64, scheme: Scheme) -> F32:
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
    """int64[types, 5], as :func:`~seqtruth.kernels.span_decoding.choose_spans` wants it."""
    rows = []
    for name in scheme.types:
        begin, inside = scheme.label(BEGIN, name), scheme.label(INSIDE, name)
        if scheme.kind == "iob2":
            rows.append((begin, begin, inside, inside, inside))
        else:
            rows.append((scheme.label(SINGLE, name), begin, inside, scheme.label(END, name), -1))
    return np.array(rows, np.int64).reshape(-1, 5)
