"""Each annotator against the gold, and whether estimated weights follow what he is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.corpus import gather
from seqtruth.data import Crowd, Labelling
from seqtruth.errors import DataError
from seqtruth.metrics.align import Source, as_labelling, one_scheme, recoding
from seqtruth.metrics.score import ratio
from seqtruth.metrics.sentences import Sentences, choose, match_sentences
from seqtruth.metrics.span import judgeable, keep_spans, same_spans
from seqtruth.scheme import Scheme
from seqtruth.spans import convert, extract


@dataclass(frozen=True, eq=False)
class WorkerScores:
    """Strict span scores of every annotator on the sentences he labelled.

    Parameters
    ----------
    workers : names, in the crowd's order.
    sentences : int64[W], sentences he labelled that have gold.
    correct, predicted, gold : int64[W], span counts on these.
    strict : the reading.
    """

    workers: tuple[str, ...]
    sentences: npt.NDArray[np.int64]
    correct: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    gold: npt.NDArray[np.int64]
    strict: str = "conlleval"

    @property
    def precision(self) -> npt.NDArray[np.float64]:
        """float64[W]; 0 where he marked nothing."""
        return ratio(self.correct, self.predicted)

    @property
    def recall(self) -> npt.NDArray[np.float64]:
        """float64[W]; 0 where there was nothing to mark."""
        return ratio(self.correct, self.gold)

    @property
    def f1(self) -> npt.NDArray[np.float64]:
        """float64[W]; nan where it cannot be known: no sentence with gold, or no span at all."""
        total = self.predicted + self.gold
        return np.where(total > 0, ratio(2 * self.correct, total), np.nan)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns of plain values, for JSON or a table; an unknown F1 is None."""
        f1 = [None if np.isnan(value) else value for value in self.f1.tolist()]
        return {
            "annotator": list(self.workers),
            "sentences": self.sentences.tolist(),
            "precision": self.precision.tolist(),
            "recall": self.recall.tolist(),
            "f1": f1,
        }


@dataclass(frozen=True)
class Correlation:
    """How two columns go together; nan where fewer than two entries vary."""

    pearson: float
    spearman: float
    n: int


def worker_scores(
    crowd: Crowd,
    gold: Source,
    sentences: Sentences | None = None,
    strict: str = "conlleval",
) -> WorkerScores:
    """Score every annotator against the gold, on the sentences he labelled.

    A token he skipped inside a sentence he labelled reads as outside.

    Parameters
    ----------
    crowd : the annotations.
    gold : a labelling, a crowd of one, or a path, matched as in
        :func:`~seqtruth.metrics.align.align`.
    sentences : score these only (mask, numbers or ids over the crowd's sentences).
    strict : the reading of spans.

    Examples
    --------
    >>> tokens = [["Ann", "ran"]]
    >>> crowd = Crowd.of({"ann": [["B-PER", "O"]], "bob": [["O", "O"]]}, tokens)
    >>> gold = Crowd.of({"gold": [["B-PER", "O"]]}, tokens)
    >>> worker_scores(crowd, gold).f1.tolist()
    [1.0, 0.0]
    """
    truth = as_labelling(gold)
    chosen = choose(crowd.corpus, sentences)
    matched = match_sentences(crowd.corpus, truth.corpus, chosen, asked=sentences is not None)
    partner = np.full(crowd.n_sentences, -1, np.int64)
    partner[chosen] = matched
    tags, truth, scheme = _rows_and_gold(crowd, truth)
    rows = np.flatnonzero(partner[crowd.row_sentence] >= 0)
    offsets, flat = gather(crowd.row_offsets, rows)
    _, gold_flat = gather(truth.corpus.token_offsets, partner[crowd.row_sentence[rows]])
    ours, theirs = tags[flat], truth.tags[gold_flat]
    # a row counts where he said anything and there is anything to compare it with
    counted = _any_known(ours, offsets) & _any_known(theirs, offsets)
    worker = crowd.row_worker[rows]

    spans = extract(ours, offsets, scheme, strict)
    judged = judgeable(spans, theirs, offsets) & counted[spans.sequence]
    spans = keep_spans(spans, judged)
    wanted = extract(theirs, offsets, scheme, strict)
    wanted = keep_spans(wanted, counted[wanted.sequence])
    right = same_spans(spans, wanted, offsets)

    def per_worker(row: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.bincount(worker[row], minlength=crowd.n_workers)

    return WorkerScores(
        crowd.workers,
        np.bincount(worker[counted], minlength=crowd.n_workers),
        per_worker(spans.sequence[right]),
        per_worker(spans.sequence),
        per_worker(wanted.sequence),
        strict,
    )


def correlate(
    weights: Mapping[str, float] | Sequence[float] | npt.NDArray[np.float64],
    scores: WorkerScores,
    min_sentences: int = 1,
) -> Correlation:
    """Correlation of the annotators' weights with their own F1.

    Annotators whose F1 is unknown or who labelled fewer than ``min_sentences`` are left out.

    Parameters
    ----------
    weights : by name, or one per annotator in the crowd's order.
    scores : from :func:`worker_scores`.
    min_sentences : how many sentences with gold an annotator needs to be counted.
    """
    if isinstance(weights, Mapping):
        missing = [name for name in scores.workers if name not in weights]
        if missing:
            raise DataError("every annotator needs a weight", got=f"none for {missing[0]!r}")
        column = np.array([weights[name] for name in scores.workers], np.float64)
    else:
        column = np.asarray(weights, np.float64)
    if column.shape != scores.f1.shape:
        raise DataError(
            f"{len(scores.workers)} annotators need as many weights", got=str(column.shape)
        )
    keep = np.isfinite(column) & np.isfinite(scores.f1) & (scores.sentences >= min_sentences)
    x, y = column[keep], scores.f1[keep]
    return Correlation(pearson(x, y), spearman(x, y), int(keep.sum()))


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Pearson's correlation; nan where a column is constant.

    >>> round(pearson([1, 2, 3], [2, 4, 7]), 4)
    0.9934
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise DataError("two columns of one length are needed", got=f"{a.shape} and {b.shape}")
    if len(a) < 2 or (a == a[0]).all() or (b == b[0]).all():
        return float("nan")
    # brought to [-1, 1] first, so that no square overflows or vanishes
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    a, b = a - a.mean(), b - b.mean()
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.clip(a @ b / size, -1.0, 1.0)) if size else float("nan")


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Spearman's rank correlation, ties at their average rank; nan where a column is constant.

    >>> spearman([1, 2, 3], [2, 4, 70])
    1.0
    """
    return pearson(average_ranks(x), average_ranks(y))


def average_ranks(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of their ranks.

    >>> average_ranks([10, 20, 10]).tolist()
    [1.5, 3.0, 1.5]
    """
    _, group, count = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[group], np.float64)


def _rows_and_gold(
    crowd: Crowd, truth: Labelling
) -> tuple[npt.NDArray[np.int8], Labelling, Scheme]:
    """The crowd's tags and the gold under one scheme."""
    empty = Labelling(crowd.corpus, crowd.scheme, np.full(crowd.n_tokens, -1, np.int8))
    like, truth = one_scheme(empty, truth)
    scheme, tags = like.scheme, crowd.tags
    if scheme.kind != crowd.scheme.kind:
        tags = convert(tags, crowd.row_offsets, crowd.scheme, scheme)
    elif scheme != crowd.scheme:
        tags = recoding(crowd.scheme, scheme)[tags]
    return tags, truth, scheme


def _any_known(tags: npt.NDArray[np.int8], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    total = np.concatenate([[0], np.cumsum(tags >= 0)])
    return np.asarray((np.diff(total[offsets]) > 0) | (np.diff(offsets) == 0))
