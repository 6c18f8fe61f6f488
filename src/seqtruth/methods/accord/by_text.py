"""What the text says of annotators where next to nobody sees what another saw.

With one label a sentence, agreement tells nothing. But a tagger that learnt from the others can be asked what
an annotator would have said: it agrees with a careful one more often than with a careless one, on texts that
are equally hard. How hard they are, its own probabilities tell: of each annotator, spans that tagger and
annotator have in common are counted, and divided by as many as an average annotator would have had in common
with it there. Quotients are shrunk towards their mean by as much as documents of the same annotator differ
among themselves; divided by the best one they are *reliabilities*: the share ρ of labels that an annotator
gives by looking, the others being given as labels are usual,

    P_j(c | t) = ρ_j [c = t] + (1 - ρ_j) π(c).

The tagger is then heard beside annotators as ever, if they differ more than chance lets them, or if it
foretells a good part of what they say. Elsewhere nothing was learnt, and labels stay what they are. The same
goes for one annotator beside others who mark at random (:mod:`~seqtruth.methods.accord.learnable`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.spans import Spans, extract
from seqtruth.kernels.arrays import F32, F64, I64, Bool, Tags
from seqtruth.kernels.chain import Chain, forward_backward, viterbi
from seqtruth.methods.accord.opinions import clamp
from seqtruth.methods.bayes.sequence_model import label_scores
from seqtruth.methods.crossfit import cross_fit, usable
from seqtruth.methods.marked import Totals
from seqtruth.predictors.base import Potentials, Predictor

#: Nobody else saw more than this share of what is marked: agreement tells next to nothing.
ALONE = 0.75
#: Who speaks of this share of all types is no rule.
MOST_TYPES = 0.5
#: Strict F1 from which on a tagger that foretells annotators is heard, also where they seem to be alike.
FORETELLS = 0.4
#: How unlikely differences between equal annotators must be to be believed.
CHANCE = 0.01
#: Nobody is taken to be better than this.
BEST = 0.98

log = logging.getLogger("seqtruth")


class ByText(NamedTuple):
    """What was found.

    reliability : float64[W], of each annotator beside the best.
    usual : float64[L], how often each label is given.
    foretold : strict F1 of the tagger under what annotators say.
    chance : how likely such differences are between equal annotators.
    targets : float32[T, L], labels to learn from next.
    """

    reliability: F64
    usual: F64
    foretold: float
    chance: float
    targets: F32

    def but_for(self, accuracy: F64) -> ByText:
        """The same, with what the user knows of annotators (nan: nothing)."""
        return self._replace(
            reliability=np.where(np.isfinite(accuracy), accuracy, self.reliability)
        )

    def to_dict(self, annotators: Sequence[str]) -> dict[str, Any]:
        """For the result's provenance."""
        of = zip(annotators, self.reliability.tolist(), strict=True)
        return {
            "foretold_f1": round(self.foretold, 4),
            "chance": round(self.chance, 4),
            "reliability": {name: round(value, 4) for name, value in of},
        }

    @property
    def table(self) -> F64:
        return table_of(self.reliability, self.usual)


def table_of(reliability: F64, usual: F64) -> F64:
    """float64[W, 1, C, L]: log P_j(c | t).

    Parameters
    ----------
    reliability : float64[W], see :func:`complete`.
    usual : float64[L], how often each label is given.
    """
    rho = np.minimum(complete(reliability), BEST)[:, None, None]
    found = rho * np.eye(len(usual)) + (1 - rho) * usual[:, None]
    return np.ascontiguousarray(np.log(found)[:, None])


def complete(reliability: F64) -> F64:
    """Reliabilities; those of new annotators, who have none (nan), are the mean of the others."""
    told = np.isfinite(reliability)
    mean = float(reliability[told].mean()) if told.any() else BEST
    return np.where(told, reliability, mean)


def next_to_nobody_overlaps(totals: Totals) -> bool:
    """Whether these are people, more than one, who hardly ever see what another saw."""
    alone = totals.spoken.sum() - totals.shared.sum()
    several = np.count_nonzero(totals.spoken) > 1
    return bool(several and totals.breadth > MOST_TYPES and alone > ALONE * totals.spoken.sum())


def judge_by_text(
    crowd: Crowd,
    known: Tags | None,
    heard: Bool,
    members: Sequence[Predictor],
    folds: int,
    seed: int,
) -> ByText | None:
    """Ask a tagger what annotators would have said; None where nothing is learnt by that.

    Parameters
    ----------
    crowd, known : annotations, and labels known beforehand.
    heard : bool[W], annotators who are not known to mark at random.
    members : predictors, of which the first is asked.
    folds, seed : for cross-fitting.
    """
    log.info("agreement tells nothing: a tagger is asked what annotators would have said")
    scheme, offsets = crowd.scheme, crowd.corpus.token_offsets
    usual = (
        np.bincount(crowd.tags[crowd.tags >= 0], minlength=crowd.n_labels) + 1.0 / crowd.n_labels
    )
    usual = usual / usual.sum()
    equal = table_of(np.where(heard, BEST, 0.0), usual)
    targets, learnt = _posterior(crowd, known, equal, None), usable(crowd, known)
    said = cross_fit(members[:1], crowd.corpus, scheme, targets, learnt, folds, seed, 0).opinions[0]
    chain = said.chain.times(Chain.legal(scheme.grammar))
    scores = clamp(said.scores.astype(np.float64), known)
    path = viterbi(scores, offsets, chain)
    counted = _counted(crowd, path, forward_backward(scores, offsets, chain).marginals)
    sane = heard[counted.annotator]
    counted = _Counted(
        counted.annotator[sane], counted.common[sane], counted.expected[sane], counted.named[sane]
    )
    reliability, chance = _compared(counted, crowd.n_annotators)
    foretold = float(counted.common.sum() / max(counted.named.sum(), 1e-9))
    reliability = np.where(heard, reliability, 0.0)
    if chance >= CHANCE and foretold < FORETELLS:
        return None
    found = ByText(reliability, usual, foretold, chance, targets)
    return found._replace(targets=_posterior(crowd, known, found.table, said))


def _posterior(crowd: Crowd, known: Tags | None, table: F64, said: Potentials | None) -> F32:
    scores, chain = label_scores(crowd, table), Chain.legal(crowd.scheme.grammar)
    if said is not None:
        scores, chain = scores + said.scores, chain.times(said.chain)
    scores = clamp(scores, known)
    return forward_backward(scores, crowd.corpus.token_offsets, chain).marginals


class _Counted(NamedTuple):
    """Spans of annotators and tagger, by annotator and document, float64[N] each.

    annotator : int64[N].
    common : twice those that both have.
    expected : as many as an average annotator would have.
    named : all of both.
    """

    annotator: I64
    common: F64
    expected: F64
    named: F64


def _counted(crowd: Crowd, path: Tags, soft: F32) -> _Counted:
    corpus, scheme = crowd.corpus, crowd.scheme
    offsets, rows = corpus.token_offsets, crowd.row_sentence.astype(np.int64)
    at = gather(offsets, rows)[1]
    begins = np.array([label.startswith(("B", "S")) for label in map(str, scheme.labels)])
    theirs = extract(crowd.tags, crowd.row_offsets, scheme, "conlleval")
    its = extract(path[at], crowd.row_offsets, scheme, "conlleval")

    def keys(found: Spans) -> I64:
        first = crowd.row_offsets[found.sequence]
        end, n = first + found.end, len(scheme.types)
        key = ((first + found.start) * (len(at) + 1) + end) * max(n, 1) + found.type
        return np.asarray(key, np.int64)

    likely = soft[np.arange(len(path)), path][at]
    first = crowd.row_offsets[its.sequence]
    cuts = np.stack([first + its.start, first + its.end], axis=1).reshape(-1)
    sure = np.zeros(0)
    if len(cuts):
        sure = np.minimum.reduceat(np.append(likely, np.float32(1)), cuts)[::2]
    n = crowd.n_rows
    common = 2.0 * np.bincount(theirs.sequence, np.isin(keys(theirs), keys(its)), n)
    claimed, named = (
        np.bincount(theirs.sequence, minlength=n),
        np.bincount(its.sequence, minlength=n),
    )
    row = np.repeat(np.arange(n), np.diff(crowd.row_offsets))
    begun = np.bincount(row, soft[:, begins].sum(axis=1)[at], n)
    likely_common = 2.0 * np.bincount(its.sequence, sure, n)
    document = (
        rows if len(corpus.documents) < 2 else corpus.sentence_document.astype(np.int64)[rows]
    )
    cell, cells = np.unique(
        np.stack([crowd.row_annotator.astype(np.int64), document]), axis=1, return_inverse=True
    )

    def by_cell(values: Any) -> F64:
        return np.bincount(cells.reshape(-1), values, cell.shape[1]).astype(np.float64)

    both = by_cell(claimed + named)
    expected = by_cell(likely_common) / np.maximum(by_cell(begun + named), 1e-9) * both
    total = by_cell(common)
    expected *= total.sum() / max(expected.sum(), 1e-9)
    return _Counted(cell[0], total, expected, both)


def _compared(counted: _Counted, n: int) -> tuple[F64, float]:
    """Reliabilities float64[W], and how likely such differences are between equal annotators."""
    j, common, expected = counted.annotator, counted.common, counted.expected
    base, units = np.bincount(j, expected, n), np.bincount(j, expected > 0, n)
    seen = base > 0
    if np.count_nonzero(seen) < 2:
        return np.ones(n), 1.0
    quotient = np.where(seen, np.bincount(j, common, n) / np.maximum(base, 1e-9), 1.0)
    apart = (common - quotient[j] * expected)[units[j] > 1]
    free = (base * (1 - 1 / np.maximum(units, 1)))[units > 1].sum()
    foretold = common.sum() / max(counted.named.sum(), 1e-9)
    spread = max(float((apart**2).sum()) / max(free, 1e-9), 2.0 * (1.0 - foretold))
    error = spread / np.maximum(base, 1e-9)
    weight = base / base.sum()
    mean = float((weight * quotient).sum())
    away = (quotient - mean) ** 2
    between = float((weight * away).sum() - (weight * (1 - weight) * error)[seen].sum())
    variance = max(between, 0.0) / max(1.0 - float((weight**2).sum()), 1e-9)
    shrunk = np.where(seen, mean + variance / (variance + error) * (quotient - mean), mean)
    reliability = np.maximum(shrunk, 0.0) / shrunk[seen].max()
    return reliability, _chance(float((away / error)[seen].sum()), int(seen.sum()) - 1)


def _chance(total: float, freedom: int) -> float:
    """How likely a χ² is at least this large, by Wilson and Hilferty's cube root.

    >>> round(_chance(15.09, 5), 3)
    0.01
    """
    part = 2.0 / (9.0 * freedom)
    z = ((total / freedom) ** (1 / 3) - (1.0 - part)) / part**0.5
    return 1.0 - NormalDist().cdf(z)
