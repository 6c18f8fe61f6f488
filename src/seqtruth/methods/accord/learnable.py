"""What can be learnt from the text, and annotators whose marks follow nothing in it.

Where annotators agree, agreement tells the careful from the careless. Where next to nobody confirms
anybody (one careful person beside one who marks at random), it cannot; but what a careful person marks can
be learnt from the text, and what a spammer marks cannot. So each annotator's labels are cross-fitted by
themselves: whose marks are foretold far worse than another's is not heard. This is asked only of few
people who hardly agree and speak of most types: rules that know different names do not agree either.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.kernels.arrays import F64, Bool
from seqtruth.kernels.chain import Chain, viterbi
from seqtruth.methods.crossfit import cross_fit
from seqtruth.methods.dependence import Copies
from seqtruth.methods.marked import Marked, Totals
from seqtruth.metrics.span import span_scores
from seqtruth.predictors.base import Potentials, Predictor
from seqtruth.predictors.ensemble import pooled

#: More annotators than this tell each other apart, however few are careful.
MOST = 5
#: Pairs of people give the same label to more than this share of the tokens that either marks.
HARDLY = 0.1
#: Who speaks of this share of all types is no rule.
ALL_TYPES = 0.75
#: Strict F1 at which somebody's marks can be foretold at all, and the share of it that is next to nothing.
FORETOLD, NOTHING = 0.1, 0.1

log = logging.getLogger("seqtruth")


def without_noise(
    copies: Copies,
    marked: Marked,
    totals: Totals,
    members: Sequence[Predictor],
    folds: int,
    seed: int,
) -> Copies:
    """The witnesses without those whose marks are foretold far worse than another's.

    Parameters
    ----------
    copies : the witnesses so far.
    marked, totals : who said what, and its sums over the whole crowd.
    members : predictors, of which the first is asked.
    folds, seed : for cross-fitting.
    """
    if not members or not _hardly_agree(marked, totals):
        return copies
    crowd = marked.crowd
    log.info("annotators hardly agree: looking whose marks can be learnt from the text")
    scores = np.array(
        [_foretold(crowd, j, members[:1], folds, seed) for j in range(crowd.n_annotators)]
    )
    best = scores.max(initial=0.0)
    noise = (best >= FORETOLD) & (scores < NOTHING * best)
    names = tuple(crowd.annotators[j] for j in np.flatnonzero(noise))
    return copies._replace(weight=np.where(noise, 0.0, copies.weight), noise=names)


def _hardly_agree(marked: Marked, totals: Totals) -> bool:
    """Whether these are few people of whom next to nobody confirms anybody."""
    n, labels, outside = marked.crowd.n_annotators, marked.labels, marked.scheme.outside
    several = totals.claims.any(axis=0).sum() > 1
    if not 2 <= n <= MOST or not several or totals.breadth < ALL_TYPES or outside < 0:
        return False
    said = np.full((n, len(marked.at)), -1, np.int64)
    said[labels.annotator, labels.token] = labels.tag
    for i, j in combinations(range(n), 2):
        either = (said[i] >= 0) & (said[j] >= 0) & ((said[i] != outside) | (said[j] != outside))
        same = int((either & (said[i] == said[j])).sum())
        if same >= HARDLY * either.sum():
            return False
    return True


def _foretold(crowd: Crowd, j: int, member: Sequence[Predictor], folds: int, seed: int) -> float:
    """Strict F1 between an annotator's labels and what is learnt from their other documents."""
    scheme, rows = crowd.scheme, np.flatnonzero(crowd.row_annotator == j)
    theirs = np.zeros(crowd.n_sentences, np.bool_)
    theirs[crowd.row_sentence[rows]] = True
    at = gather(crowd.corpus.token_offsets, crowd.row_sentence[rows].astype(np.int64))[1]
    tags = np.full(crowd.n_tokens, max(scheme.outside, 0), crowd.tags.dtype)
    tags[at] = np.maximum(crowd.tags[gather(crowd.row_offsets, rows)[1]], 0)
    targets = np.eye(len(scheme.labels), dtype=np.float32)[tags]
    said = cross_fit(member, crowd.corpus, scheme, targets, theirs, folds, seed, 0).opinions
    return foretold(said, np.ones(1), Labelling(crowd.corpus, scheme, tags), theirs)


def foretold(said: Sequence[Potentials], weights: F64, labels: Labelling, asked: Bool) -> float:
    """Strict span F1 that predictors, each on what it has not seen, have under given labels.

    Parameters
    ----------
    said : what cross-fitted predictors say of every sentence.
    weights : float64[M], how far each is trusted beside the others.
    labels : those that they learnt.
    asked : bool[S], sentences to judge by.
    """
    corpus, scheme = labels.corpus, labels.scheme
    scores, chain = pooled(said, weights / weights.sum())
    path = viterbi(scores, corpus.token_offsets, chain.times(Chain.legal(scheme.grammar)))
    return span_scores(Labelling(corpus, scheme, path), labels, asked).f1
