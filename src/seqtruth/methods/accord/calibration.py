"""Honest confidences without gold: how often does an annotator who was not heard confirm?

Sources that learnt from the same annotators agree too well, so probabilities come out too sure. Each
annotator is held out in turn and the labels are chosen without them; what they then say is a test that
the choice has not seen. Spans are corrected type by type (:mod:`~seqtruth.methods.accord.confirmation`).
For single tokens and whole sentences, where c is the probability of a choice, the log odds that it is
confirmed are about s · logit c + i, and

    P(right) = σ( gain · s · logit c + i + shift )

Gain and shift (:data:`UNDERSTATED`) are what a held-out annotator understates, from ``nguyen_val`` and
the even PICO documents together; s and i are the crowd's own. A tag in a span is at least as sure as the
span. Where some true labels are known, slopes and intercepts are fitted to them, with those above as
their prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import F32, F64, I64, Bool, Tags
from seqtruth.methods.abstention import Silence
from seqtruth.methods.accord.annotators import Told
from seqtruth.methods.accord.confirmation import (
    STRENGTH,
    Line,
    SpanVerdicts,
    Support,
    known_span_lines,
    logit,
    raised,
    span_lines,
)
from seqtruth.methods.bayes.sequence_model import label_scores
from seqtruth.methods.logistic import fit_logistic
from seqtruth.metrics.span import judgeable, keep_spans, same_spans
from seqtruth.predictors.decoding import Decoded

#: Gain and shift of each level but that of spans.
UNDERSTATED = {"token": (0.8, 1.0), "sentence": (1.2, 0.2)}
#: Where the crowd says little, its slope and intercept stay near these.
USUAL = (0.25, -1.0)
#: Spans of types on which sources are silent are right at least this often where that they are was learnt
#: from the crowd, and where it was assumed (cautious on all sets and simulated crowds but the worst rules).
CAUTIOUS = (0.8, 0.7)
#: Annotators are held out on about so many tokens at most.
MOST_TOKENS = 2_000_000


class Confidence(NamedTuple):
    """Probabilities of being right.

    token : float32[T], of each tag.
    span : float32[T], of the whole span a token is in (0 outside).
    sentence : float64[S], that all is right and nothing missing.
    """

    token: F32
    span: F32
    sentence: F64


class Lines(NamedTuple):
    """How to correct confidences: of tokens, of sentences, and of spans of each type."""

    token: Line
    sentence: Line
    span: tuple[Line, ...]


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
    span, kind = np.zeros(len(tags)), scheme.type_of[tags]
    for number, line in enumerate(lines.span):
        at = np.flatnonzero((kind == number) & (raw.span > 0))
        span[at] = line(raw.span[at])
    token = np.maximum(lines.token(raw.token), span)
    return Confidence(
        token.astype(np.float32), span.astype(np.float32), lines.sentence(raw.sentence)
    )


def finished(
    chosen: Decoded, lines: Lines | None, offsets: I64, scheme: Scheme, known: Tags | None
) -> Confidence:
    """Confidences of a choice: corrected where there are lines, and 1 where labels are known."""
    confidence = raw_confidence(chosen, offsets, scheme)
    if lines is not None:
        confidence = corrected(confidence, lines, chosen.tags, scheme)
    if known is not None:
        given = np.flatnonzero(known >= 0)
        confidence.token[given] = 1.0
        confidence.span[given] = scheme.is_entity[chosen.tags[given]]
        count = np.concatenate([[0], np.cumsum(known >= 0)])[offsets]
        lengths = np.diff(offsets)
        confidence.sentence[(np.diff(count) == lengths) & (lengths > 0)] = 1.0
    return confidence


def with_confidence(posterior: F32, tags: np.ndarray, confidence: F32) -> F32:
    """The posterior with the chosen tags' probabilities set, the others' scaled to what is left."""
    if posterior.shape[1] == 1:
        return np.ones_like(posterior)
    at = np.arange(len(tags))
    others = posterior.astype(np.float64)
    others[at, tags] = 0.0
    rest = others.sum(axis=1)
    others[rest <= 1e-6] = 1.0
    others[at, tags] = 0.0
    out = others * ((1.0 - confidence) / others.sum(axis=1))[:, None]
    out[at, tags] = confidence
    return np.asarray(np.clip(out, 0.0, 1.0), np.float32)


def raised_lines(lines: Lines, chosen: Decoded, silence: Silence, scheme: Scheme) -> Lines:
    """Lines of types on which sources are silent, moved up until spans are right as often as is usual.

    Silent sources know different names, and what one of them knows the others seldom confirm, however
    right it is: their verdicts tell sure spans from unsure ones, but not how many are right.

    Parameters
    ----------
    chosen : the labels whose confidences are to be corrected.
    silence : the types on which sources are silent, and whether that was learnt.
    """
    kind, starts = scheme.type_of[chosen.tags], np.append(True, np.diff(chosen.span) != 0)
    span = list(lines.span)
    for k in np.flatnonzero(silence.open):
        of_kind = chosen.span[(kind == k) & (chosen.span > 0) & starts]
        span[k] = raised(span[k], of_kind, CAUTIOUS[0 if silence.known[k] else 1])
    return lines._replace(span=tuple(span))


def confirmed_lines(
    told: Told, table: F64, share: float, scores: F64, decode: Callable[[F64, I64], Decoded]
) -> Lines:
    """Lines from held-out annotators. Copies are not asked: the others would answer for them.

    Parameters
    ----------
    told, table : annotations and the annotators' log tables.
    share : how much annotators' evidence counts in ``scores``.
    scores : [T, L] of all annotators and sources together.
    decode : labels chosen under given scores and sentence offsets.
    """
    crowd = told.marked.crowd
    alone = np.bincount(told.copies.witness, minlength=crowd.n_annotators)[told.copies.witness] == 1
    asked = alone if alone.any() else told.copies.leaders
    support = Support(crowd, told.copies.leaders)
    tests: dict[str, list[_Test]] = {level: [] for level in UNDERSTATED}
    spans = []
    for rows in _held_out(crowd, asked):
        sentences = crowd.row_sentence[rows].astype(np.int64)
        held = replace(
            crowd,
            row_sentence=crowd.row_sentence[rows],
            row_annotator=crowd.row_annotator[rows],
            tags=crowd.tags[gather(crowd.row_offsets, rows)[1]],
        )
        offsets, at = gather(crowd.corpus.token_offsets, sentences)
        without = scores[at] - share * label_scores(held, table)[at]
        verdicts = judge(decode(without, offsets), held.tags, offsets, crowd.scheme)
        witness = np.repeat(held.row_annotator, np.diff(offsets)).astype(np.int64)
        for level in UNDERSTATED:
            found = verdicts[level]
            tests[level].append(_Test(found.confidence, found.right, witness[found.at]))
        found = verdicts["span"]
        who = witness[found.at]
        others = support.of(at[found.at], found.length, found.kind)
        others = others - (found.right & told.copies.leaders[who])
        said = SpanVerdicts(found.confidence, found.right, found.kind, who, others)
        # who never speaks of a type has no opinion on it
        spans.append(said.where(told.totals.claims[who, found.kind] > 0))
    return Lines(
        _pooled_line("token", tests["token"], crowd.n_annotators),
        _pooled_line("sentence", tests["sentence"], crowd.n_annotators),
        span_lines(_joined_spans(spans), crowd.n_annotators, len(crowd.scheme.types)),
    )


class _Test(NamedTuple):
    """Confidences, whether they were confirmed, and by whom."""

    confidence: F64
    right: Bool
    annotator: I64


def _held_out(crowd: Crowd, asked: Bool) -> Iterator[I64]:
    """Rows to hold out, one of a sentence at a time; of a large crowd a part."""
    n_rows = np.diff(crowd.sentence_rows)
    in_company = asked[crowd.row_annotator] & (n_rows[crowd.row_sentence] > 1)
    tokens = int(np.diff(crowd.row_offsets)[in_company].sum())
    step = max(1, -(-tokens // MOST_TOKENS))
    for k in range(int(n_rows.max(initial=0))):
        sentences = np.flatnonzero(n_rows > max(k, 1))
        rows = crowd.sentence_rows[sentences[(sentences + k) % step == 0]] + k
        rows = rows[in_company[rows]]
        if len(rows):
            yield rows


def _pooled_line(level: str, tests: list[_Test], n_annotators: int) -> Line:
    raw = np.concatenate([np.zeros(0), *(test.confidence for test in tests)])
    right = np.concatenate([np.zeros(0, np.bool_), *(test.right for test in tests)])
    annotator = np.concatenate([np.zeros(0, np.int64), *(test.annotator for test in tests)])
    found = fit_line(raw, right, Line(*USUAL), _standing(annotator, right, n_annotators))
    gain, shift = UNDERSTATED[level]
    return Line(gain * found.slope, found.intercept + shift)


def _joined_spans(parts: list[SpanVerdicts]) -> SpanVerdicts:
    nothing = np.zeros(0, np.int64)
    empty = SpanVerdicts(np.zeros(0), np.zeros(0, np.bool_), nothing, nothing, nothing)
    return SpanVerdicts(*(np.concatenate(column) for column in zip(empty, *parts, strict=True)))


def _standing(witness: I64, right: Bool, n_annotators: int) -> F64:
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
    token, sentence, span = tests["token"], tests["sentence"], tests["span"]
    return Lines(
        fit_line(token.confidence, token.right, lines.token),
        fit_line(sentence.confidence, sentence.right, lines.sentence),
        known_span_lines(lines.span, span.confidence, span.right, span.kind),
    )


class Verdicts(NamedTuple):
    """Choices that can be judged: their confidences, which are right, and the first token of each.

    length, kind : number of tokens and type of spans; of nothing else.
    """

    confidence: F64
    right: Bool
    at: I64
    length: I64 = np.zeros(0, np.int64)
    kind: I64 = np.zeros(0, np.int64)


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
            raw.span[begin].astype(np.float64),
            same_spans(ours, theirs, offsets),
            begin,
            (ours.end - ours.start).astype(np.int64),
            ours.type.astype(np.int64),
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
    """Logistic regression on the logit of a confidence.

    A Gaussian prior around ``prior`` counts as much as ``strength`` verdicts; ``weights`` is how much
    each of them counts.
    """
    x = np.stack([logit(confidence), np.ones(len(confidence))], axis=1)
    centre = np.array([prior.slope, prior.intercept])
    w = fit_logistic(x, right, np.full(2, strength), centre, weights)
    if w[0] < 0.0:  # a confidence that misleads says nothing
        flat = np.full(len(right), 0.5)
        return fit_line(flat, right, Line(0.0, prior.intercept), weights, strength)
    return Line(float(w[0]), float(w[1]))
