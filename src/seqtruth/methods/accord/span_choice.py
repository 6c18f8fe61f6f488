"""Which spans to name, given label scores and a chain: those worth naming, or those of the likeliest path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import F32, F64, I64, Bool, Tags
from seqtruth.kernels.chain import Chain, forward_backward, viterbi
from seqtruth.kernels.span_decoding import ANY, Claimed, choose_spans
from seqtruth.kernels.spans import BEGIN, END, INSIDE, SINGLE
from seqtruth.predictors.tagger import Tagger

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


def claimed_in(crowd: Crowd, known: Tags | None = None) -> Claimed:
    """The spans that somebody marks, or that are known; where nobody marks anything, all.

    Annotators who disagree about borders can make a span likely that none of them marked, half of it from
    one and half from another. Such spans are hardly ever right: without a predictor 0 of 64 on ncbi-disease,
    5 of 298 on bc5cdr, 2 of 6 on the essays, 0 of 13 on PICO, 9 of 29 on ``ner`` (tuning parts). A
    predictor may know better: 171 of 311 on ``ner``.

    Parameters
    ----------
    crowd : the annotations.
    known : tag[T], labels given as true (-1: none).
    """
    offsets, outside = crowd.corpus.token_offsets, crowd.scheme.outside
    rows = extract(crowd.tags, crowd.row_offsets, crowd.scheme, "conlleval")
    of = offsets[crowd.row_sentence[rows.sequence]]
    found = [np.stack([of + rows.start, of + rows.end, rows.type.astype(np.int64)])]
    if known is not None:
        given = extract(np.where(known >= 0, known, outside), offsets, crowd.scheme, "conlleval")
        of = offsets[given.sequence]
        found.append(np.stack([of + given.start, of + given.end, given.type.astype(np.int64)]))
    begin, end, kind = np.unique(np.concatenate(found, axis=1), axis=1).astype(np.int64)
    covered = np.zeros(crowd.n_tokens + 1, np.int64)
    np.add.at(covered, begin, 1)
    np.add.at(covered, end, -1)
    first = np.searchsorted(begin, np.arange(crowd.n_tokens + 1)).astype(np.int64)
    return Claimed(first, end, kind, np.cumsum(covered)[:-1] == 0)


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


def keep_known(
    found: Decoded, scores: F64, offsets: I64, chain: Chain, scheme: Scheme, known: Tags | None
) -> Decoded:
    """The choice with known labels kept; where they are inside spans not worth naming, the likeliest
    path is taken.

    Parameters
    ----------
    found : what was chosen under ``scores``; changed in place.
    known : tag[T], labels given as true (-1: none).
    """
    if known is None:
        return found
    lost = (known >= 0) & (found.tags != known)
    count = np.concatenate([[0], np.cumsum(lost)])[offsets]
    part, at = gather(offsets, np.flatnonzero(np.diff(count)))
    path = best_spans(scores[at], part, chain, scheme, None)
    found.tags[at], found.span[at] = path.tags, path.span
    found.tags[:] = np.where(known >= 0, known, found.tags)
    return found


def worth_naming(
    scores: F64,
    offsets: I64,
    chain: Chain,
    scheme: Scheme,
    threshold: float | None,
    known: Tags | None,
    claimed: Claimed = ANY,
) -> Decoded:
    """:func:`best_spans`, known labels kept (:func:`keep_known`)."""
    found = best_spans(scores, offsets, chain, scheme, threshold, claimed)
    return keep_known(found, scores, offsets, chain, scheme, known)


def judge_unlabelled(
    tagger: Tagger | None, corpus: Corpus, labelled: Bool, found: Decoded, threshold: float | None
) -> Bool:
    """Let a tagger label, in ``found``, sentences that nobody did; bool[S]: which.

    Parameters
    ----------
    labelled : bool[S], those that somebody did.
    """
    blank: Bool = ~labelled & (np.diff(corpus.token_offsets) > 0)
    if tagger is None or not blank.any():
        return np.zeros(len(blank), np.bool_)
    places = np.flatnonzero(blank)
    at = gather(corpus.token_offsets, places)[1]
    for mine, theirs in zip(found, tagged(tagger, corpus[places], threshold), strict=True):
        mine[at] = theirs
    return blank


def tagged(tagger: Tagger, corpus: Corpus, threshold: float | None) -> Decoded:
    """What a tagger chooses where nobody labelled anything."""
    said = tagger.predictor.predict_proba(corpus)
    scores = np.log(np.maximum(said, 1e-6, dtype=np.float64))
    legal = Chain.legal(tagger.scheme.grammar)
    return best_spans(scores, corpus.token_offsets, legal, tagger.scheme, threshold)


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
