"""What a method's inside gets and hands back, on a crowd in one part or in many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.engine import Labels, MemoryParts, Parts, Sums
from seqtruth.fitted import Fitted
from seqtruth.history import History
from seqtruth.kernels.arrays import F32, F64, Bool, Tags
from seqtruth.methods.loop import Checkpoint, Progress, Rules, rules_for
from seqtruth.methods.vote.weighted import weighted_vote
from seqtruth.metrics.annotators import annotator_counts
from seqtruth.predictors.tagger import Tagger


class Task(NamedTuple):
    """What a method's inside gets to work on.

    parts : the crowd, in one part or many.
    known : tag[T], labels given as true (-1: none), where the crowd is in memory.
    silent : bool[W, K], whose ``O`` is no vote against which type (:mod:`seqtruth.methods.abstention`);
        for methods that keep it as a label all the same.
    tagger : whether the result is to have one even where labels do not need it.
    """

    parts: Parts
    known: Tags | None = None
    checkpoint: Checkpoint | None = None
    progress: Progress | None = None
    silent: Bool | None = None
    tagger: bool = True

    @property
    def crowd(self) -> Crowd:
        """The whole crowd, for methods that need it in memory."""
        return self.parts.whole

    def on(self, crowd: Crowd, known: Tags | None) -> Task:
        """The same task on another crowd in memory."""
        return self._replace(parts=MemoryParts(crowd), known=known)

    def rules(self, max_iter: int, tol: float, measure: str = "objective") -> Rules:
        return rules_for(max_iter, tol, measure, self.checkpoint, self.progress)


class Decision(NamedTuple):
    """What a method makes of a part (of the whole crowd, where that is one part).

    tags, probabilities : tag[T] and float32[T, L].
    judged : bool[S], sentences labelled without any vote.
    span_confidence, sentence_confidence : float32[T] and float64[S], for methods that have better
        than what follows from ``probabilities``.
    """

    tags: Tags
    probabilities: F32
    judged: Bool | None = None
    span_confidence: F32 | None = None
    sentence_confidence: F64 | None = None


#: What was decided on the whole crowd, or how it is decided on each part: pure, and sent to where
#: the parts are.
Decide = Decision | Callable[[Crowd], Decision]


class Outcome(NamedTuple):
    """What a method's inside hands back.

    labels : the decision.
    weight, confusion : of the annotators, as in :class:`~seqtruth.result.Annotators`.
    fitted : the model itself, for methods that can be explained and updated.
    reads : whether deciding a part takes its text.
    notes : what was decided on the way, as plain values by name; kept in the result's provenance.
    judged : what annotators' scores against the labels are made of, where that has been added up.
    """

    labels: Decide
    weight: F64
    history: History = History()
    tagger: Tagger | None = None
    confusion: F32 | None = None
    fitted: Fitted | None = None
    reads: bool = False
    notes: Mapping[str, Any] = MappingProxyType({})
    judged: Sums | None = None


def decided(labels: Decide, part: Crowd) -> Decision:
    """The decision on a part."""
    return labels(part) if callable(labels) else labels


def voted(part: Crowd, weights: F64, units: F64, **how: Any) -> Decision:
    """Labels of a part by a weighted vote (:func:`~seqtruth.methods.vote.weighted.weighted_vote`)."""
    vote = weighted_vote(part, weights, units, **how)
    return Decision(vote.tags, vote.probabilities)


def settled(part: Crowd, labels: Decide, known: Tags | None) -> Decision:
    """The decision, with -1 in sentences that nobody labelled, no predictor judged and nobody knew."""
    found = decided(labels, part)
    lengths = np.diff(part.corpus.token_offsets)
    has = part.covered.copy()
    if found.judged is not None:
        has |= found.judged
    if known is not None:
        has[np.repeat(np.arange(part.n_sentences), lengths)[known >= 0]] = True
    return found._replace(
        tags=np.where(np.repeat(has, lengths), found.tags, found.tags.dtype.type(-1))
    )


def judged(part: Crowd, labels: Callable[[Crowd], Decision]) -> Sums:
    """What the annotators' scores against the labels are made of."""
    return dict(annotator_counts(part, labels(part).tags))


def written(part: Crowd, labels: Callable[[Crowd], Decision]) -> Labels:
    """The labels with the probability of each."""
    tags, soft = labels(part)[:2]
    sure = soft[np.arange(len(tags)), np.maximum(tags, 0)]
    return Labels(tags, np.where(tags >= 0, sure, np.float32(0)))
