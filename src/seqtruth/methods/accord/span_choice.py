"""Which spans to name: beside labels that are known, of those that somebody claims, where nobody labelled."""

from __future__ import annotations

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import F64, I64, Bool, Tags
from seqtruth.kernels.chain import Chain
from seqtruth.kernels.span_decoding import ANY, Claimed
from seqtruth.predictors.decoding import Decoded, best_spans
from seqtruth.predictors.tagger import Tagger


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


def judge_unlabelled(tagger: Tagger | None, corpus: Corpus, labelled: Bool, found: Decoded) -> Bool:
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
    for mine, theirs in zip(found, tagger.decode(corpus[places]), strict=True):
        mine[at] = theirs
    return blank
