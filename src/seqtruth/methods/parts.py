"""Methods on crowds in parts: what they get, what they hand back, and what follows from that."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.engine import Labels, Parts, PartsResult, Sums
from seqtruth.errors import DataWarning, ParameterError
from seqtruth.history import History
from seqtruth.kernels.arrays import F32, F64
from seqtruth.kernels.vote import weighted_vote
from seqtruth.methods.loop import Checkpoint, Progress, Rules, rules_for
from seqtruth.metrics.annotators import AnnotatorScores, annotator_counts
from seqtruth.predictors.tagger import Tagger
from seqtruth.result import Annotators


class PartsTask(NamedTuple):
    """What a method's inside gets to work on."""

    parts: Parts
    checkpoint: Checkpoint | None
    progress: Progress | None

    def rules(self, max_iter: int, tol: float, measure: str = "objective") -> Rules:
        return rules_for(max_iter, tol, measure, self.checkpoint, self.progress)

    def after(self, name: str) -> PartsTask:
        """The task for rounds that follow others, with a checkpoint of their own."""
        if self.checkpoint is None:
            return self
        folder = self.checkpoint.folder / name
        return self._replace(checkpoint=replace(self.checkpoint, folder=folder))


class PartsOutcome(NamedTuple):
    """What a method's inside hands back.

    ``label`` is pure, and is sent to where the parts are; a tagger in it ``reads`` their text.
    """

    label: Callable[[Crowd], Labels]
    weight: F64
    history: History = History()
    tagger: Tagger | None = None
    confusion: F32 | None = None
    reads: bool = False


def alone(task: PartsTask, legal: bool) -> PartsOutcome:
    """One annotator: his labels stand, made legal where the method promises that."""
    warnings.warn(
        "there is only one annotator: his labels are taken as they are", DataWarning, stacklevel=4
    )
    ones = np.ones(1)
    label = partial(
        voted,
        weights=ones,
        units=np.ones(task.parts.n_labels),
        decoding="exact" if legal else "none",
    )
    return PartsOutcome(label, ones)


def voted(part: Crowd, weights: F64, units: F64, decoding: str = "none", **how: Any) -> Labels:
    """Labels of a part by a weighted vote."""
    vote = weighted_vote(part, weights, units, decoding=decoding, **how)
    return chosen(part, vote.tags, vote.probabilities)


def chosen(part: Crowd, tags: np.ndarray, soft: F32) -> Labels:
    """Labels where anybody labelled anything, with the probability of the label chosen."""
    spoken = np.repeat(part.covered, np.diff(part.corpus.token_offsets))
    tags = np.where(spoken, tags, np.int8(-1))
    sure = soft[np.arange(len(tags)), np.maximum(tags, 0)]
    return Labels(tags, np.where(tags >= 0, sure, np.float32(0)))


def result_of(parts: Parts, outcome: PartsOutcome, provenance: dict[str, Any]) -> PartsResult:
    """Judge the annotators against the labels, in one more pass, and put everything together."""
    facts = parts.facts
    parts = parts.seeing_text() if outcome.reads else parts
    sums = parts.add_up(partial(_judged, label=outcome.label))
    scores = AnnotatorScores.of(facts.annotators, sums)
    annotators = Annotators(
        facts.annotators, outcome.weight, facts.annotator_sentences, facts.annotator_tokens, scores.f1,
        outcome.confusion,
    )  # fmt: skip
    return PartsResult(
        parts, outcome.label, annotators, outcome.history, outcome.tagger, provenance
    )


def _judged(part: Crowd, label: Callable[[Crowd], Labels]) -> Sums:
    return dict(annotator_counts(part, label(part).tags))


def unsupported(name: str, what: str, fix: str) -> ParameterError:
    """The error for what a method cannot do on parts."""
    return ParameterError(f"{name} on a crowd in parts: {what}", fix=fix)
