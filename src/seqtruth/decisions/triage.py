"""What can be accepted as it is, at a precision that is promised, and what a person should see.

Spans (or sentences) are taken in the order of their confidence, as many as the mean confidence of those
taken allows. A promise needs grounds:

* **with known labels** (50 spans or more): confidences are corrected by them, type by type, and the promise
  keeps some standard errors' distance from the precision asked for;
* **without**: only where the method corrects its confidences by held-out annotators, for spans, up to
  90 %, and only for people and models who are independent of each other. What annotators get wrong together
  no annotator can reveal; rules and copies get much wrong together.

In all other cases it says so, and why, and everything stays for people to see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.spans import extract
from seqtruth.decisions.model import spans_of
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64, I64, Bool
from seqtruth.methods.accord.calibration import fit_line
from seqtruth.methods.accord.confirmation import Line
from seqtruth.metrics.align import Source, align
from seqtruth.metrics.span import same_spans
from seqtruth.result import Result

#: Known spans (or sentences) that a promise needs at least.
FEWEST = 50
#: The highest precision that is promised without known labels.
HIGHEST = 0.9
#: Standard errors between the precision expected and the one promised.
SAFETY = {"spans": 1.5, "sentences": 2.0}
#: Distance that is kept without known labels.
DISTANCE = 0.02


@dataclass(frozen=True, eq=False)
class Share:
    """Spans or sentences: which are accepted, and what that promises.

    Parameters
    ----------
    confidence : float64[N], probability of being right, corrected where known labels allow it.
    accepted : bool[N].
    expected : precision expected of those accepted (or of those that would be).
    promised : whether the precision asked for is promised.
    why : the grounds, or what is missing.
    checked : how many of them known labels decide.
    """

    confidence: F64
    accepted: Bool
    expected: float
    promised: bool
    why: str
    checked: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "n": len(self.accepted),
            "accepted": int(self.accepted.sum()),
            "expected_precision": round(self.expected, 4),
            "promised": self.promised,
            "why": self.why,
            "checked": self.checked,
        }


@dataclass(frozen=True, eq=False)
class Triage:
    """What to accept and what to look at.

    Parameters
    ----------
    result : what it is about.
    accept : the precision asked for.
    spans, sentences : the two ways to accept.
    """

    result: Result
    accept: float
    spans: Share
    sentences: Share

    @property
    def settled(self) -> Bool:
        """bool[S]: sentences that nobody needs to see: accepted whole, or all of whose spans are."""
        found = spans_of(self.result)
        n = self.result.corpus.n_sentences
        named = np.bincount(found.sequence, minlength=n)
        taken = np.bincount(found.sequence, self.spans.accepted, minlength=n)
        return np.asarray(
            self.sentences.accepted | ((named > 0) & (taken == named) & ~self._disputed())
        )

    def _disputed(self) -> Bool:
        """bool[S]: sentences with a token outside all spans that is likelier inside than not accepted."""
        result = self.result
        doubt = np.where(
            (result.tags >= 0) & ~result.scheme.is_entity[result.tags],
            result.token_confidence < self.accept,
            False,
        )
        total = np.concatenate([[0], np.cumsum(doubt)])[result.corpus.token_offsets]
        return np.diff(total) > 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        settled = int((self.settled & self.result.labelled).sum())
        return {
            "accept": self.accept,
            "spans": self.spans.to_dict(),
            "sentences": self.sentences.to_dict(),
            "to_see": int(self.result.labelled.sum()) - settled,
        }


def triage(result: Result, accept: float = 0.95, gold: Source | None = None) -> Triage:
    """What can be accepted at a precision, by spans and by sentences.

    Parameters
    ----------
    result : any result; those of Accord have confidences that are corrected.
    accept : the precision wanted, between 0 and 1.
    gold : true labels of some sentences that the result has not seen; they correct the confidences.
    """
    if not 0 < accept < 1:
        raise ParameterError("accept must lie between 0 and 1", got=str(accept), fix="such as 0.95")
    spans, sentences = verdicts(result, gold)
    why_not = _no_grounds(result, accept)
    return Triage(
        result,
        accept,
        _share(result.span_confidence(), spans, accept, why_not, "spans"),
        _share(
            np.where(result.labelled, result.sentence_confidence, 0.0), sentences, accept,
            why_not or "whole sentences are promised with known labels only", "sentences",
        ),
    )  # fmt: skip


class Verdicts(NamedTuple):
    """Which of them known labels decide, whether these are right, and the type of all (0 of sentences)."""

    at: I64
    right: Bool
    kind: I64


def verdicts(result: Result, gold: Source | None) -> tuple[Verdicts, Verdicts]:
    """What true labels say of the result's spans and of its sentences.

    Parameters
    ----------
    result : whose spans and sentences they are.
    gold : true labels of some sentences; those that the result was told are passed over.
    """
    found = spans_of(result)
    nothing, none = np.zeros(0, np.int64), np.zeros(0, np.bool_)
    kind, zero = found.type.astype(np.int64), np.zeros(result.corpus.n_sentences, np.int64)
    if gold is None:
        return Verdicts(nothing, none, kind), Verdicts(nothing, none, zero)
    pair = align(result, gold)
    seen = _seen(result)[pair.places]
    offsets = pair.result.corpus.token_offsets
    ours = extract(pair.result.tags, offsets, pair.result.scheme)
    theirs = extract(pair.gold.tags, offsets, pair.gold.scheme)
    right = same_spans(ours, theirs, offsets)
    fresh = ~seen[ours.sequence]
    key = found.sequence.astype(np.int64) * (result.corpus.n_tokens + 1) + found.start
    mine = pair.places[ours.sequence] * (result.corpus.n_tokens + 1) + ours.start
    at = np.searchsorted(key, mine[fresh])
    wrong = np.concatenate([[0], np.cumsum(pair.result.tags != pair.gold.tags)])[offsets]
    return (
        Verdicts(at, right[fresh], kind),
        Verdicts(pair.places[~seen], (np.diff(wrong) == 0)[~seen], zero),
    )


def _seen(result: Result) -> Bool:
    """bool[S]: sentences of which the result was told labels; they say nothing about the others."""
    known = None if result.fitted is None else result.fitted.known
    if known is None:
        return np.zeros(result.corpus.n_sentences, np.bool_)
    return np.diff(np.concatenate([[0], np.cumsum(known >= 0)])[result.corpus.token_offsets]) > 0


def _no_grounds(result: Result, accept: float) -> str:
    """Why nothing can be promised without known labels; empty where spans can."""
    settings = result.provenance.get("parameters")
    if result.of_span is None or not isinstance(settings, dict) or not settings.get("calibrate"):
        method = result.provenance.get("method", "this method")
        return f"{method} does not correct its confidences"
    if result.provenance.get("silence"):
        return "some sources are rules, silent where they have nothing to say, and err together"
    if result.provenance.get("copies"):
        return "some annotators copy each other, and err together"
    if len(result.annotators) < 3:
        return "fewer than three annotators cannot check each other"
    if accept > HIGHEST:
        return (
            f"above {HIGHEST:.0%} it takes known labels: annotators miss the same things together"
        )
    return ""


def _share(confidence: F64, verdicts: Verdicts, accept: float, why_not: str, what: str) -> Share:
    checked = len(verdicts.at)
    if checked >= FEWEST:
        corrected = _corrected(confidence, verdicts)
        order = np.argsort(-corrected, kind="stable")
        known = np.zeros(len(confidence))
        known[verdicts.at] = 1.0
        behind = np.maximum(np.cumsum(known[order]), 1.0)
        away = SAFETY[what] * np.sqrt(accept * (1 - accept) / behind)
        grounds = f"corrected by {checked:,} {what} with known labels"
        return _taken(corrected, order, away, accept, grounds, checked)
    if checked:
        few = f"{checked:,} {what} with known labels are too few ({FEWEST} are needed)"
        why_not = f"{why_not}; {few}" if why_not else ""
    order = np.argsort(-confidence, kind="stable")
    away = np.full(len(confidence), DISTANCE)
    if not why_not:
        return _taken(confidence, order, away, accept, "confirmed by held-out annotators", checked)
    would = _taken(confidence, order, away, accept, "", checked)
    return Share(
        confidence, np.zeros(len(order), np.bool_), would.expected, False, why_not, checked
    )


def _taken(confidence: F64, order: I64, away: F64, accept: float, why: str, checked: int) -> Share:
    """As many as the mean confidence allows, those with the same confidence together."""
    ranked = confidence[order]
    mean = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    last = np.append(ranked[1:] < ranked[:-1], True)[: len(ranked)]
    good = np.flatnonzero((mean - away >= accept) & last)
    n = int(good[-1]) + 1 if len(good) else 0
    accepted = np.zeros(len(confidence), np.bool_)
    accepted[order[:n]] = True
    expected = float(mean[n - 1]) if n else float("nan")
    promised = n > 0
    if not n:
        why = f"nothing is sure enough ({why})" if why else "nothing is sure enough"
    return Share(confidence, accepted, expected, promised, why, checked)


def _corrected(confidence: F64, verdicts: Verdicts) -> F64:
    """Confidences on lines through what known labels say, one a type with that of all as its prior."""
    own, kind = confidence[verdicts.at], verdicts.kind[verdicts.at]
    everything = fit_line(own, verdicts.right, Line(1.0, 0.0))
    out = np.empty(len(confidence))
    for number in np.unique(verdicts.kind):
        here = kind == number
        line = fit_line(own[here], verdicts.right[here], everything)
        chosen = verdicts.kind == number
        out[chosen] = line(confidence[chosen])
    return out
