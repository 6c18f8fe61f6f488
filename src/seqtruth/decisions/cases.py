"""Cases: stretches of tokens where somebody marked something and the labels may be wrong.

Marks of the consensus, of the annotators, and what the probabilities hold possible are laid over each other;
those that overlap are one case. A case knows how likely its labels are wrong, which type they give, and the
strongest rival. What somebody who is right settles by looking at a sentence is the sum over its cases
(:func:`expected_errors`): by that, triage queues sentences and the review desk its questions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.data.crowd import Crowd
from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import F64, I64, Bool
from seqtruth.result import Result

#: Cases less likely to be wrong than this are no cases.
LEAST = 0.005
#: An entity that is at least so probable where the labels say none makes a case.
POSSIBLE = 0.2


class Cases(NamedTuple):
    """Columns, one entry a case, in reading order.

    sentence, document : numbers of both.
    start, end : tokens of the sentence, ``end`` behind the last.
    wrong : probability that the labels there are not right.
    first, last : borders of the mark that is asked about, inside ``start`` to ``end``: the consensus's, else
        those that most annotators drew.
    label : number of its type in ``scheme.types``; -1 where the consensus marks nothing.
    rival : the type that is most probable beside it; -1 for none at all.
    plain : whether the consensus has at most one mark there, so that a type settles it.
    surface : number of the text of ``first`` to ``last``; equal for equal texts.
    """

    sentence: I64
    document: I64
    start: I64
    end: I64
    wrong: F64
    first: I64
    last: I64
    label: I64
    rival: I64
    plain: Bool
    surface: I64

    @property
    def size(self) -> int:
        """How many cases."""
        return len(self.sentence)

    def chosen(self, mask: Bool | I64) -> Cases:
        """The cases chosen by a mask or by number."""
        columns: Any = [column[mask] for column in self]
        return Cases(*columns)


class _Marks(NamedTuple):
    """Spans of the whole corpus, in tokens counted over it."""

    start: I64
    end: I64
    type: I64


def find_cases(result: Result, crowd: Crowd | None = None) -> Cases:
    """All cases of a result.

    Parameters
    ----------
    result : the labels, with their probabilities.
    crowd : the annotators' labels, where the result does not know them.

    Examples
    --------
    >>> names = {"ann": [["B-PER", "O"]], "bob": [["O", "O"]], "cat": [["B-LOC", "O"]]}
    >>> from seqtruth.methods import make_method
    >>> cases = find_cases(make_method("mv").fit(Crowd.of(names, tokens=[["Ada", "ran"]])))
    >>> cases.start.tolist(), cases.end.tolist()
    ([0], [1])
    """
    crowd = result.crowd if crowd is None else crowd
    ours = _marks(result.tags, result.corpus.token_offsets, result)
    others = [_possible(result)]
    if crowd is not None:
        others.append(_of_crowd(crowd, result))
    start = np.concatenate([ours.start, *(marks.start for marks in others)])
    end = np.concatenate([ours.end, *(marks.end for marks in others)])
    order = np.argsort(start, kind="stable")
    reach = np.maximum.accumulate(end[order]) if len(order) else end
    opens = np.ones(len(order), np.bool_)
    opens[1:] = start[order][1:] >= reach[:-1]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(opens) - 1
    first = start[order][opens]
    last = np.maximum.reduceat(end[order], np.flatnonzero(opens)) if len(first) else first
    n_ours = np.bincount(number[: len(ours.start)], minlength=len(first))
    asked = _asked(number, start, end, len(ours.start), len(first))
    return _columns(result, first, last, n_ours, asked, ours, number[: len(ours.start)])


def expected_errors(cases: Cases, n_sentences: int, mask: Bool | None = None) -> F64:
    """float64[S]: wrong labels to be expected in each sentence, which an answer about it would put right.

    Parameters
    ----------
    cases : what is in doubt.
    n_sentences : of the corpus.
    mask : bool[C], the cases that count; all where not given.
    """
    wrong = cases.wrong if mask is None else np.where(mask, cases.wrong, 0.0)
    return np.bincount(cases.sentence, wrong, n_sentences).astype(np.float64)


def _marks(tags: np.ndarray, offsets: I64, result: Result) -> _Marks:
    found = extract(tags, offsets, result.scheme)
    at = offsets[found.sequence]
    return _Marks(at + found.start, at + found.end, found.type.astype(np.int64))


def _of_crowd(crowd: Crowd, result: Result) -> _Marks:
    found = extract(crowd.tags, crowd.row_offsets, crowd.scheme)
    at = result.corpus.token_offsets[crowd.row_sentence[found.sequence]]
    return _Marks(at + found.start, at + found.end, found.type.astype(np.int64))


def _possible(result: Result) -> _Marks:
    """What the probabilities hold possible where the labels mark nothing."""
    scheme = result.scheme
    if scheme.kind == "plain":
        nothing = np.zeros(0, np.int64)
        return _Marks(nothing, nothing, nothing)
    entity = np.where(scheme.is_entity, result.probabilities, 0)
    is_open = (result.tags == scheme.outside) & (entity.sum(axis=1) >= POSSIBLE)
    tags = np.where(is_open, np.argmax(entity, axis=1), scheme.outside).astype(scheme.tag_dtype)
    return _marks(tags, result.corpus.token_offsets, result)


def _asked(number: I64, start: I64, end: I64, n_ours: int, n_cases: int) -> tuple[I64, I64]:
    """Borders of the mark to ask about: the consensus's first, else that of most annotators."""
    width = int(end.max(initial=0)) + 1
    keys, votes = np.unique(start * width + end, return_counts=True)
    support = votes[np.searchsorted(keys, start * width + end)]
    rank = np.lexsort((start, -support, np.arange(len(start)) >= n_ours, number))
    lead = rank[np.searchsorted(number[rank], np.arange(n_cases))] if n_cases else rank
    return start[lead], end[lead]


def _columns(
    result: Result, first: I64, last: I64, n_ours: I64, asked: tuple[I64, I64], ours: _Marks, of: I64
) -> Cases:  # fmt: skip
    corpus, n = result.corpus, len(first)
    wrong = _doubt(result, first, last)
    label = np.full(n, -1, np.int64)
    label[of[::-1]] = ours.type[::-1]
    rival = _rivals(result, *asked, label)
    sentence = np.searchsorted(corpus.token_offsets, first, side="right") - 1
    keep = wrong >= LEAST
    at = corpus.token_offsets[sentence]
    found = Cases(
        sentence, corpus.sentence_document[sentence].astype(np.int64), first - at, last - at, wrong,
        asked[0] - at, asked[1] - at, label, rival, n_ours <= 1, np.zeros(n, np.int64),
    ).chosen(keep)  # fmt: skip
    return found._replace(surface=surfaces(result, found))


def _doubt(result: Result, first: I64, last: I64) -> F64:
    """Probability that the labels of each stretch are not right: that of the weakest of them."""
    if not len(first):
        return np.zeros(0)
    sure = result.token_confidence.astype(np.float64)
    if result.of_span is not None:
        marked = (result.tags >= 0) & result.scheme.is_entity[np.maximum(result.tags, 0)]
        sure = np.where(marked, result.of_span, sure)
    cuts = np.stack([first, last], axis=1).reshape(-1)
    least = np.minimum.reduceat(np.append(sure, 1.0), cuts)[::2]
    return np.asarray(np.clip(1.0 - least, 0.0, 1.0))


def _rivals(result: Result, first: I64, last: I64, label: I64) -> I64:
    """The most probable type (-1: none) beside the one chosen, by the mean over the mark's tokens."""
    mean = type_shares(result, first, last)
    mean[np.arange(len(first)), label] = -1.0
    best = np.argmax(mean, axis=1)
    return np.where(best == len(result.scheme.types), -1, best).astype(np.int64)


def type_shares(result: Result, first: I64, last: I64) -> F64:
    """float64[C, types + 1]: probability of each type, and of none in the last column.

    Parameters
    ----------
    result : the labels.
    first, last : int64[C], tokens of the whole corpus, ``last`` behind them; the mean over these.
    """
    n_types = len(result.scheme.types)
    if not len(first):
        return np.zeros((0, n_types + 1))
    by_type = np.zeros((result.corpus.n_tokens + 1, n_types + 1))
    for number, kind in enumerate(result.scheme.type_of.tolist()):
        by_type[:-1, kind] += result.probabilities[:, number]  # -1 (none) is the last column
    cuts = np.stack([first, last], axis=1).reshape(-1)
    return np.asarray(np.add.reduceat(by_type, cuts, axis=0)[::2] / (last - first)[:, None])


def surfaces(result: Result, cases: Cases) -> I64:
    """int64[C]: numbers of the texts of the marks asked about; equal for equal texts."""
    corpus = result.corpus
    if corpus.tokens is None or not cases.size:
        return np.arange(cases.size)
    at = corpus.token_offsets[cases.sentence]
    widths = cases.last - cases.first
    offsets = np.concatenate([[0], np.cumsum(widths)])
    flat = np.repeat(at + cases.first - offsets[:-1], widths) + np.arange(offsets[-1])
    flat_words = corpus.tokens.take(pa.array(flat)).cast(pa.string())
    words = pa.ListArray.from_arrays(offsets.astype(np.int32), flat_words)
    joined = pc.binary_join(words, " ")
    return np.asarray(joined.dictionary_encode().indices).astype(np.int64)
