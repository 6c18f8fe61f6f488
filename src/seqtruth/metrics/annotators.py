"""Each annotator against the gold, and whether estimated weights follow what he is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.data.crowd import Crowd, Labelling
from seqtruth.data.scheme import BEGIN, OUTSIDE, SINGLE, Scheme
from seqtruth.data.spans import convert, needs_begin, opens
from seqtruth.errors import DataError
from seqtruth.kernels.arrays import I8, I16, I32, I64
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.metrics.align import Source, as_labelling, one_scheme, recoding
from seqtruth.metrics.score import ratio
from seqtruth.metrics.sentences import Sentences, choose, match_sentences

#: What is counted of each annotator; these add up over parts of a crowd.
COUNTS = ("sentences", "correct", "predicted", "gold")


@dataclass(frozen=True, eq=False)
class AnnotatorScores:
    """Strict span scores of every annotator on the sentences he labelled.

    Parameters
    ----------
    annotators : names, in the crowd's order.
    sentences : int64[W], sentences he labelled that have gold.
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
        """From the sums of :func:`annotator_counts`."""
        sentences, correct, predicted, gold = (counts[name] for name in COUNTS)
        return AnnotatorScores(annotators, sentences, correct, predicted, gold, strict)

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
            "annotator": list(self.annotators),
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


def annotator_scores(
    crowd: Crowd,
    gold: Source,
    sentences: Sentences | None = None,
    strict: str = "conlleval",
) -> AnnotatorScores:
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
    >>> annotator_scores(crowd, gold).f1.tolist()
    [1.0, 0.0]
    """
    truth = as_labelling(gold)
    partner = _partners(crowd, truth, sentences)
    tags, recode, truth, scheme = _rows_and_gold(crowd, truth)
    offsets = truth.corpus.token_offsets
    counts = _counts(crowd, tags, recode, partner, truth.tags, offsets, scheme, strict)
    return AnnotatorScores.of(crowd.annotators, counts, strict)


def annotator_counts(
    crowd: Crowd, tags: npt.NDArray[np.int8], strict: str = "conlleval"
) -> dict[str, npt.NDArray[np.int64]]:
    """What every annotator's scores are made of, against tags of the crowd's own tokens.

    Counts of parts of a crowd add up to those of the whole; :meth:`AnnotatorScores.of` scores them.

    Parameters
    ----------
    crowd : the annotations.
    tags : int8[T], labels of the crowd's own scheme to hold them against (-1: none).
    strict : the reading of spans.

    Examples
    --------
    >>> crowd = Crowd.of({"ann": [["B-PER", "O"]], "bob": [["O", "O"]]}, [["Ann", "ran"]])
    >>> counts = annotator_counts(crowd, np.array([0, 2], np.int8))
    >>> counts["correct"].tolist(), AnnotatorScores.of(crowd.annotators, counts).recall.tolist()
    ([1, 0], [1.0, 0.0])
    """
    same, recode = np.arange(crowd.n_sentences), recoding(crowd.scheme, crowd.scheme)
    offsets = crowd.corpus.token_offsets
    return _counts(crowd, crowd.tags, recode, same, tags, offsets, crowd.scheme, strict)


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
    crowd: Crowd,
    tags: I8,
    recode: I8,
    partner: I64,
    gold: I8,
    gold_offsets: I64,
    scheme: Scheme,
    strict: str,
) -> dict[str, I64]:
    """Counts of every annotator, sentence by sentence."""
    demand_begin = needs_begin(scheme, strict)
    offsets, rows = crowd.corpus.token_offsets, crowd.sentence_rows
    first_tag = crowd.row_offsets[rows]

    def run(a: int, b: int) -> I64:
        out = np.zeros((len(COUNTS), crowd.n_annotators), np.int64)
        _count_chunk(
            tags, recode, first_tag, offsets, rows, crowd.row_annotator, a, b, partner, gold,
            gold_offsets, scheme.roles, scheme.type_of, demand_begin, out,
        )  # fmt: skip
        return out

    total = np.zeros((len(COUNTS), crowd.n_annotators), np.int64)
    for part in map_chunks(run, chunk_bounds(offsets)):
        total += part
    return dict(zip(COUNTS, total, strict=True))


@kernel
def _read_spans(
    tags: I8, recode: I8, at: int, n: int, roles: I8, type_of: I16, demand_begin: bool, out: I32
) -> tuple[int, bool]:
    """Spans of one row as (start, end, type) into ``out``; how many, and whether any tag is given."""
    found, known = 0, False
    open_at, open_type, prev_role, prev_type = -1, -1, OUTSIDE, -1
    for i in range(n + 1):
        role, this = OUTSIDE, -1
        if i < n and tags[at + i] >= 0:
            known = True
            tag = recode[tags[at + i]]
            role, this = roles[tag], type_of[tag]
        if role == OUTSIDE and prev_role == OUTSIDE:
            continue
        begins = opens(role, this, prev_role, prev_type)
        if open_at >= 0 and (role == OUTSIDE or begins):
            out[found, 0], out[found, 1], out[found, 2] = open_at, i, open_type
            found += 1
            open_at = -1
        if begins and (not demand_begin or role == BEGIN or role == SINGLE):
            open_at, open_type = i, this
        prev_role, prev_type = role, this
    return found, known


@kernel
def _count_chunk(
    tags: I8,
    recode: I8,
    first_tag: I64,
    offsets: I64,
    sentence_rows: I64,
    row_annotator: I32,
    first: int,
    last: int,
    partner: I64,
    gold: I8,
    gold_offsets: I64,
    roles: I8,
    type_of: I16,
    demand_begin: bool,
    out: I64,
) -> None:
    longest = 1
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    wanted, given = np.empty((longest, 3), np.int32), np.empty((longest, 3), np.int32)
    same = np.arange(len(roles)).astype(np.int8)
    for s in range(first, last):
        if partner[s] < 0 or sentence_rows[s] == sentence_rows[s + 1]:
            continue
        n, at = offsets[s + 1] - offsets[s], gold_offsets[partner[s]]
        n_gold, known = _read_spans(gold, same, at, n, roles, type_of, demand_begin, wanted)
        # a row counts where he said anything and there is anything to compare it with
        if n > 0 and not known:
            continue
        for r in range(sentence_rows[s], sentence_rows[s + 1]):
            row = first_tag[s] + (r - sentence_rows[s]) * n
            n_given, said = _read_spans(tags, recode, row, n, roles, type_of, demand_begin, given)
            if n > 0 and not said:
                continue
            annotator, j = row_annotator[r], 0
            out[0, annotator] += 1
            out[3, annotator] += n_gold
            for m in range(n_given):
                start, end = given[m, 0], given[m, 1]
                # what lies on a token without gold cannot be judged
                judged = True
                for i in range(start, end):
                    judged = judged and gold[at + i] >= 0
                if not judged:
                    continue
                out[2, annotator] += 1
                while j < n_gold and wanted[j, 0] < start:
                    j += 1
                if j < n_gold and wanted[j, 0] == start:
                    if wanted[j, 1] == end and wanted[j, 2] == given[m, 2]:
                        out[1, annotator] += 1


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
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8], Labelling, Scheme]:
    """The crowd's tags, a table from them to one scheme, and the gold under that scheme."""
    nothing = crowd.corpus.take(np.zeros(0, np.int64))
    empty = Labelling(nothing, crowd.scheme, np.zeros(0, np.int8))
    like, truth = one_scheme(empty, truth)
    scheme, tags = like.scheme, crowd.tags
    if scheme.kind != crowd.scheme.kind:
        tags = convert(tags, crowd.row_offsets, crowd.scheme, scheme)
        return tags, recoding(scheme, scheme), truth, scheme
    return tags, recoding(crowd.scheme, scheme), truth, scheme
