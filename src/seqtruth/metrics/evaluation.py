"""``evaluate``: every score of a result against a gold standard, in one call."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from seqtruth.data.spans import READINGS, check_reading
from seqtruth.errors import DataError
from seqtruth.metrics.align import Source, align, as_labelling
from seqtruth.metrics.calibration import Calibration, own_calibration
from seqtruth.metrics.characters import side_by_side
from seqtruth.metrics.labelset import label_set_scores
from seqtruth.metrics.score import Averages, Score
from seqtruth.metrics.sentences import Sentences
from seqtruth.metrics.span import SpanScores, span_scores
from seqtruth.metrics.token import TokenScores, token_scores
from seqtruth.result import Result


@dataclass(frozen=True)
class Evaluation:
    """All scores of one labelling.

    Parameters
    ----------
    strict : the reading that :attr:`precision`, :attr:`recall`, :attr:`f1` and :attr:`per_type`
        speak of.
    spans : strict span scores in each reading.
    token : token scores without ``O``.
    label_set : set of labels per sentence, the "relaxed" columns of the AggSLC paper.
    n_sentences : sentences scored.
    without_gold : sentences asked for that have no gold, left out.
    without_result : gold sentences that the result does not contain, left out.
    plain : whether the tags are plain (part of speech), so that F1 is accuracy.
    calibration : how far the result's confidences can be trusted; None where it has none. No part of
        what makes two evaluations equal.
    """

    strict: str
    spans: dict[str, SpanScores]
    token: TokenScores
    label_set: Averages
    n_sentences: int
    without_gold: int = 0
    without_result: int = 0
    plain: bool = False
    calibration: Calibration | None = field(default=None, compare=False)

    @property
    def span(self) -> SpanScores:
        """Span scores in the reading asked for."""
        return self.spans[self.strict]

    @property
    def precision(self) -> float:
        """Strict span precision."""
        return self.span.precision

    @property
    def recall(self) -> float:
        """Strict span recall."""
        return self.span.recall

    @property
    def f1(self) -> float:
        """Strict span F1."""
        return self.span.f1

    @property
    def per_type(self) -> dict[str, Score]:
        """Span scores of each type that occurs."""
        return self.span.per_type

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            **self.span.to_dict(),
            "readings": {name: Score.to_dict(scores) for name, scores in self.spans.items()},
            "token": self.token.to_dict(),
            "label_set": self.label_set.to_dict(),
            "n_sentences": self.n_sentences,
            "without_gold": self.without_gold,
            "without_result": self.without_result,
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
        }

    def __str__(self) -> str:
        name = "tags" if self.plain else f"spans, {self.strict}"
        rows: list[tuple[str, Score | Averages]] = [(name, self.span)]
        rows += [(f"  {name}", score) for name, score in self.per_type.items()]
        if not self.plain:
            others = [name for name in READINGS if name != self.strict]
            rows += [(f"spans, {name}", self.spans[name]) for name in others]
        rows += [
            ("tokens, micro", self.token.micro),
            ("tokens, macro", self.token.macro),
            ("label set", self.label_set),
        ]
        more = self._confidence()
        width = max(len(name) for name in (*dict(rows), *more))
        head = f"{'%':<{width}}  precision  recall      F1  in gold"
        lines = [head, *(_line(name, score, width) for name, score in rows)]
        lines += [f"{name:<{width}}  {text}" for name, text in more.items()]
        return "\n".join([*lines, self._footer()])

    def _confidence(self) -> dict[str, str]:
        """What is said of confidences, as names and text."""
        if self.calibration is None:
            return {}
        token, span = self.calibration.token, self.calibration.span
        kinds = {"tokens": token, "spans": None if self.plain else span}
        kinds["sentences"] = self.calibration.sentence
        errors = [f"{name} {_percent(s.ece)}" for name, s in kinds.items() if s is not None]
        best = [
            f"{100 * row.share:g} %: F1 {_percent(row.f1)}"
            for row in self.calibration.selective
            if row.share < 1
        ]
        return {"calibration error": " · ".join(errors), "surest sentences": " · ".join(best)}

    def _footer(self) -> str:
        parts = [_count(self.n_sentences, "sentence")]
        if self.without_gold:
            parts.append(f"{self.without_gold:,} more without gold")
        if self.without_result:
            parts.append(f"{self.without_result:,} gold sentences not in the result")
        return " · ".join(parts)


def evaluate(
    result: Source,
    gold: Source,
    sentences: Sentences | None = None,
    strict: str = "conlleval",
) -> Evaluation:
    """Score a result against a gold standard.

    Parameters
    ----------
    result : a result, a labelling, a crowd of one annotator, a frame, or a path (also of a saved result,
        which brings its confidences along).
    gold : the truth, as any of these.
    sentences : score these only: a mask or numbers over the result's sentences, or sentence ids.
        Sentences without gold are always left out, and counted.
    strict : reading of spans, ``"conlleval"`` or ``"b-required"``.

    Returns
    -------
    Evaluation
        with ``precision``, ``recall``, ``f1`` from 0 to 1, and ``calibration`` where the result says
        how sure it is; print it for a table in per cent.

    Examples
    --------
    >>> from seqtruth.data.crowd import Crowd
    >>> tokens = [["Ann", "saw", "Ames"], ["Yes"]]
    >>> result = Crowd.of({"r": [["B-PER", "O", "O"], ["O"]]}, tokens)
    >>> gold = Crowd.of({"g": [["B-PER", "O", "B-LOC"], ["O"]]}, tokens)
    >>> scores = evaluate(result, gold)
    >>> scores.precision, scores.recall
    (1.0, 0.5)
    >>> print(scores)
    %                  precision  recall      F1  in gold
    spans, conlleval      100.00   50.00   66.67        2
      LOC                   0.00    0.00    0.00        1
      PER                 100.00  100.00  100.00        1
    spans, b-required     100.00   50.00   66.67        2
    tokens, micro         100.00   50.00   66.67        2
    tokens, macro          50.00   50.00   50.00
    label set             100.00   83.33   90.00
    2 sentences
    """
    check_reading(strict)
    ours, truth, sentences = side_by_side(as_labelling(result), as_labelling(gold), sentences)
    pair = align(ours, truth, sentences)
    if not len(pair.places):
        raise DataError(
            "there is no sentence to score",
            got=f"{pair.without_gold:,} sentences, none of which has gold",
            fix="choose sentences that have gold labels",
        )
    return Evaluation(
        strict,
        {name: span_scores(pair.result, pair.gold, strict=name) for name in READINGS},
        token_scores(pair.result, pair.gold),
        label_set_scores(pair.result, pair.gold),
        len(pair.result.corpus.base_ids.unique()),  # once, whatever its layers
        pair.without_gold,
        pair.without_result,
        pair.gold.scheme.kind == "plain",
        own_calibration(ours, pair, strict) if isinstance(ours, Result) else None,
    )


def _line(name: str, score: Score | Averages, width: int) -> str:
    figures = [100 * value for value in (score.precision, score.recall, score.f1)]
    row = f"{name:<{width}}  {figures[0]:>9.2f}  {figures[1]:>6.2f}  {figures[2]:>6.2f}"
    return f"{row}  {score.gold:>7,}" if isinstance(score, Score) else row


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.2f}"


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"
