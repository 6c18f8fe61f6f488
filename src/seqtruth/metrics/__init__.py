"""Scores: against a gold standard, between annotators, and of confidences."""

from seqtruth.metrics.agreement import Agreement, Pairs, agreement, krippendorff_alpha, pairs
from seqtruth.metrics.align import Aligned, Source, align, as_labelling
from seqtruth.metrics.annotators import (
    AnnotatorScores,
    Correlation,
    annotator_scores,
    average_ranks,
    correlate,
    pearson,
    spearman,
)
from seqtruth.metrics.bootstrap import Comparison, paired_bootstrap
from seqtruth.metrics.calibration import (
    Calibration,
    CalibrationScore,
    Reliability,
    brier_score,
    calibration,
    calibration_score,
    expected_calibration_error,
    reliability,
)
from seqtruth.metrics.evaluation import Evaluation, evaluate
from seqtruth.metrics.labelset import label_set_scores
from seqtruth.metrics.score import Averages, Score
from seqtruth.metrics.selective import Selective, selective_scores
from seqtruth.metrics.sentences import Sentences
from seqtruth.metrics.span import SpanScores, span_scores
from seqtruth.metrics.token import TokenScores, token_scores

__all__ = [
    "Agreement",
    "Aligned",
    "AnnotatorScores",
    "Averages",
    "Calibration",
    "CalibrationScore",
    "Comparison",
    "Correlation",
    "Evaluation",
    "Pairs",
    "Reliability",
    "Score",
    "Selective",
    "Sentences",
    "Source",
    "SpanScores",
    "TokenScores",
    "agreement",
    "align",
    "annotator_scores",
    "as_labelling",
    "average_ranks",
    "brier_score",
    "calibration",
    "calibration_score",
    "correlate",
    "evaluate",
    "expected_calibration_error",
    "krippendorff_alpha",
    "label_set_scores",
    "paired_bootstrap",
    "pairs",
    "pearson",
    "reliability",
    "selective_scores",
    "span_scores",
    "spearman",
    "token_scores",
]
