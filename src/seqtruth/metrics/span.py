"""Strict span scores: a span counts when its type and both its borders are right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seqtruth.data.labelling import Labelling
from seqtruth.data.spans import Spans, extract
from seqtruth.kernels.arrays import Tags
from seqtruth.metrics.align import check_aligned
from seqtruth.metrics.score import Score
from seqtruth.metrics.sentences import Sentences, choose


@dataclass(frozen=True)
class SpanScores(Score):
    """Micro-averaged span scores, and those of each type.

    Parameters
    ----------
    strict : the reading, ``"conlleval"`` or ``"b-required"``.
    per_type : scores of each type that occurs in the result or the gold.
    """

    strict: str = "conlleval"
    per_type: dict[str, Score] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        per_type = {name: score.to_dict() for name, score in self.per_type.items()}
        return {**super().to_dict(), "strict": self.strict, "per_type": per_type}


class Matches(NamedTuple):
    """Spans of both sides in reading order, and which of the predicted are right."""

    predicted: Spans
    gold: Spans
    correct: npt.NDArray[np.bool_]


def match(result: Labelling, gold: Labelling, strict: str = "conlleval") -> Matches:
    """Compare the spans of two aligned labellings.

    Tokens without a gold label cannot be judged: predicted spans that touch one are left out.
    """
    check_aligned(result, gold)
    offsets = gold.corpus.token_offsets
    theirs = extract(gold.tags, offsets, gold.scheme, strict)
    ours = extract(result.tags, offsets, result.scheme, strict)
    ours = keep_spans(ours, judgeable(ours, gold.tags, offsets))
    return Matches(ours, theirs, same_spans(ours, theirs, offsets))


def judgeable(
    spans: Spans, gold_tags: Tags, offsets: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Whether each span lies on tokens that all have a gold label."""
    unknown = np.concatenate([[0], np.cumsum(gold_tags < 0)])
    first = offsets[spans.sequence]
    return np.asarray(unknown[first + spans.end] == unknown[first + spans.start])


def keep_spans(spans: Spans, mask: npt.NDArray[np.bool_]) -> Spans:
    """The spans where the mask holds."""
    return Spans(spans.sequence[mask], spans.start[mask], spans.end[mask], spans.type[mask])


def same_spans(ours: Spans, theirs: Spans, offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether each of our spans is one of theirs (spans of one labelling never overlap)."""
    at = np.full(int(offsets[-1]) + 1, -1, np.int64)
    at[offsets[theirs.sequence] + theirs.start] = np.arange(len(theirs.start))
    partner = at[offsets[ours.sequence] + ours.start]
    correct = np.asarray(partner >= 0)
    partner = partner[correct]
    same_end = theirs.end[partner] == ours.end[correct]
    correct[correct] = same_end & (theirs.type[partner] == ours.type[correct])
    return correct


def sentence_counts(matches: Matches, n_sentences: int) -> npt.NDArray[np.int64]:
    """int64[S, 3]: correct, predicted and gold spans of each sentence. These add up."""
    return np.stack(
        [
            np.bincount(matches.predicted.sequence[matches.correct], minlength=n_sentences),
            np.bincount(matches.predicted.sequence, minlength=n_sentences),
            np.bincount(matches.gold.sequence, minlength=n_sentences),
        ],
        axis=1,
    )


def span_scores(
    result: Labelling,
    gold: Labelling,
    sentences: Sentences | None = None,
    strict: str = "conlleval",
) -> SpanScores:
    """Precision, recall and F1 over spans.

    Parameters
    ----------
    result, gold : aligned labellings (see :func:`~seqtruth.metrics.align.align`).
    sentences : score these only.
    strict : ``"conlleval"``: a stray I- opens a span, as in the CoNLL evaluation script;
        ``"b-required"``: only B- does, and a stray I- is nothing. Plain tags: every token is a
        span of length one, and F1 is accuracy.

    References
    ----------
    Tjong Kim Sang and De Meulder (2003), "Introduction to the CoNLL-2003 shared task".
    https://doi.org/10.3115/1119176.1119195

    Examples
    --------
    >>> from seqtruth.data.crowd import Crowd
    >>> both = Crowd.of(
    ...     {"result": [["I-PER", "O", "B-LOC"]], "gold": [["B-PER", "O", "B-LOC"]]},
    ...     tokens=[["Ann", "in", "Ames"]],
    ... )
    >>> result, gold = both.labelling(0), both.labelling(1)
    >>> span_scores(result, gold).f1
    1.0
    >>> span_scores(result, gold, strict="b-required").per_type["PER"].recall
    0.0
    """
    matches = match(result, gold, strict)
    mask = np.zeros(gold.corpus.n_sentences, np.bool_)
    mask[choose(gold.corpus, sentences)] = True
    ours, theirs = mask[matches.predicted.sequence], mask[matches.gold.sequence]
    types = gold.scheme.types
    counts = np.stack(
        [
            np.bincount(matches.predicted.type[ours & matches.correct], minlength=len(types)),
            np.bincount(matches.predicted.type[ours], minlength=len(types)),
            np.bincount(matches.gold.type[theirs], minlength=len(types)),
        ],
        axis=1,
    )
    per_type = {
        name: Score(*row)
        for name, row in zip(types, counts.tolist(), strict=True)
        if row[1] or row[2]
    }
    correct, predicted, wanted = counts.sum(axis=0).tolist()
    return SpanScores(correct, predicted, wanted, strict, per_type)
