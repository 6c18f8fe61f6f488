"""Whom to trust: reliability with intervals, habits, changes over time, copies, and what each is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.spans import Spans, extract
from seqtruth.decisions.costs import costs_of
from seqtruth.decisions.merging import model_crowd
from seqtruth.decisions.mistakes import Compared, Mistake
from seqtruth.decisions.model import ask, expected_f1, expected_gold
from seqtruth.decisions.over_time import Trend, trends
from seqtruth.kernels.arrays import F64, I64
from seqtruth.kernels.chain import viterbi
from seqtruth.methods.bayes.sequence_model import label_scores
from seqtruth.methods.dependence import find_copies
from seqtruth.methods.marked import Marked
from seqtruth.metrics.agreement.coefficients import divided
from seqtruth.metrics.agreement.counting import Units
from seqtruth.metrics.agreement.drawing import Draws
from seqtruth.metrics.bootstrap import FEWEST_UNITS
from seqtruth.metrics.span import same_spans
from seqtruth.result import Result

#: Times that documents are drawn anew for an interval, and its width.
DRAWS, LEVEL = 400, 0.95


class Row(NamedTuple):
    """What is to be said of one annotator.

    annotator, sentences, spans : who, and how much they labelled and marked.
    weight : the method's own measure of reliability.
    f1, low, high : strict span F1 against the result, with a 95 % interval over documents (sentences, where
        there are no documents); nan where fewer than five were marked.
    precision, recall : of their spans against the result's.
    mistakes : their habits, in words.
    trend : how their F1 changed over time, where labels have times.
    copies : the others whom they copy, or who copy them.
    adds : points of F1 that the result is expected to lose without them; nan where no model is kept.
    cost : of all their labels.
    """

    annotator: str
    sentences: int
    spans: int
    weight: float
    f1: float
    low: float
    high: float
    precision: float
    recall: float
    mistakes: tuple[Mistake, ...]
    trend: Trend | None
    copies: tuple[str, ...]
    adds: float
    cost: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            **self._asdict(),
            "mistakes": [one._asdict() for one in self.mistakes],
            "trend": None if self.trend is None else self.trend._asdict(),
            "copies": list(self.copies),
        }


@dataclass(frozen=True, eq=False)
class AnnotatorReport:
    """All annotators, those who need attention first.

    Parameters
    ----------
    rows : worst first.
    copies : groups who count as one witness, with the evidence.
    relatives : pairs who make the same mistakes and count as fewer witnesses, if the method says so.
    expected_f1 : what the result's confidences promise with everybody.
    compared : whether any two labelled the same sentence; else the result is what each of them says.
    """

    rows: tuple[Row, ...]
    copies: tuple[dict[str, Any], ...]
    relatives: tuple[dict[str, Any], ...]
    expected_f1: float
    compared: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "annotators": [row.to_dict() for row in self.rows],
            "copies": list(self.copies),
            "relatives": list(self.relatives),
            "expected_f1": self.expected_f1,
            "compared": self.compared,
        }


def annotators(result: Result, *, costs: Any = None, seed: int = 0) -> AnnotatorReport:
    """What can be said of each annotator.

    Parameters
    ----------
    result : with its crowd; what each adds takes a result that keeps its model.
    costs : what annotators cost, as for :func:`~seqtruth.decisions.next_labels`.
    seed : for the intervals.
    """
    crowd = model_crowd(result)
    prices = costs_of(costs, crowd)
    scores = _scores(crowd, result, seed)
    habits = Compared(crowd, result.tags).habits()
    found = find_copies(Marked(crowd))
    partners = {name: group.names for group in found.groups for name in group.names}
    adds = _adds(result, crowd)
    changes = trends(crowd, result)
    lengths = np.diff(crowd.corpus.token_offsets)
    tokens = np.bincount(
        crowd.row_annotator, lengths[crowd.row_sentence], minlength=crowd.n_annotators
    )
    rows = []
    for w, name in enumerate(crowd.annotators):
        price, sentences = prices.of(name), int(crowd.annotator_sentences[w])
        rows.append(
            Row(
                name, sentences, int(scores.named[w]), float(result.annotators.weight[w]),
                float(scores.f1[w]), float(scores.low[w]), float(scores.high[w]),
                float(scores.precision[w]), float(scores.recall[w]), tuple(habits[w]),
                changes.get(name),
                tuple(other for other in partners.get(name, ()) if other != name), float(adds[w]),
                price.cost * sentences + price.cost_per_token * float(tokens[w]),
            )
        )  # fmt: skip
    rows.sort(key=lambda row: (row.sentences == 0, np.nan_to_num(row.f1, nan=2.0), row.annotator))
    groups = tuple(group.to_dict() for group in found.groups)
    compared = bool((np.bincount(crowd.row_sentence) > 1).any())
    return AnnotatorReport(tuple(rows), groups, _relatives(result), expected_f1(result), compared)


def _relatives(result: Result) -> tuple[dict[str, Any], ...]:
    """What the method found, as far as it is what a method of ours writes."""
    said = result.provenance.get("relatives")
    pairs = [one for one in said if isinstance(one, dict)] if isinstance(said, list) else []
    return tuple(
        pair
        for pair in pairs
        if isinstance(pair.get("annotators"), list)
        and isinstance(pair.get("shared_errors"), float)
        and len(pair["annotators"]) == 2
    )


class _Scores(NamedTuple):
    named: I64
    precision: F64
    recall: F64
    f1: F64
    low: F64
    high: F64


def _scores(crowd: Crowd, result: Result, seed: int) -> _Scores:
    """F1 of each annotator against the result, with intervals from documents drawn anew."""
    theirs, ours, hit = _compared(crowd, result)
    units, n = Units.of(crowd), crowd.n_annotators
    draws = Draws.of(units.n, DRAWS, LEVEL, seed)

    def count(spans: Spans, chosen: np.ndarray | None = None) -> F64:
        """float64[G, W]: spans by unit and annotator."""
        rows = spans.sequence if chosen is None else spans.sequence[chosen]
        key = units.of_sentence[crowd.row_sentence[rows]] * n + crowd.row_annotator[rows]
        return np.bincount(key, minlength=units.n * n).reshape(units.n, n).astype(np.float64)

    right, named, wanted = count(theirs, hit), count(theirs), count(ours)
    low, high = draws.interval(divided(2 * draws.column(right), draws.column(named + wanted)))
    few = ((named + wanted) > 0).sum(axis=0) < FEWEST_UNITS
    hits, marks, spans = (column.sum(axis=0) for column in (right, named, wanted))
    return _Scores(
        marks.astype(np.int64), divided(hits, marks), divided(hits, spans),
        divided(2 * hits, marks + spans), np.where(few, np.nan, low), np.where(few, np.nan, high),
    )  # fmt: skip


def _compared(crowd: Crowd, result: Result) -> tuple[Spans, Spans, np.ndarray]:
    """Spans of each row, the result's on the same tokens, and which of the first are among the second."""
    flat = gather(crowd.corpus.token_offsets, crowd.row_sentence.astype(np.int64))[1]
    theirs = extract(crowd.tags, crowd.row_offsets, crowd.scheme)
    ours = extract(
        np.where(crowd.tags >= 0, result.tags[flat], -1), crowd.row_offsets, crowd.scheme
    )
    return theirs, ours, same_spans(theirs, ours, crowd.row_offsets)


def _adds(result: Result, crowd: Crowd) -> F64:
    """float64[W]: points of expected F1 that would be lost without each annotator.

    Labels are chosen anew without them, the others' tables as they are; the F1 expected of these labels is
    that under the probabilities of the whole crowd, which know more.
    """
    out = np.full(crowd.n_annotators, np.nan)
    if result.fitted is None:
        return out
    asked = ask(result)
    fitted, offsets = asked.fitted, crowd.corpus.token_offsets
    q = asked.marginals()
    wanted = expected_gold(q, result)
    base = viterbi(asked.scores, offsets, fitted.chain)
    sums = _expected_hits(base, q, crowd)
    total, count = sums.sum(axis=0)
    whole = 2 * total / max(count + wanted, 1e-9)
    for w in range(crowd.n_annotators):
        rows = np.flatnonzero(crowd.row_annotator == w)
        if not len(rows):
            continue
        sentences = crowd.row_sentence[rows].astype(np.int64)
        part = crowd.select_annotators([crowd.annotators[w]])[sentences]
        at = gather(offsets, sentences)[1]
        own = fitted.share * label_scores(part, fitted.table[w : w + 1])
        tags = viterbi(asked.scores[at] - own, part.corpus.token_offsets, fitted.chain)
        hits, named = _expected_hits(tags, q[at], part).sum(axis=0)
        old_hits, old_named = sums[sentences].sum(axis=0)
        without = 2 * (total - old_hits + hits) / max(count - old_named + named + wanted, 1e-9)
        out[w] = 100 * (whole - without)
    return out


def _expected_hits(tags: np.ndarray, q: np.ndarray, crowd: Crowd) -> F64:
    """float64[S, 2]: expected right spans (by their least probable tag), and spans, of each sentence."""
    offsets = crowd.corpus.token_offsets
    found = extract(tags, offsets, crowd.scheme)
    n = crowd.n_sentences
    if not len(found.start):
        return np.zeros((n, 2))
    first = offsets[found.sequence]
    cuts = np.stack([first + found.start, first + found.end], axis=1).reshape(-1)
    sure = np.append(q[np.arange(len(tags)), tags], np.float32(1))
    least = np.minimum.reduceat(sure, cuts)[::2]
    return np.stack(
        [np.bincount(found.sequence, least, minlength=n), np.bincount(found.sequence, minlength=n)],
        axis=1,
    )
