"""Decisions carried over to like cases: the labels and the confidences of what nobody decided about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.spans import extract
from seqtruth.decisions.cases import Cases, find_cases, surfaces, type_shares
from seqtruth.kernels.arrays import F64, I64, Bool, Tags
from seqtruth.methods.accord.confirmation import logit, sigmoid
from seqtruth.result import Result
from seqtruth.review.alike import attributes, shifts, softmax
from seqtruth.review.marks import Marks, current_marks

#: Probabilities are kept above this.
LEAST = 1e-4
#: Share of the doubt about a mark that is about its type, and not its borders; chosen on the same sets as
#: :data:`~seqtruth.review.alike.VARIANCE`.
OF_TYPE = 0.5
#: A label is changed where another is more probable than this.
CHANGES = 0.5
#: Answers that are no type: nothing was decided; what was decided is neither a type nor nothing.
UNDECIDED, OTHER = -1, -2


def spread(first: Result, learnt: Result, crowd: Crowd, known: Labelling) -> Result:
    """The labels with what decisions say of like cases (:mod:`~seqtruth.review.alike`).

    Parameters
    ----------
    first : the labels without any decision, in whose doubts the decisions are understood.
    learnt : the labels to carry over to: the same, or updated with the decisions.
    crowd : what the annotators said.
    known : what was decided; -1 where nothing was.
    """
    taught, target = find_cases(first, crowd), find_cases(learnt, crowd)
    answer = answers(taught, known)
    taught, answer = taught.chosen(answer >= 0), answer[answer >= 0]
    target = target.chosen(_untouched(target, known) & target.plain)
    if not taught.size or not target.size:
        return learnt
    both = Cases(*(np.concatenate(columns) for columns in zip(taught, target, strict=True)))
    both = both._replace(surface=surfaces(first, both))
    log_p = np.concatenate([_log_shares(first, taught), _log_shares(learnt, target)])
    given = np.concatenate([answer, np.full(target.size, UNDECIDED)])
    f = shifts(attributes(learnt.corpus, both), log_p, given)[taught.size :]
    now = log_p[taught.size :]
    return _with(learnt, target, _Shares(softmax(now), softmax(now + f)))


def answers(cases: Cases, known: Labelling) -> I64:
    """int64[C]: the type that was decided (behind the last: nothing), :data:`UNDECIDED` or :data:`OTHER`.

    Parameters
    ----------
    cases : what is in doubt.
    known : what was decided; -1 where nothing was.
    """
    scheme, offsets = known.scheme, known.corpus.token_offsets
    at = offsets[cases.sentence]
    start, end = at + cases.start, at + cases.end
    marks = extract(known.tags, offsets, scheme)
    first, last = offsets[marks.sequence] + marks.start, offsets[marks.sequence] + marks.end
    a, b = np.searchsorted(last, start, side="right"), np.searchsorted(first, end, side="left")
    out = np.where(b <= a, len(scheme.types), OTHER)
    one = np.flatnonzero(b - a == 1)
    mark = a[one]
    same = (first[mark] == at[one] + cases.first[one]) & (last[mark] == at[one] + cases.last[one])
    out[one[same]] = marks.type[mark[same]]
    out[_decided(cases, known) < end - start] = UNDECIDED
    return out


def _decided(cases: Cases, known: Labelling) -> I64:
    """int64[C]: how many tokens of each case are decided."""
    at = known.corpus.token_offsets[cases.sentence]
    count = np.concatenate([[0], np.cumsum(known.tags >= 0)])
    return np.asarray(count[at + cases.end] - count[at + cases.start])


def _untouched(cases: Cases, known: Labelling) -> Bool:
    return np.asarray(_decided(cases, known) == 0)


def _log_shares(result: Result, cases: Cases) -> F64:
    """Log probabilities of the types, with the doubt about the whole mark in that of its label.

    Tokens are surer than the spans they are in. Decisions are taken where marks are in doubt; unless that is
    in the probabilities, each that finds an error would speak against all others.
    """
    row, at = np.arange(cases.size), result.corpus.token_offsets[cases.sentence]
    shares = type_shares(result, at + cases.first, at + cases.last)
    if result.scheme.kind == "plain":
        shares[:, -1] = 1e-12  # every token has a tag
    label = np.where(cases.label < 0, len(result.scheme.types), cases.label)
    sure = np.minimum(shares[row, label], 1.0 - OF_TYPE * cases.wrong)
    shares *= ((1.0 - sure) / np.maximum(1.0 - shares[row, label], 1e-12))[:, None]
    shares[row, label] = sure
    return np.asarray(
        np.log(np.clip(shares, LEAST if result.scheme.kind != "plain" else 1e-12, 1.0))
    )


class _Shares(NamedTuple):
    """float64[C, types and nothing]: probabilities before and after."""

    before: F64
    after: F64


def _with(result: Result, cases: Cases, shares: _Shares) -> Result:
    """The labels with new probabilities of some cases, and what follows from them."""
    row, nothing = np.arange(cases.size), len(result.scheme.types)
    label = np.where(cases.label < 0, nothing, cases.label)
    best = np.argmax(shares.after, axis=1)
    changes = (best != label) & (shares.after[row, best] > CHANGES)
    chosen = np.where(changes, best, label)
    tags = _retagged(result, cases.chosen(changes), best[changes])
    at, of = _tokens(result, cases)
    soft = result.probabilities.copy()
    soft[at] *= (shares.after / shares.before)[of][:, result.scheme.type_of]
    soft[at] /= soft[at].sum(axis=1, keepdims=True)
    moved = logit(shares.after[row, chosen]) - logit(shares.before[row, chosen])
    of_span = of_sentence = None
    if result.of_span is not None:
        of_span = result.of_span.copy()
        kept = sigmoid(logit(of_span[at]) + moved[of])
        sure = np.where(changes[of], shares.after[row, chosen][of], kept)
        of_span[at] = np.where(result.scheme.is_entity[tags[at]], sure, 0.0)
    if result.of_sentence is not None:
        total = np.bincount(cases.sentence, moved, result.corpus.n_sentences)
        of_sentence = np.asarray(sigmoid(logit(result.of_sentence) + np.clip(total, -3.0, 3.0)))
        of_sentence = np.where(total == 0, result.of_sentence, of_sentence)
    about = {
        **result.provenance,
        "carried_over": _noted(result, cases.chosen(changes), best[changes]),
    }
    return replace(
        result, tags=tags, probabilities=soft, of_span=of_span, of_sentence=of_sentence, provenance=about
    )  # fmt: skip


def _noted(result: Result, cases: Cases, answer: I64) -> dict[str, list[dict[str, Any]]]:
    """By sentence, the marks that get another label, for those who ask why."""
    names = [*result.scheme.types, None]
    out: dict[str, list[dict[str, Any]]] = {}
    columns = (cases.sentence, cases.first, cases.last, cases.label, answer)
    for s, first, last, label, kind in zip(*(c.tolist() for c in columns), strict=True):
        change = {"range": [first, last], "before": names[label], "after": names[kind]}
        out.setdefault(str(s), []).append(change)
    return out


def _retagged(result: Result, cases: Cases, answer: I64) -> Tags:
    """The tags with these answers in the place of what is there."""
    tags, offsets, types = result.tags.copy(), result.corpus.token_offsets, result.scheme.types
    new: dict[int, Marks] = {}
    columns = (cases.sentence, cases.start, cases.end, cases.first, cases.last, answer)
    for s, start, end, first, last, kind in zip(*(c.tolist() for c in columns), strict=True):
        spans = () if kind == len(types) else ((first, last, types[kind]),)
        new[s] = new.get(s, Marks()).with_(Marks(((start, end),), spans))
    for s, marks in new.items():
        a, b = int(offsets[s]), int(offsets[s + 1])
        tags[a:b] = current_marks(result, s, marks).tags(b - a, result.scheme)
    return tags


def _tokens(result: Result, cases: Cases) -> tuple[I64, I64]:
    """Tokens of the marks asked about, and the case that each is of."""
    widths = cases.last - cases.first
    of = np.repeat(np.arange(cases.size), widths)
    inside = np.arange(len(of)) - np.repeat(np.cumsum(widths) - widths, widths)
    at = result.corpus.token_offsets[cases.sentence] + cases.first
    return at[of] + inside, of
