"""Each annotator against the gold, and whether estimated weights follow what they are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import convert, reading
from seqtruth.errors import DataError
from seqtruth.kernels.annotator_counts import Gold, count_spans_chunk
from seqtruth.kernels.arrays import I64, Tags
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.metrics.align import Source, as_labelling, one_scheme
from seqtruth.metrics.score import ratio
from seqtruth.metrics.sentences import Sentences, choose, match_sentences

#: What is counted of each annotator; these add up over parts of a crowd.
COUNTS = ("sentences", "correct", "predicted", "gold")


@dataclass(frozen=True, eq=False)
class AnnotatorScores:
    """Strict span scores of every annotator on the sentences they labelled.

    Parameters
    ----------
    annotators : names, in the crowd's order.
    sentences : int64[W], sentences they labelled that have gold.
    correct, predicted, gold : int64[W], span counts on these.
    strict : the reading.
    """

    annotators: tuple[str, ...]
    sentences: npt.NDArray[np.int64]
    correct: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    gold: npt.NDArray[np.int64]
    strict: str = "conlleval"

    @staticmethod
    def of(
        annotators: tuple[str, ...],
        counts: Mapping[str, npt.NDArray[np.int64]],
        strict: str = "conlleval",
    ) -> AnnotatorScores:
        """From the sums of :func:`annotator_counts`.

        Parameters
        ----------
        annotators : their names.
        counts : sums by name.
        strict : the reading that the sums were counted with.
        """
        sentences, correct, predicted, gold = (counts[name] for name in COUNTS)
        return AnnotatorScores(annotators, sentences, correct, predicted, gold, strict)

    @property
    def precision(self) -> npt.NDArray[np.float64]:
        """float64[W]; 0 where they marked nothing."""
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
            "annotator": list(self.annotators),
            "sentences": self.sentences.tolist(),
            "precision": self.precision.tolist(),
            "recall": self.recall.tolist(),
            "f1": f1,
        }


@dataclass(frozen=True)
class Correlation:
    """How two columns go together; nan where fewer than two entries vary.

    Parameters
    ----------
    pearson, spearman : the two coefficients.
    n : number of entries compared.
    """

    pearson: float
    spearman: float
    n: int


def annotator_scores(
    crowd: Crowd,
    gold: Source,
    sentences: Sentences | None = None,
    strict: str = "conlleval",
) -> AnnotatorScores:
    """Score every annotator against the gold, on the sentences they labelled.

    A token they skipped inside a sentence they labelled reads as outside.

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
    >>> annotator_scores(crowd, gold).f1.tolist()
    [1.0, 0.0]
    """
    truth = as_labelling(gold)
    partner = _partners(crowd, truth, sentences)
    tags, labels, truth = _rows_and_gold(crowd, truth)
    gold_ = Gold(partner, truth.tags, truth.corpus.token_offsets)
    counts = _counts(crowd, tags, labels, gold_, truth.scheme, strict)
    return AnnotatorScores.of(crowd.annotators, counts, strict)


def annotator_counts(
    crowd: Crowd, tags: Tags, strict: str = "conlleval"
) -> dict[str, npt.NDArray[np.int64]]:
    """What every annotator's scores are made of, against tags of the crowd's own tokens.

    Counts of parts of a crowd add up to those of the whole; :meth:`AnnotatorScores.of` scores them.

    Parameters
    ----------
    crowd : the annotations.
    tags : tag[T], labels of the crowd's own scheme to hold them against (-1: none).
    strict : the reading of spans.

    Examples
    --------
    >>> crowd = Crowd.of({"ann": [["B-PER", "O"]], "bob": [["O", "O"]]}, [["Ann", "ran"]])
    >>> counts = annotator_counts(crowd, crowd.scheme.encode(["B-PER", "O"]))
    >>> counts["correct"].tolist(), AnnotatorScores.of(crowd.annotators, counts).recall.tolist()
    ([1, 0], [1.0, 0.0])
    """
    gold = Gold(np.arange(crowd.n_sentences), tags, crowd.corpus.token_offsets)
    return _counts(crowd, crowd.tags, crowd.scheme, gold, crowd.scheme, strict)


def counts_table(counts: Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """int64[W, 4]: the sums of :func:`annotator_counts`, a row an annotator.

    Parameters
    ----------
    counts : sums by name.
    """
    return np.stack([np.asarray(counts[name], np.int64) for name in COUNTS], axis=1)


def _partners(crowd: Crowd, truth: Labelling, sentences: Sentences | None) -> npt.NDArray[np.int64]:
    """Place in the gold of every sentence of the crowd, -1 for those not to be scored."""
    chosen = choose(crowd.corpus, sentences)
    partner = np.full(crowd.n_sentences, -1, np.int64)
    if truth.corpus is crowd.corpus:
        partner[chosen] = chosen
    else:
        asked = sentences is not None
        partner[chosen] = match_sentences(crowd.corpus, truth.corpus, chosen, asked)
    return partner


def _counts(
    crowd: Crowd, tags: Tags, labels: Scheme, gold: Gold, scheme: Scheme, strict: str
) -> dict[str, I64]:
    """Counts of every annotator; ``tags`` are the crowd's in ``labels``, the gold's are in ``scheme``."""
    by, view = reading(scheme, strict), crowd.view._replace(tags=tags)
    table = scheme.recoding(labels.labels)

    def run(a: int, b: int) -> I64:
        out = np.zeros((len(COUNTS), crowd.n_annotators), np.int64)
        count_spans_chunk(view, a, b, table, gold, by, out)
        return out

    total = np.zeros((len(COUNTS), crowd.n_annotators), np.int64)
    for part in map_chunks(run, chunk_bounds(view.token_offsets)):
        total += part
    return dict(zip(COUNTS, total, strict=True))


def correlate(
    weights: Mapping[str, float] | Sequence[float] | npt.NDArray[np.float64],
    scores: AnnotatorScores,
    min_sentences: int = 1,
) -> Correlation:
    """Correlation of the annotators' weights with their own F1.

    Annotators whose F1 is unknown or who labelled fewer than ``min_sentences`` are left out.

    Parameters
    ----------
    weights : by name, or one per annotator in the crowd's order.
    scores : from :func:`annotator_scores`.
    min_sentences : how many sentences with gold an annotator needs to be counted.
    """
    if isinstance(weights, Mapping):
        missing = [name for name in scores.annotators if name not in weights]
        if missing:
            raise DataError("every annotator needs a weight", got=f"none for {missing[0]!r}")
        column = np.array([weights[name] for name in scores.annotators], np.float64)
    else:
        column = np.asarray(weights, np.float64)
    if column.shape != scores.f1.shape:
        raise DataError(
            f"{len(scores.annotators)} annotators need as many weights", got=str(column.shape)
        )
    keep = np.isfinite(column) & np.isfinite(scores.f1) & (scores.sentences >= min_sentences)
    x, y = column[keep], scores.f1[keep]
    return Correlation(pearson(x, y), spearman(x, y), int(keep.sum()))


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Pearson's correlation; nan where a column is constant.

    Parameters
    ----------
    x, y : two columns of one length.

    Examples
    --------
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

    Parameters
    ----------
    x, y : two columns of one length.

    Examples
    --------
    >>> spearman([1, 2, 3], [2, 4, 70])
    1.0
    """
    return pearson(average_ranks(x), average_ranks(y))


def average_ranks(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of their ranks.

    Parameters
    ----------
    values : numbers.

    Examples
    --------
    >>> average_ranks([10, 20, 10]).tolist()
    [1.5, 3.0, 1.5]
    """
    _, group, count = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[group], np.float64)


def _rows_and_gold(crowd: Crowd, truth: Labelling) -> tuple[Tags, Scheme, Labelling]:
    """The crowd's tags, the scheme that they are numbers of, and the gold under one that knows both."""
    nothing = crowd.corpus.take(np.zeros(0, np.int64))
    empty = Labelling(nothing, crowd.scheme, crowd.scheme.unlabelled(0))
    like, truth = one_scheme(empty, truth)
    if like.scheme.kind != crowd.scheme.kind:
        tags = convert(crowd.tags, crowd.row_offsets, crowd.scheme, like.scheme)
        return tags, like.scheme, truth
    return crowd.tags, crowd.scheme, truth
