"""A crowd back to documents, for the writers of tools' formats: whole texts, offsets in them, all layers.

Sentences that were cut from documents come together again; others are documents of their own. Where there
is no text, the tokens are joined by blanks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.io.documents import Document, Extents, Mark, Opinion, Role
from seqtruth.io.record_text import whole_record
from seqtruth.io.text_spans import RowSpans, row_spans

Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Scores:
    """How sure a crowd of one is, for formats that can say so.

    Parameters
    ----------
    token : one number per token.
    span : one per token, that of the span it is in; else the least of its tokens counts.
    sentence : one per sentence.
    """

    token: Floats | None = None
    span: Floats | None = None
    sentence: Floats | None = None


class _Group(NamedTuple):
    """A document: its name and its sentences, those of all layers together."""

    name: str
    document: str
    sentences: list[int]


@dataclass
class _Page:
    """A document's text, and where its sentences and tokens are in it."""

    text: str
    #: start in the text, by sentence number
    starts: dict[int, int]
    tokens: Extents
    sentences: Extents
    #: (start, end) in the text of each token, by sentence number
    borders: dict[int, list[tuple[int, int]]] = field(default_factory=dict)


def documents_of(
    crowd: Crowd, scores: Scores | None = None, role: Role | None = None, borders: bool = False
) -> Iterator[Document]:
    """The crowd's documents, in the order of their first sentences.

    Parameters
    ----------
    scores : confidences, which become the scores of marks and opinions.
    role : of all opinions; by default models are models, and all others annotators.
    borders : give tokens and sentences also where the file that they were read from had none.
    """
    corpus, marked = crowd.corpus, row_spans(crowd)
    pieces = Pieces(corpus)
    for group in _groups(corpus):
        page = _page(corpus, group.sentences)
        opinions = tuple(
            _opinion(
                crowd, marked, page, group, (annotator, rows), pieces, scores or Scores(), role
            )
            for annotator, rows in _rows(crowd, group.sentences).items()
        )
        record = corpus.origin.records.get(group.document)
        given = corpus.origin
        spelled = corpus.texts is None or corpus.text_starts is None
        yield Document(
            group.name,
            page.text,
            opinions,
            page.tokens if borders or given.tokens or spelled else None,
            page.sentences if borders or given.sentences else None,
            "",
            None if record is None else whole_record(record, page.text),
        )


def place_of_sentences(corpus: Corpus) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Name of the document that each sentence is put into, and its place there."""
    if corpus.text_starts is None:
        return corpus.base_ids.to_pylist(), np.zeros(corpus.n_sentences, np.int64)
    names = [corpus.documents[number] for number in corpus.sentence_document.tolist()]
    return names, corpus.text_starts


def _groups(corpus: Corpus) -> list[_Group]:
    names, _ = place_of_sentences(corpus)
    found: dict[str, _Group] = {}
    for s, number in enumerate(corpus.sentence_document.tolist()):
        group = found.setdefault(names[s], _Group(names[s], corpus.documents[number], []))
        group.sentences.append(s)
    return list(found.values())


def _page(corpus: Corpus, sentences: Sequence[int]) -> _Page:
    """Texts of sentences at their places; what lies between them and is not known is blank."""
    starts: dict[int, int] = {}
    spelled: dict[int, tuple[str, list[tuple[int, int]]]] = {}
    for s in sentences:
        spelled[s] = _spelled(corpus, s)
        starts[s] = 0 if corpus.text_starts is None else int(corpus.text_starts[s])
    parts: list[str] = []
    length = 0
    places: dict[int, int] = {}
    for s in sorted(sentences, key=starts.__getitem__):
        if starts[s] in places:  # another layer of the same sentence
            continue
        places[starts[s]] = s
        text = spelled[s][0]
        parts += [" " * (starts[s] - length), text]
        length = max(length, starts[s]) + len(text)
    borders = {s: [(a + starts[s], b + starts[s]) for a, b in spelled[s][1]] for s in sentences}
    shown = [places[start] for start in sorted(places)]
    return _Page(
        "".join(parts),
        starts,
        tuple(border for s in shown for border in borders[s]),
        tuple((starts[s], starts[s] + len(spelled[s][0])) for s in shown),
        borders,
    )


def _spelled(corpus: Corpus, s: int) -> tuple[str, list[tuple[int, int]]]:
    """Text of a sentence and its tokens' places in it."""
    a, b = (int(x) for x in corpus.token_offsets[s : s + 2])
    text = None if corpus.texts is None else corpus.texts[s].as_py()
    if text is not None:
        assert corpus.char_starts is not None and corpus.char_ends is not None
        pairs = zip(corpus.char_starts[a:b].tolist(), corpus.char_ends[a:b].tolist(), strict=True)
        return text, list(pairs)
    borders, place = [], 0
    words = corpus.words(s)
    for word in words:
        borders.append((place, place + len(word)))
        place += len(word) + 1
    return " ".join(words), borders


def _rows(crowd: Crowd, sentences: Sequence[int]) -> dict[int, list[int]]:
    """Rows of each annotator in these sentences."""
    found: dict[int, list[int]] = {}
    for s in sentences:
        for row in range(int(crowd.sentence_rows[s]), int(crowd.sentence_rows[s + 1])):
            found.setdefault(int(crowd.row_annotator[row]), []).append(row)
    return dict(sorted(found.items()))


_Key = tuple[str, str, int, int, str]


class Pieces:
    """Marks in several pieces, by document, annotator and hull."""

    def __init__(self, corpus: Corpus) -> None:
        self._found: dict[_Key, list[Extents]] = {}
        self._names = {one.annotator for one in corpus.origin.discontinuous}
        for one in corpus.origin.discontinuous:
            key = (one.document, one.annotator, one.start, one.end, one.label)
            self._found.setdefault(key, []).append(one.pieces)

    def of(self, document: str, annotator: str, own: bool) -> _Turns:
        """Those of an annotator; what most have, for a labelling that is nobody's ``own``."""
        return _Turns(self._found, document, annotator if own or annotator in self._names else "")


@dataclass
class _Turns:
    """Pieces for one hull after the other; a second mark with the same hull gets the second ones."""

    found: dict[_Key, list[Extents]]
    document: str
    annotator: str
    used: dict[_Key, int] = field(default_factory=dict)

    def take(self, start: int, end: int, label: str) -> Extents:
        key = (self.document, self.annotator, start, end, label)
        if key not in self.found:
            return ()
        turn = self.used[key] = self.used.get(key, 0) + 1
        return self.found[key][turn - 1] if turn <= len(self.found[key]) else ()


def _opinion(
    crowd: Crowd,
    marked: RowSpans,
    page: _Page,
    group: _Group,
    whose: tuple[int, list[int]],
    pieces: Pieces,
    scores: Scores,
    role: Role | None,
) -> Opinion:
    annotator, rows = whose
    name = crowd.annotators[annotator]
    turns = pieces.of(group.document, name, own=role is None)
    marks = []
    for row in rows:
        s = int(crowd.row_sentence[row])
        first = int(crowd.corpus.token_offsets[s])
        for start, end, label in marked.of(crowd, row):
            a, b = page.borders[s][start][0], page.borders[s][end - 1][1]
            sure = _span_score(scores, first + start, first + end)
            marks.append(Mark(a, b, label, turns.take(a, b, label), sure))
    marks.sort(key=lambda mark: (mark.start, -mark.end, mark.label, mark.pieces))
    model = name in crowd.corpus.origin.models
    return Opinion(
        name,
        tuple(marks),
        role or ("model" if model else "annotator"),
        _seen(crowd, page, group.sentences, rows),
        _opinion_score(crowd, scores, rows),
    )


def _span_score(scores: Scores, first: int, last: int) -> float | None:
    column = scores.token if scores.span is None else scores.span
    return None if column is None else round(float(np.min(column[first:last])), 6)


def _opinion_score(crowd: Crowd, scores: Scores, rows: list[int]) -> float | None:
    """The least sure sentence's."""
    if scores.sentence is None or not rows:
        return None
    return round(float(np.min(scores.sentence[crowd.row_sentence[rows]])), 6)


def _seen(crowd: Crowd, page: _Page, sentences: Sequence[int], rows: list[int]) -> Extents | None:
    """The stretches with tags; None where that is all of the text."""
    layer = crowd.corpus.sentence_layer
    base = min(int(layer[s]) for s in sentences)
    here = {int(crowd.row_sentence[row]): row for row in rows}
    stretches: list[tuple[int, int]] = []
    everything = True
    for s in sorted((s for s in sentences if layer[s] == base), key=page.starts.__getitem__):
        if s not in here:
            everything = False
            continue
        row = here[s]
        tags = crowd.tags[crowd.row_offsets[row] : crowd.row_offsets[row + 1]]
        everything &= bool((tags >= 0).all())
        stretches += _tagged(page.borders[s], tags >= 0)
    return None if everything else tuple(stretches)


def _tagged(borders: list[tuple[int, int]], seen: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Runs of tokens with tags."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], seen.astype(np.int8), [0]])))
    return [(borders[a][0], borders[b - 1][1]) for a, b in edges.reshape(-1, 2).tolist()]
