"""What can be accepted as it is, at a precision that is promised, and what a person should see.

Spans (or sentences) are taken in the order of their confidence, as many as the precision expected of those
taken allows; none that is likelier wrong than right. A promise needs grounds:

* **with known labels** (50 spans or more), drawn at random: confidences are corrected by them
  (:mod:`~seqtruth.decisions.precision`), and the promise keeps some standard errors' distance from the
  precision asked for;
* **without**: only where the method corrects its confidences by held-out annotators, for 50 spans or more,
  up to 90 %, and only for people and models who are independent of each other. What annotators get wrong
  together no annotator can reveal; rules and copies get much wrong together. Known labels that are too few
  for the first can speak against the second.

In all other cases it says so, and why, what can be promised instead, and about how many sentences would
have to be checked; everything stays for people to see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from seqtruth.data.spans import extract
from seqtruth.decisions.model import spans_of
from seqtruth.decisions.precision import sentence_claims, span_claims
from seqtruth.decisions.promises import Grounds, Share, Verdicts
from seqtruth.decisions.returned import on_own_tokens
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import Bool
from seqtruth.metrics.align import Source, align
from seqtruth.metrics.span import same_spans
from seqtruth.result import Result


@dataclass(frozen=True, eq=False)
class Triage:
    """What to accept and what to look at.

    Parameters
    ----------
    result : what it is about.
    accept : the precision asked for.
    spans, sentences : the two ways to accept.
    known : bool[S], sentences whose true labels are there; nobody needs to see them.
    """

    result: Result
    accept: float
    spans: Share
    sentences: Share
    known: Bool

    @property
    def settled(self) -> Bool:
        """bool[S]: sentences that nobody needs to see: known, accepted whole, or all of whose spans are."""
        found = spans_of(self.result)
        n = self.result.corpus.n_sentences
        named = np.bincount(found.sequence, minlength=n)
        taken = np.bincount(found.sequence, self.spans.accepted, minlength=n)
        whole = self.sentences.accepted | ((named > 0) & (taken == named) & ~self._disputed())
        return np.asarray(whole | self.known)

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
        return {
            "accept": self.accept,
            "spans": self.spans.to_dict(),
            "sentences": self.sentences.to_dict(),
            "to_see": self.n_sentences(self.result.labelled & ~self.settled),
        }

    def n_sentences(self, chosen: Bool) -> int:
        """How many sentences these are, each counted once whatever its layers.

        Parameters
        ----------
        chosen : bool[S].
        """
        corpus = self.result.corpus
        if len(corpus.layers) == 1:
            return int(chosen.sum())
        return len(corpus.base_ids.filter(pa.array(chosen)).unique())


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
    whole = "whole sentences are promised with known labels only"
    by_spans, by_sentences = span_claims(result), sentence_claims(result)
    density = len(by_spans.kind) / max(int(result.labelled.sum()), 1)
    known = _seen(result)
    known[sentences.at] = True
    return Triage(
        result,
        accept,
        Grounds("spans", by_spans, spans, _no_grounds(result), density).share(accept),
        Grounds("sentences", by_sentences, sentences, _no_grounds(result) or whole, 1.0).share(
            accept
        ),
        known,
    )


def verdicts(result: Result, gold: Source | None) -> tuple[Verdicts, Verdicts]:
    """What true labels say of the result's spans and of its sentences.

    Parameters
    ----------
    result : whose spans and sentences they are.
    gold : true labels of some sentences; those that the result was told are passed over.
    """
    found = spans_of(result)
    nothing, none = np.zeros(0, np.int64), np.zeros(0, np.bool_)
    if gold is None:
        return Verdicts(nothing, none), Verdicts(nothing, none)
    pair = align(result, on_own_tokens(result, gold))
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
        Verdicts(at, right[fresh]),
        Verdicts(pair.places[~seen], (np.diff(wrong) == 0)[~seen]),
    )


def _seen(result: Result) -> Bool:
    """bool[S]: sentences of which the result was told labels; they say nothing about the others."""
    known = None if result.fitted is None else result.fitted.known
    if known is None:
        return np.zeros(result.corpus.n_sentences, np.bool_)
    return np.diff(np.concatenate([[0], np.cumsum(known >= 0)])[result.corpus.token_offsets]) > 0


def _no_grounds(result: Result) -> str:
    """Why nothing can be promised without known labels; empty where some precision of spans can."""
    settings = result.provenance.get("parameters")
    if result.of_span is None or not isinstance(settings, dict) or not settings.get("calibrate"):
        method = result.provenance.get("method", "this method")
        return f"{method} does not correct its confidences"
    if result.provenance.get("silence"):
        return "some sources are silent where they have nothing to say, as rules are, and such err together"
    if result.provenance.get("copies"):
        return "some annotators copy each other, and err together"
    if len(result.annotators) < 3:
        return "fewer than three annotators cannot check each other"
    return ""
