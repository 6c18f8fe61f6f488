"""Honest confidences without gold: how often does an annotator who was not heard confirm?

Sources that learnt from the same annotators agree too well, so probabilities come out too sure. Each
annotator is held out in turn and the labels are chosen without him; what he then says is a test that
the choice has not seen. Where c is the probability of a choice, the log odds that he confirms it are
about s · logit c + i. Being right and being confirmed are not the same (annotators miss what is hard),
but they go together:

    P(right) = σ( gain · s · logit c + i + shift )

Gain and shift (:data:`UNDERSTATED`) are what a held-out annotator understates, from ``nguyen_val`` and
the even PICO documents together; s and i are the crowd's own. Where some true labels are known, slope
and intercept are fitted to them instead, with those above as their prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import F32, F64, I32, I64, Bool, Tags
from seqtruth.methods.accord.annotators import Told
from seqtruth.methods.accord.span_choice import Decoded
from seqtruth.methods.bayes.sequence_model import label_scores
from seqtruth.metrics.span import judgeable, keep_spans, same_spans

#: Gain and shift of each level.
UNDERSTATED = {"token": (0.8, 1.0), "span": (1.2, 0.4), "sentence": (1.2, 0.2)}
#: Logits beyond this are all the same to us.
SUREST = 14.0
#: Where the crowd says little, its slope and intercept stay near these, as if so many had been seen.
USUAL, STRENGTH = (0.25, -1.0), 10.0


class Confidence(NamedTuple):
    """Probabilities of being right.

    token : float32[T], of each tag.
    span : float32[T], of the whole span a token is in (0 outside).
    sentence : float64[S], that all is right and nothing missing.
    """

    token: F32
    span: F32
    sentence: F64


@dataclass(frozen=True)
class Line:
    """A line in log odds: P = σ(slope · logit c + intercept)."""

    slope: float
    intercept: float

    def __call__(self, confidence: F32 | F64) -> F64:
        return _sigmoid(self.slope * logit(confidence) + self.intercept)


Lines = dict[str, Line]


def raw_confidence(chosen: Decoded, offsets: I64, scheme: Scheme) -> Confidence:
    """What the model itself says.

    A sentence's is the mean over its spans (their weakest tag's where spans have no probability of
    their own), times the probability of its weakest tag outside them.
    """
    at = np.arange(len(chosen.tags))
    token = chosen.marginals[at, chosen.tags]
    spans = extract(chosen.tags, offsets, scheme, "conlleval")
    n_sentences = len(offsets) - 1
    of_span = chosen.span[offsets[spans.sequence] + spans.start]
    count = np.bincount(spans.sequence, minlength=n_sentences)
    mean = np.bincount(spans.sequence, of_span, minlength=n_sentences) / np.maximum(count, 1)
    weakest = np.ones(n_sentences)
    outside = np.flatnonzero(~scheme.is_entity[chosen.tags])
    sentence = np.repeat(np.arange(n_sentences), np.diff(offsets))
    np.minimum.at(weakest, sentence[outside], token[outside])
    return Confidence(token, chosen.span, np.where(count > 0, mean, 1.0) * weakest)


def corrected(raw: Confidence, lines: Lines, tags: Tags, scheme: Scheme) -> Confidence:
    """Confidences on the lines."""
    span = np.where(raw.span > 0, lines["span"](raw.span), 0.0)
    return Confidence(
        lines["token"](raw.token).astype(np.float32),
        span.astype(np.float32),
        lines["sentence"](raw.sentence),
    )


def confirmed_lines(
    told: Told, table: F64, share: float, scores: F64, decode: Callable[[F64, I64], Decoded]
) -> Lines:
    """Lines from held-out annotators.

    Parameters
    ----------
    told, table : annotations and the annotators' log tables.
    share : how much annotators' evidence counts in ``scores``.
    scores : [T, L] of all annotators and sources together.
    decode : labels chosen under given scores and sentence offsets.
    """
    crowd = told.marked.crowd
    tests = []
    n_rows = np.diff(crowd.sentence_rows)
    for k in range(int(n_rows.max(initial=0))):
        sentences = np.flatnonzero(n_rows > max(k, 1))
        rows = crowd.sentence_rows[sentences] + k
        held = replace(
            crowd,
            row_sentence=crowd.row_sentence[rows],
            row_annotator=crowd.row_annotator[rows],
            tags=crowd.tags[gather(crowd.row_offsets, rows)[1]],
        )
        offsets, at = gather(crowd.corpus.token_offsets, sentences)
        without = scores[at] - share * label_scores(held, table)[at]
        verdicts = judge(decode(without, offsets), held.tags, offsets, crowd.scheme)
        witness = np.repeat(held.row_annotator, np.diff(offsets))
        tests.append({level: (found, witness[found.at]) for level, found in verdicts.items()})
    lines = {}
    for level, (gain, shift) in UNDERSTATED.items():
        raw = np.concatenate([np.zeros(0), *(test[level][0].confidence for test in tests)])
        right = np.concatenate([np.zeros(0, np.bool_), *(test[level][0].right for test in tests)])
        witness = np.concatenate([np.zeros(0, np.int32), *(test[level][1] for test in tests)])
        found = fit_line(raw, right, Line(*USUAL), _standing(witness, right, crowd.n_annotators))
        lines[level] = Line(gain * found.slope, found.intercept + shift)
    return lines


def _standing(witness: I32, right: Bool, n_annotators: int) -> F64:
    """How much each verdict counts: (share its annotator confirms / the best annotator's share)⁴.

    A spammer's silence says nothing about a choice. Shares of annotators with few verdicts are drawn
    to the mean.
    """
    if not len(witness):
        return np.zeros(0)
    said = np.bincount(witness, minlength=n_annotators)
    confirmed = np.bincount(witness, right, minlength=n_annotators)
    share = (confirmed + STRENGTH * right.mean()) / (said + STRENGTH)
    best = share[said > 0].max()
    return np.asarray((share / best if best > 0 else np.ones(n_annotators))[witness] ** 4)


def known_lines(lines: Lines, chosen: Decoded, known: Tags, offsets: I64, scheme: Scheme) -> Lines:
    """Lines fitted to true labels (-1: unknown), with ``lines`` as their prior.

    ``chosen`` must not have used them.
    """
    tests = judge(chosen, known, offsets, scheme)
    return {
        level: fit_line(tests[level].confidence, tests[level].right, line)
        for level, line in lines.items()
    }


class Verdicts(NamedTuple):
    """Choices that can be judged: their confidences, which are right, and a token of each."""

    confidence: F64
    right: Bool
    at: I64


def judge(chosen: Decoded, truth: Tags, offsets: I64, scheme: Scheme) -> dict[str, Verdicts]:
    """Compare choices with tags (-1: unknown) at each level; a sentence needs all its tags."""
    raw = raw_confidence(chosen, offsets, scheme)
    told = truth >= 0
    ours = extract(chosen.tags, offsets, scheme, "conlleval")
    ours = keep_spans(ours, judgeable(ours, truth, offsets))
    theirs = extract(truth, offsets, scheme, "conlleval")
    wrong = np.concatenate([[0], np.cumsum(chosen.tags != truth)])[offsets]
    whole = np.diff(np.concatenate([[0], np.cumsum(told)])[offsets]) == np.diff(offsets)
    whole &= np.diff(offsets) > 0
    begin = offsets[ours.sequence] + ours.start
    return {
        "token": Verdicts(
            raw.token[told].astype(np.float64), (chosen.tags == truth)[told], np.flatnonzero(told)
        ),
        "span": Verdicts(
            raw.span[begin].astype(np.float64), same_spans(ours, theirs, offsets), begin
        ),
        "sentence": Verdicts(
            raw.sentence[whole], (np.diff(wrong) == 0)[whole], offsets[:-1][whole]
        ),
    }


def fit_line(
    confidence: F64,
    right: Bool,
    prior: Line,
    weights: F64 | None = None,
    strength: float = STRENGTH,
) -> Line:
    """Logistic regression on the logit of a confidence, by Newton's method with halved steps.

    A Gaussian prior around ``prior`` counts as much as ``strength`` verdicts; ``weights`` is how much
    each of them counts.
    """
    x = np.stack([logit(confidence), np.ones(len(confidence))], axis=1)
    count = np.ones(len(confidence)) if weights is None else weights
    centre = np.array([prior.slope, prior.intercept])
    w = centre.copy()

    def loss(w: F64) -> float:
        away = count @ np.logaddexp(0.0, np.where(right, -1.0, 1.0) * (x @ w))
        return float(away + 0.5 * strength * ((w - centre) ** 2).sum())

    for _ in range(30):
        p = _sigmoid(x @ w)
        slope = x.T @ (count * (p - right)) + strength * (w - centre)
        bend = (x * (count * p * (1.0 - p))[:, None]).T @ x + strength * np.eye(2)
        step = np.linalg.solve(bend, slope)
        now = loss(w)
        while loss(w - step) > now * (1.0 + 1e-12) and np.abs(step).max() >= 1e-9:
            step *= 0.5
        w = w - step
        if np.abs(step).max() < 1e-9:
            break
    if w[0] < 0.0:  # a confidence that misleads says nothing
        flat = np.full(len(right), 0.5)
        return fit_line(flat, right, Line(0.0, prior.intercept), weights, strength)
    return Line(float(w[0]), float(w[1]))


def logit(confidence: F32 | F64) -> F64:
    """Log odds, between -:data:`SUREST` and :data:`SUREST`."""
    least = 1e-7
    c = np.clip(np.asarray(confidence, np.float64), least, 1.0 - least)
    return np.asarray(np.clip(np.log(c) - np.log1p(-c), -SUREST, SUREST))


def _sigmoid(x: F64) -> F64:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))
