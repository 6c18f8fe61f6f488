"""Is a span right? What held-out annotators confirm, divided by what they would confirm of true spans.

An annotator j who was not heard confirms a true span of type k with probability r_jk, how much they
find, and hardly ever a wrong one. So where c is the probability that the model gives a span,

    P(j confirms) = r_jk · σ(s_k logit c + i_k),    P(right) = (1 - ε) σ(s_k logit c + i_k)

r_jk is counted on spans that many others mark exactly alike (the best supported quarter, two of them at
least), which are nearly all right. Slope and intercept of a type are fitted to all verdicts, with those
of all types together as their prior; r_jk of annotators with few verdicts is drawn to the others'.
ε (:data:`~seqtruth.methods.accord.annotators.SLIP`) is for what annotators get wrong together, which no
annotator can reveal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import F32, F64, I64, Bool
from seqtruth.methods.accord.annotators import SLIP
from seqtruth.predictors.crf.lbfgs import minimise

#: Logits beyond this are all the same to us.
SUREST = 14.0
#: Slope and intercept before anything is seen, and how many verdicts they are worth.
USUAL, STRENGTH = (0.5, 0.0), 10.0
#: Share of true spans that annotators find, where nothing can be learnt about it; worth so many spans.
USUAL_RECALL, RECALL_STRENGTH = 0.8, 5.0
#: Recall is counted on spans with at least as many supporters as this share of them has, and two.
BEST_SUPPORTED = 0.75
#: Known labels that count as much as what is taken for granted about common mistakes.
CEILING_STRENGTH = 50.0


@dataclass(frozen=True)
class Line:
    """A line in log odds, below a ceiling: P = ceiling · σ(slope · logit c + intercept)."""

    slope: float
    intercept: float
    ceiling: float = 1.0

    def __call__(self, confidence: F32 | F64) -> F64:
        return self.ceiling * sigmoid(self.slope * logit(confidence) + self.intercept)


class SpanVerdicts(NamedTuple):
    """What held-out annotators say of spans that were chosen without them.

    confidence, right : probability of each span, and whether the annotator marks it exactly so.
    kind, annotator : its type, and who was asked.
    support : how many others mark it exactly so.
    """

    confidence: F64
    right: Bool
    kind: I64
    annotator: I64
    support: I64

    def where(self, chosen: Bool) -> SpanVerdicts:
        """Some of them."""
        return SpanVerdicts(
            self.confidence[chosen], self.right[chosen], self.kind[chosen],
            self.annotator[chosen], self.support[chosen],
        )  # fmt: skip


class Support:
    """How many witnesses mark a span.

    Parameters
    ----------
    crowd : the annotations.
    counted : bool[W], who counts as a witness.
    """

    def __init__(self, crowd: Crowd, counted: Bool) -> None:
        found = extract(crowd.tags, crowd.row_offsets, crowd.scheme, "conlleval")
        first = crowd.corpus.token_offsets[crowd.row_sentence[found.sequence]]
        self.n_tokens, self.n_types = crowd.n_tokens, max(1, len(crowd.scheme.types))
        key = self._key(first + found.start, found.end - found.start, found.type.astype(np.int64))
        theirs = counted[crowd.row_annotator[found.sequence]]
        self.keys, self.counts = np.unique(key[theirs], return_counts=True)

    def of(self, begin: I64, length: I64, kind: I64) -> I64:
        """int64[N]: witnesses of spans at these tokens of the corpus."""
        key = self._key(begin, length, kind)
        if not len(self.keys):
            return np.zeros(len(key), np.int64)
        at = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return np.where(self.keys[at] == key, self.counts[at], 0)

    def _key(self, begin: I64, length: I64, kind: I64) -> I64:
        return (begin.astype(np.int64) * (self.n_tokens + 1) + length) * self.n_types + kind


def span_lines(verdicts: SpanVerdicts, n_annotators: int, n_types: int) -> tuple[Line, ...]:
    """The line of each type."""
    recall = _recall(verdicts, n_annotators, n_types)[verdicts.annotator, verdicts.kind]
    pooled = fit_scaled(verdicts.confidence, verdicts.right, recall, Line(*USUAL, 1.0 - SLIP))
    lines = []
    for kind in range(n_types):
        of_kind = verdicts.kind == kind
        lines.append(
            fit_scaled(
                verdicts.confidence[of_kind], verdicts.right[of_kind], recall[of_kind], pooled
            )
        )
    return tuple(lines)


def known_span_lines(
    lines: tuple[Line, ...], confidence: F64, right: Bool, kind: I64
) -> tuple[Line, ...]:
    """Lines fitted to spans of which it is known whether they are right, the given ones as prior."""
    out = []
    for number, line in enumerate(lines):
        of_kind = kind == number
        n = int(of_kind.sum())
        ceiling = (CEILING_STRENGTH * line.ceiling + n) / (CEILING_STRENGTH + n)
        scale = np.full(n, ceiling)
        raised = replace(line, ceiling=ceiling)
        out.append(fit_scaled(confidence[of_kind], right[of_kind], scale, raised))
    return tuple(out)


def fit_scaled(confidence: F64, right: Bool, scale: F64, prior: Line) -> Line:
    """Slope and intercept of P(confirmed) = scale · σ(slope · logit c + intercept).

    A Gaussian prior around ``prior``, whose ceiling is kept, counts as much as :data:`STRENGTH` verdicts.
    A confidence that misleads (negative slope) says nothing: all get the same.
    """
    if not len(confidence):
        return prior
    x, centre = logit(confidence), np.array([prior.slope, prior.intercept])

    def loss(w: F64) -> tuple[float, F64]:
        s = sigmoid(w[0] * x + w[1])
        p = np.clip(scale * s, 1e-9, 1 - 1e-9)
        away = w - centre
        value = -np.log(np.where(right, p, 1 - p)).sum() + 0.5 * STRENGTH * float(away @ away)
        slope = np.where(right, -1.0 / p, 1.0 / (1 - p)) * scale * s * (1 - s)
        return value / len(x), (np.array([slope @ x, slope.sum()]) + STRENGTH * away) / len(x)

    w = minimise(loss, centre.copy(), max_iter=60, tol=1e-8)
    if w[0] < 0.0 and x.any():
        flat = fit_scaled(np.full(len(x), 0.5), right, scale, replace(prior, slope=0.0))
        return replace(flat, slope=0.0)
    return Line(float(w[0]), float(w[1]), prior.ceiling)


def raised(line: Line, confidence: F32, least: float) -> Line:
    """The line with an intercept so high that these are right at least this often.

    >>> up = raised(Line(1.0, -3.0), np.array([0.5, 0.6], np.float32), 0.85)
    >>> round(float(up(np.array([0.5, 0.6])).mean()), 3)
    0.85
    """
    if not len(confidence) or line(confidence).mean() >= least or line.ceiling <= least:
        return line
    low, high = line.intercept, line.intercept + 2 * SUREST
    for _ in range(50):
        middle = 0.5 * (low + high)
        enough = replace(line, intercept=middle)(confidence).mean() >= least
        low, high = (low, middle) if enough else (middle, high)
    return replace(line, intercept=high)


def _recall(verdicts: SpanVerdicts, n_annotators: int, n_types: int) -> F64:
    """float64[W, K]: how many of the spans that others mark alike each annotator finds."""
    some = verdicts.support[verdicts.support >= 1]
    least = max(2.0, float(np.quantile(some, BEST_SUPPORTED))) if len(some) else 2.0
    good = verdicts.support >= least
    asked, found = np.zeros((2, n_annotators, n_types))
    at = verdicts.annotator[good], verdicts.kind[good]
    np.add.at(asked, at, 1)
    np.add.at(found, at, verdicts.right[good])
    usual = (found.sum() + RECALL_STRENGTH * USUAL_RECALL) / (asked.sum() + RECALL_STRENGTH)
    of_type = (found.sum(axis=0) + RECALL_STRENGTH * usual) / (asked.sum(axis=0) + RECALL_STRENGTH)
    recall = (found + RECALL_STRENGTH * of_type) / (asked + RECALL_STRENGTH)
    return np.asarray(np.clip(recall, 0.01, 0.99))


def logit(confidence: F32 | F64) -> F64:
    """Log odds, between -:data:`SUREST` and :data:`SUREST`."""
    least = 1e-7
    c = np.clip(np.asarray(confidence, np.float64), least, 1.0 - least)
    return np.asarray(np.clip(np.log(c) - np.log1p(-c), -SUREST, SUREST))


def sigmoid(x: F64) -> F64:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))
