"""How many of the surest are right: confidences corrected by known labels, and what that allows to promise.

Where the labels of some sentences are known, the log odds that a span (or a sentence) is right are taken as

    logit c + w · (1, logit c, log(1 + n), n / m) + u_k + v_k logit c

with c its confidence, n of the m annotators who say exactly the same, and k its type: a tagger can be sure
of what hardly anybody marks, and what types are worth differs. All weights are drawn to 0 (a ridge), so
that few known labels change little. How often the surest are right is read off twice, as the mean of these
probabilities and as the share of the known ones that are right, each judged by weights that were learnt
without their sentence; the lower counts. Spans of a sentence err together and say less than as many in
different ones; how much less is measured. Strengths were tuned on ``nguyen_val``, even PICO documents and the
tuning parts of the rule sets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.decisions.merging import model_crowd
from seqtruth.decisions.model import spans_of
from seqtruth.kernels.arrays import F64, I64, Bool
from seqtruth.methods.accord.confirmation import Support, logit, sigmoid
from seqtruth.methods.logistic import fit_logistic
from seqtruth.result import Result

#: Standard errors between the precision expected and the one promised.
SAFETY = 1.5
#: Strengths of the ridge: intercept, slope, witnesses, their share; a type's intercept and slope.
RIDGE = (0.1, 2.0, 2.0, 2.0)
RIDGE_TYPE = (1.0, 3.0)
#: Known ones are judged by what the others teach, so many parts of them.
FOLDS = 5


class Claims(NamedTuple):
    """Spans, or sentences: what is known of them before any label is.

    confidence : float64[N], as the result has it.
    witnesses, seen : int64[N], annotators who say exactly the same, and who labelled the sentence.
    kind : int64[N], the type (0 of sentences).
    sentence : int64[N].
    """

    confidence: F64
    witnesses: I64
    seen: I64
    kind: I64
    sentence: I64


class Ranking(NamedTuple):
    """Claims in the order of their probability of being right.

    probability : float64[N], of each claim (not in order).
    order : int64[N], the surest first.
    precision : float64[N], expected of the first, the first two, …
    behind : float64[N], known ones that say so; those of a sentence, which err together, count less.
    """

    probability: F64
    order: I64
    precision: F64
    behind: F64


def span_claims(result: Result) -> Claims:
    """The spans of a result."""
    found, corpus = spans_of(result), result.corpus
    sequence, kind = found.sequence.astype(np.int64), found.type.astype(np.int64)
    none = np.zeros(len(sequence), np.int64)
    claims = Claims(result.span_confidence(), none, none, kind, sequence)
    if result.crowd is None:
        return claims
    crowd = model_crowd(result)
    support = Support(crowd, np.ones(crowd.n_annotators, np.bool_))
    first = corpus.token_offsets[sequence] + found.start
    witnesses = support.of(first, (found.end - found.start).astype(np.int64), kind)
    return claims._replace(witnesses=witnesses, seen=np.diff(crowd.sentence_rows)[sequence])


def sentence_claims(result: Result) -> Claims:
    """The sentences of a result, each the claim that all in it is right and nothing missing."""
    n = result.corpus.n_sentences
    none = np.zeros(n, np.int64)
    sure = np.where(result.labelled, result.sentence_confidence, 0.0)
    claims = Claims(sure, none, none, none, np.arange(n))
    if result.crowd is None:
        return claims
    crowd = model_crowd(result)
    same = _same_rows(crowd, result)
    witnesses = np.bincount(crowd.row_sentence[same], minlength=n)
    return claims._replace(witnesses=witnesses, seen=np.diff(crowd.sentence_rows))


def _same_rows(crowd: Crowd, result: Result) -> Bool:
    """bool[R]: rows that say what the result does, all over the sentence."""
    flat = gather(crowd.corpus.token_offsets, crowd.row_sentence.astype(np.int64))[1]
    other = np.concatenate([[0], np.cumsum(crowd.tags != result.tags[flat])])
    return np.asarray(np.diff(other[crowd.row_offsets]) == 0)


def ranked(confidence: F64) -> Ranking:
    """Claims by the confidence that the result has in them; nothing stands behind it."""
    order = np.argsort(-confidence, kind="stable")
    mean = np.cumsum(confidence[order]) / np.arange(1, len(order) + 1)
    return Ranking(confidence, order, mean, np.zeros(len(order)))


def ranked_by_known(claims: Claims, at: I64, right: Bool) -> Ranking:
    """Claims by confidences that known labels correct.

    Parameters
    ----------
    claims : all of them.
    at, right : which of them known labels decide, and whether these are right.
    """
    columns, ridge = _columns(claims)
    base = logit(claims.confidence)
    known, given = columns[at], base[at]
    sure = sigmoid(base + columns @ fit_logistic(known, right, ridge, base=given))
    held = np.empty(len(at))
    fold = np.unique(claims.sentence[at], return_inverse=True)[1] % FOLDS
    for k in range(FOLDS):
        out = fold == k
        weights = fit_logistic(known[~out], right[~out], ridge, base=given[~out])
        held[out] = sigmoid(given[out] + known[out] @ weights)
    found = ranked(sure)
    rank = np.argsort(-held, kind="stable")
    behind = np.searchsorted(-held[rank], -sure[found.order], side="right")
    hits = np.concatenate([[0.0], np.cumsum(right[rank])])[behind]
    share = np.where(behind > 0, hits / np.maximum(behind, 1), 1.0)
    return found._replace(
        precision=np.minimum(found.precision, share),
        behind=behind / _together(right - held, claims.sentence[at]),
    )


def _together(surprise: F64, sentence: I64) -> float:
    """How many claims of a sentence count as one, because they are right or wrong together (1 or more)."""
    cluster = np.unique(sentence, return_inverse=True)[1]
    sums = np.bincount(cluster, surprise)
    return max(1.0, float((sums**2).sum() / max((surprise**2).sum(), 1e-9)))


def _columns(claims: Claims) -> tuple[F64, F64]:
    """float64[N, D] and the ridge of each column; centred, so that the intercept speaks of usual claims."""
    base = logit(claims.confidence) - 2.0
    share = claims.witnesses / np.maximum(claims.seen, 1)
    every = [np.ones(len(base)), base, np.log1p(claims.witnesses) - 1.0, share - 0.5]
    kinds = np.unique(claims.kind)
    is_kind = (claims.kind[:, None] == kinds).astype(np.float64)
    columns = np.concatenate([np.stack(every, axis=1), is_kind, is_kind * base[:, None]], axis=1)
    return columns, np.array([*RIDGE, *np.repeat(RIDGE_TYPE, len(kinds))])
