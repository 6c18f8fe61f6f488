"""Does a confidence of 0.9 mean right nine times in ten, and can one act on it?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.data.spans import extract
from seqtruth.errors import DataError, ParameterError
from seqtruth.metrics.align import Aligned, Source, align, as_labelling
from seqtruth.metrics.score import ratio
from seqtruth.metrics.selective import SHARES, Selective, selective_scores
from seqtruth.metrics.sentences import Sentences
from seqtruth.metrics.span import judgeable, match, sentence_counts
from seqtruth.result import Result

BINNINGS = ("width", "mass")


@dataclass(frozen=True, eq=False)
class Reliability:
    """A reliability curve: one row per bin that holds anything.

    Parameters
    ----------
    low, high : float64[B], borders of the bin.
    count : int64[B], predictions in it.
    confidence : float64[B], their mean confidence.
    accuracy : float64[B], share of them that is right.
    """

    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    count: npt.NDArray[np.int64]
    confidence: npt.NDArray[np.float64]
    accuracy: npt.NDArray[np.float64]

    @property
    def error(self) -> float:
        """Expected calibration error: mean gap of confidence and accuracy; nan without data."""
        n = int(self.count.sum())
        gap = np.abs(self.confidence - self.accuracy)
        return float(gap @ self.count) / n if n else float("nan")

    def to_dict(self) -> dict[str, list[float]]:
        """Columns of plain numbers, for JSON."""
        names = ("low", "high", "count", "confidence", "accuracy")
        return {name: getattr(self, name).tolist() for name in names}


@dataclass(frozen=True, eq=False)
class CalibrationScore:
    """How honest one kind of confidence is.

    Parameters
    ----------
    n : number of predictions.
    mean_confidence, accuracy : on average, claimed and true.
    ece, ece_mass : expected calibration error with bins of equal width and of equal mass.
    brier : mean squared distance of confidence and truth.
    curve : the reliability curve with bins of equal width.
    """

    n: int
    mean_confidence: float
    accuracy: float
    ece: float
    ece_mass: float
    brier: float
    curve: Reliability

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        names = ("n", "mean_confidence", "accuracy", "ece", "ece_mass", "brier")
        figures: dict[str, Any] = {name: getattr(self, name) for name in names}
        return {**figures, "curve": self.curve.to_dict()}


@dataclass(frozen=True, eq=False)
class Calibration:
    """Calibration of a result; None where a confidence was not given or is no probability.

    Parameters
    ----------
    token, span, sentence : how honest each kind of confidence is.
    selective : scores of the most confident shares of the sentences.
    span_types : how honest the confidence of spans is, by type.
    """

    token: CalibrationScore | None
    span: CalibrationScore | None
    sentence: CalibrationScore | None
    selective: tuple[Selective, ...]
    span_types: Mapping[str, CalibrationScore] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        kinds = {"token": self.token, "span": self.span, "sentence": self.sentence}
        given = {name: score.to_dict() for name, score in kinds.items() if score is not None}
        return {**given, "selective": [vars(row).copy() for row in self.selective]}


def calibration(
    result: Source,
    gold: Source,
    *,
    token: npt.ArrayLike | None = None,
    span: npt.ArrayLike | None = None,
    sentence: npt.ArrayLike | None = None,
    ranking: npt.ArrayLike | None = None,
    sentences: Sentences | None = None,
    strict: str = "conlleval",
) -> Calibration:
    """Compare confidences with what the gold says.

    A token is right when its tag is, a span when its type and borders are, a sentence when all its
    spans are and none is missing. Confidences lie over the whole result; sentences without gold
    are left out here. What the result leaves unlabelled claims nothing and counts only in selective
    accuracy.

    Parameters
    ----------
    result, gold : as for :func:`~seqtruth.metrics.evaluation.evaluate`.
    token : one confidence per token of the result.
    span : one per span of the result, in the order of :func:`seqtruth.data.spans.extract` with the same
        ``strict``.
    sentence : one per sentence.
    ranking : one number per sentence that orders them for selective accuracy; ``sentence`` where
        not given.
    sentences : score these only.
    strict : the reading of spans.

    Examples
    --------
    >>> from seqtruth.data.crowd import Crowd
    >>> tokens = [["Ann"], ["Ames"]]
    >>> result = Crowd.of({"r": [["B-PER"], ["B-PER"]]}, tokens)
    >>> gold = Crowd.of({"g": [["B-PER"], ["B-LOC"]]}, tokens)
    >>> figures = calibration(result, gold, span=[0.9, 0.6], sentence=[0.9, 0.5])
    >>> round(figures.span.brier, 3), figures.selective[0].f1
    (0.185, 1.0)
    """
    ours = as_labelling(result)
    pair = align(ours, gold, sentences)
    return _judge(ours, pair, token, span, sentence, ranking, strict)


def own_calibration(result: Result, pair: Aligned, strict: str) -> Calibration:
    """Calibration of a result's own confidences, on sentences laid beside their gold already."""
    return _judge(
        result,
        pair,
        result.token_confidence,
        result.span_confidence(strict),
        None if result.of_sentence is None else result.sentence_confidence,
        result.sentence_confidence,
        strict,
    )


def _judge(
    ours: Labelling,
    pair: Aligned,
    token: npt.ArrayLike | None,
    span: npt.ArrayLike | None,
    sentence: npt.ArrayLike | None,
    ranking: npt.ArrayLike | None,
    strict: str,
) -> Calibration:
    matches = match(pair.result, pair.gold, strict)
    counts = sentence_counts(matches, len(pair.places))
    parts: dict[str, CalibrationScore] = {}
    by_type: dict[str, CalibrationScore] = {}
    if token is not None:
        values = _column(token, ours.corpus.n_tokens, "token")
        _, flat = gather(ours.corpus.token_offsets, pair.places)
        known = (pair.gold.tags >= 0) & (pair.result.tags >= 0)
        right = pair.result.tags == pair.gold.tags
        parts["token"] = calibration_score(values[flat][known], right[known])
    if span is not None:
        values = _span_confidences(span, ours, pair, strict)
        parts["span"] = calibration_score(values, matches.correct)
        kind = matches.predicted.type
        by_type = {
            name: calibration_score(values[kind == k], matches.correct[kind == k])
            for k, name in enumerate(pair.result.scheme.types)
            if (kind == k).any()
        }
    if sentence is not None:
        values = _column(sentence, ours.corpus.n_sentences, "sentence")[pair.places]
        right, known = (counts == counts[:, :1]).all(axis=1), pair.result.labelled
        parts["sentence"] = calibration_score(values[known], right[known])
    selective: tuple[Selective, ...] = ()
    ranking = sentence if ranking is None else ranking
    if ranking is not None:
        values = _column(ranking, ours.corpus.n_sentences, "sentence")[pair.places]
        selective = selective_scores(values, counts, SHARES)
    return Calibration(
        parts.get("token"), parts.get("span"), parts.get("sentence"), selective, by_type
    )


def calibration_score(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = 10
) -> CalibrationScore:
    """All figures for one kind of confidence; nan where there is no prediction.

    Parameters
    ----------
    confidence : numbers from 0 to 1.
    correct : for each, whether the prediction was right.
    n_bins : bins of the reliability curve.
    """
    values, right = _checked(confidence, correct)
    curve = reliability(values, right, n_bins)
    some = len(values) > 0
    return CalibrationScore(
        len(values),
        float(values.mean()) if some else float("nan"),
        float(right.mean()) if some else float("nan"),
        curve.error,
        reliability(values, right, n_bins, "mass").error,
        brier_score(values, right),
        curve,
    )


def reliability(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = 10, binning: str = "width"
) -> Reliability:
    """Mean confidence and accuracy in bins of confidence.

    Parameters
    ----------
    confidence : numbers from 0 to 1.
    correct : for each, whether the prediction was right.
    n_bins : number of bins; empty ones are left out.
    binning : ``"width"``: bins of equal width; ``"mass"``: bins with equally many predictions
        (equal confidences stay together).

    Examples
    --------
    >>> curve = reliability([0.95, 0.85, 0.9, 0.2], [True, True, False, False], n_bins=2)
    >>> curve.count.tolist(), curve.accuracy.round(2).tolist(), round(curve.error, 3)
    ([1, 3], [0.0, 0.67], 0.225)
    """
    values, right = _checked(confidence, correct)
    if n_bins < 1:
        raise ParameterError("n_bins must be at least 1", got=str(n_bins))
    if binning not in BINNINGS:
        raise ParameterError(f"binning must be one of {', '.join(BINNINGS)}", got=repr(binning))
    edges = np.linspace(0, 1, n_bins + 1)
    if binning == "mass" and len(values):
        edges = np.unique(np.quantile(values, edges))
        edges = np.repeat(edges, 2) if len(edges) == 1 else edges
    number = np.searchsorted(edges[1:-1], values, side="right" if binning == "width" else "left")
    count = np.bincount(number, minlength=len(edges) - 1)
    filled = count > 0
    means = [
        ratio(np.bincount(number, column, len(edges) - 1), count)[filled]
        for column in (values, right.astype(np.float64))
    ]
    return Reliability(edges[:-1][filled], edges[1:][filled], count[filled], *means)


def expected_calibration_error(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = 10, binning: str = "width"
) -> float:
    """Mean gap between confidence and accuracy over the bins of :func:`reliability`.

    Parameters
    ----------
    confidence, correct, n_bins, binning : as for :func:`reliability`.

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), "Obtaining Well Calibrated Probabilities Using Bayesian
    Binning". https://doi.org/10.1609/aaai.v29i1.9602

    Examples
    --------
    >>> expected_calibration_error([1.0, 1.0], [True, False])
    0.5
    """
    return reliability(confidence, correct, n_bins, binning).error


def brier_score(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> float:
    """Mean squared distance of confidence and truth (0 is best); nan without data.

    Parameters
    ----------
    confidence : numbers from 0 to 1.
    correct : for each, whether the prediction was right.

    References
    ----------
    Brier (1950), "Verification of forecasts expressed in terms of probability".
    https://doi.org/10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2

    Examples
    --------
    >>> brier_score([1.0, 0.5], [True, False])
    0.125
    """
    values, right = _checked(confidence, correct)
    return float(((values - right) ** 2).mean()) if len(values) else float("nan")


def _span_confidences(
    span: npt.ArrayLike, ours: Labelling, pair: Aligned, strict: str
) -> npt.NDArray[np.float64]:
    """The confidences of those of the result's spans that the gold can judge."""
    spans = extract(ours.tags, ours.corpus.token_offsets, ours.scheme, strict)
    values = _column(span, len(spans.start), "span")
    scored = np.zeros(ours.corpus.n_sentences, np.bool_)
    scored[pair.places] = True
    offsets = pair.gold.corpus.token_offsets
    kept = extract(pair.result.tags, offsets, pair.result.scheme, strict)
    return values[scored[spans.sequence]][judgeable(kept, pair.gold.tags, offsets)]


def _column(values: npt.ArrayLike, n: int, name: str) -> npt.NDArray[np.float64]:
    column = np.asarray(values, np.float64)
    if column.shape != (n,):
        raise DataError(
            f"{n} {name}s need as many {name} confidences",
            got=str(column.shape),
            fix="hand over those of the whole result, spans under the same strict= reading",
        )
    return column


def _checked(
    confidence: npt.ArrayLike, correct: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    values, right = np.asarray(confidence, np.float64), np.asarray(correct, np.bool_)
    if values.shape != right.shape or values.ndim != 1:
        raise DataError(
            "every confidence needs one verdict", got=f"{values.shape} and {right.shape}"
        )
    if len(values) and not ((values >= -1e-9) & (values <= 1 + 1e-9)).all():
        wrong = values[~((values >= -1e-9) & (values <= 1 + 1e-9))][0]
        raise DataError("confidences must lie between 0 and 1", got=str(wrong))
    return np.clip(values, 0.0, 1.0), right
