"""How sure the result is, what that means, and whether it was right to be so."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from markupsafe import Markup

from seqtruth.metrics import CalibrationScore, Evaluation
from seqtruth.report.content import percent
from seqtruth.report.figures import histogram, reliability_diagram, reliability_lines
from seqtruth.result import Result

#: Sentences at or above the first are taken as they are, those below the second are read again.
ACCEPT, REVIEW = 0.9, 0.7
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
#: Claimed and true shares that differ by less are the same to a reader.
CLOSE = 0.03
#: Types with a reliability curve of their own.
MAX_CURVES = 4


def meaning(result: Result) -> str:
    """What a sentence's confidence is.

    ``"corrected"``: the probability that it is right, checked by held-out annotators; ``"own"``: the
    same, as the model has it; ``"margin"``: the paper's ξ, which only ranks; ``"unchecked"``: nobody labelled
    what another had, so that nothing speaks for or against the labels; ``"guess"``: sources are silent where
    they have nothing to say, and cannot confirm each other.
    """
    if len(result.annotators) < 2 or not _overlap(result):
        return "unchecked"
    if result.of_sentence is None:
        return "margin"
    settings = result.provenance.get("parameters")
    corrected = isinstance(settings, dict) and settings.get("calibrate") is True
    if corrected and silent_sources(result):
        return "guess"
    return "corrected" if corrected else "own"


def silent_sources(result: Result) -> set[str]:
    """Names of sources that the method took to be silent where they say ``O``."""
    silence = result.provenance.get("silence")
    silent = silence.get("silent") if isinstance(silence, dict) else None
    return set(map(str, silent)) if isinstance(silent, dict) else set()


def _overlap(result: Result) -> bool:
    """Whether any sentence was labelled twice."""
    crowd = result.crowd
    if crowd is not None:
        return bool((np.diff(crowd.sentence_rows) > 1).any())
    return int(result.annotators.sentences.sum()) > int(result.labelled.sum())


def triage(result: Result) -> list[dict[str, Any]]:
    """Sentences to accept, to glance at, to review, and those nobody labelled.

    ``expected`` is how many of them should be right, None where confidences are not corrected.
    """
    confidence, labelled = result.sentence_confidence, result.labelled
    groups = [
        ("accept", f"{ACCEPT} and above", labelled & (confidence >= ACCEPT)),
        (
            "glance",
            f"{REVIEW} to {ACCEPT}",
            labelled & (confidence < ACCEPT) & (confidence >= REVIEW),
        ),
        ("review", f"below {REVIEW}", labelled & (confidence < REVIEW)),
        ("unlabelled", "nobody labelled them", ~labelled),
    ]
    total = max(len(labelled), 1)
    told = meaning(result) == "corrected"
    out = [
        {
            "name": name,
            "range": text,
            "n": int(mask.sum()),
            "share": float(mask.sum()) / total,
            "expected": round(float(confidence[mask].sum())) if told else None,
        }
        for name, text, mask in groups
    ]
    return out if out[-1]["n"] else out[:-1]


def thresholds(result: Result) -> list[dict[str, Any]]:
    """What reading every sentence below a confidence would cost."""
    confidence = result.sentence_confidence[result.labelled]
    lengths = np.diff(result.corpus.token_offsets)[result.labelled]
    tokens = max(int(lengths.sum()), 1)
    return [
        {
            "at": at,
            "n": int((confidence < at).sum()),
            "share": float((confidence < at).mean()) if len(confidence) else math.nan,
            "tokens": float(lengths[confidence < at].sum()) / tokens,
        }
        for at in THRESHOLDS
    ]


def confidence_figure(result: Result) -> Markup | None:
    """Sentences by confidence."""
    confidence = result.sentence_confidence[result.labelled]
    if not len(confidence):
        return None
    return histogram(
        confidence, "Confidence of the sentence", "Sentences",
        f"Histogram of {len(confidence):,} sentences by confidence; median"
        f" {np.median(confidence):.2f}, {percent(float((confidence < REVIEW).mean()))} below {REVIEW}.",
    )  # fmt: skip


def honesty(scores: Evaluation | None) -> dict[str, Any] | None:
    """Confidence of spans against the gold standard, and scores of the surest sentences."""
    if scores is None or scores.calibration is None or scores.calibration.span is None:
        return None
    span, name = scores.calibration.span, "tags" if scores.plain else "spans"
    kinds = {name: span, "sentences": scores.calibration.sentence}
    return {
        "span": span,
        "verdicts": [(kind, s, _verdict(s)) for kind, s in kinds.items() if s is not None and s.n],
        "figure": _diagram(span, name) if span.n else None,
        "by_type": _by_type(scores),
        "surest": scores.calibration.selective,
    }


def _by_type(scores: Evaluation) -> Markup | None:
    """Reliability of the most frequent types."""
    assert scores.calibration is not None
    known = scores.calibration.span_types
    some = sorted(known, key=lambda name: -known[name].n)[:MAX_CURVES]
    if scores.plain or len(some) < 2:
        return None
    told = "; ".join(
        f"{name} claims {known[name].mean_confidence:.2f} and is right at {known[name].accuracy:.2f}"
        for name in some
    )
    return reliability_lines(
        {name: known[name].curve for name in some}, "Confidence of the spans", "Share that is right",
        f"Reliability by type: {told}.",
    )  # fmt: skip


def _verdict(score: CalibrationScore) -> str:
    gap = score.mean_confidence - score.accuracy
    if abs(gap) < CLOSE:
        return "honest"
    return "too sure" if gap > 0 else "too cautious"


def _diagram(score: CalibrationScore, what: str) -> Markup:
    return reliability_diagram(
        score.curve, f"Confidence of the {what}", "Share that is right",
        f"Reliability diagram of {score.n:,} {what}: mean confidence {score.mean_confidence:.2f},"
        f" {percent(score.accuracy)} right, expected calibration error {score.ece:.3f}.",
    )  # fmt: skip
