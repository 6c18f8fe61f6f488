"""The sentences to look at first: their tokens, spans, and who said what."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import F64, Tags
from seqtruth.report.content import clip, colour
from seqtruth.result import Result

MAX_SENTENCES, MAX_TOKENS, MAX_READINGS, MAX_NAMES, MAX_CHANGES = 25, 80, 12, 12, 12
MAX_WORD = 60
#: A token less probable than this is underlined.
WEAK = 0.6


class Piece(NamedTuple):
    """Some tokens of a sentence; outside spans ``label`` is empty and ``confidence`` nan.

    ``words`` are tokens, whether each is weak, and the blanks after it as they are written.
    """

    words: tuple[tuple[str, bool, str], ...]
    label: str
    colour: int
    confidence: float


class Change(NamedTuple):
    """One span that a reading has and the result has not (``added``), or the other way round."""

    added: bool
    label: str
    colour: int
    text: str


class Reading(NamedTuple):
    """Annotators who departed from the result in the same way."""

    names: str
    changes: tuple[Change, ...]
    more: int


class Item(NamedTuple):
    """A sentence to look at."""

    name: str
    document: str
    confidence: float
    pieces: tuple[Piece, ...]
    before: int
    after: int
    agree: str
    readings: tuple[Reading, ...]
    more_readings: int


_Span = tuple[int, int, str]


def items(result: Result, crowd: Crowd | None, limit: int = MAX_SENTENCES) -> list[Item]:
    """The least confident labelled sentences, worst first."""
    worth = result.labelled & (np.diff(result.corpus.token_offsets) > 0)
    places = np.flatnonzero(worth)
    order = places[np.argsort(result.sentence_confidence[places], kind="stable")][:limit]
    found = extract(result.tags, result.corpus.token_offsets, result.scheme)
    at = np.searchsorted(found.sequence, np.arange(result.corpus.n_sentences + 1))
    sure = result.span_confidence()
    return [_item(result, crowd, int(s), sure[at[s] : at[s + 1]]) for s in order]


def _item(result: Result, crowd: Crowd | None, s: int, span_confidence: F64) -> Item:
    corpus = result.corpus
    a, b = (int(v) for v in corpus.token_offsets[s : s + 2])
    words = [(clip(word, MAX_WORD), blank) for word, blank in _words(result, s)]
    confidence = result.token_confidence[a:b]
    ours = _spans(result.tags[a:b], result.scheme)
    first, last = _window(confidence)
    assert corpus.sentence_document is not None
    agree: list[str] = []
    by_change: dict[tuple[Change, ...], list[str]] = {}
    if crowd is not None:
        for row in range(*(int(v) for v in crowd.sentence_rows[s : s + 2])):
            tags = crowd.tags[crowd.row_offsets[row] : crowd.row_offsets[row + 1]]
            name = clip(crowd.annotators[crowd.row_annotator[row]], MAX_WORD)
            changes = _changes(ours, _spans(tags, crowd.scheme), words, result.scheme)
            if changes:
                by_change.setdefault(changes, []).append(name)
            else:
                agree.append(name)
    readings = sorted(by_change.items(), key=lambda entry: -len(entry[1]))
    return Item(
        clip(corpus.sentence_ids[s].as_py(), MAX_WORD),
        clip(corpus.documents[int(corpus.sentence_document[s])], MAX_WORD),
        float(result.sentence_confidence[s]),
        _pieces(ours, span_confidence, words, confidence, first, last, result.scheme),
        first,
        b - a - last,
        _names(agree),
        tuple(
            Reading(_names(names), changes[:MAX_CHANGES], max(0, len(changes) - MAX_CHANGES))
            for changes, names in readings[:MAX_READINGS]
        ),
        max(0, len(readings) - MAX_READINGS),
    )


_Words = list[tuple[str, str]]


def _words(result: Result, s: int) -> _Words:
    """The tokens, or their numbers where the source had none, with the blanks after them."""
    if result.corpus.tokens is None:
        return [(str(i + 1), " ") for i in range(len(result.corpus.words(s)))]
    pairs = zip(result.corpus.words(s), result.corpus.glued(s), strict=True)
    return [(word, " " if glued[len(word) :] else "") for word, glued in pairs]


def _spans(tags: Tags, scheme: Scheme) -> list[_Span]:
    found = extract(tags, np.array([0, len(tags)], np.int64), scheme)
    return [
        (a, b, scheme.types[kind])
        for a, b, kind in zip(
            found.start.tolist(), found.end.tolist(), found.type.tolist(), strict=True
        )
    ]


def _window(confidence: np.ndarray) -> tuple[int, int]:
    """The tokens to show: all, or in a long sentence those around the weakest."""
    if len(confidence) <= MAX_TOKENS:
        return 0, len(confidence)
    first = int(np.clip(np.argmin(confidence) - MAX_TOKENS // 2, 0, len(confidence) - MAX_TOKENS))
    return first, first + MAX_TOKENS


def _pieces(
    spans: list[_Span], sure: F64, words: _Words, confidence: np.ndarray, first: int, last: int,
    scheme: Scheme,
) -> tuple[Piece, ...]:  # fmt: skip
    """The sentence from ``first`` to ``last``, cut at the spans' borders."""
    marked = {
        a: (b, label, value) for (a, b, label), value in zip(spans, sure.tolist(), strict=True)
    }
    covered = {i for a, b, _ in spans for i in range(a, b)}
    out, i = [], 0
    while i < last:
        start = i
        end, label, value = marked.get(i, (i + 1, "", math.nan))
        if not label:
            while end < last and end not in covered:
                end += 1
        i = end
        inside = range(max(start, first), min(end, last))
        if len(inside):
            shown = tuple((words[k][0], bool(confidence[k] < WEAK), words[k][1]) for k in inside)
            out.append(Piece(shown, label, colour(scheme.types, label), value))
    return tuple(out)


def _changes(
    ours: list[_Span], theirs: list[_Span], words: _Words, scheme: Scheme
) -> tuple[Change, ...]:
    """What to take away from our spans, and to add, to get theirs: place by place, ours first."""
    here = set(theirs)
    differ, reach, place = [], 0, 0
    for span in sorted(set(ours) ^ here):
        place += span[0] >= reach
        reach = max(reach, span[1])
        differ.append((place, span in here, span))
    return tuple(
        Change(added, label, colour(scheme.types, label), clip(_joined(words[a:b]), MAX_WORD))
        for _, added, (a, b, label) in sorted(differ)
    )


def _joined(words: _Words) -> str:
    return "".join(word + blank for word, blank in words).rstrip()


def _names(names: list[str]) -> str:
    text = ", ".join(names[:MAX_NAMES])
    return text if len(names) <= MAX_NAMES else f"{text} and {len(names) - MAX_NAMES:,} more"
