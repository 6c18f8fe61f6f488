"""JSON lines with texts and character spans."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataWarning, InputError
from seqtruth.io.documents import Document, Extents, Mark, Notes, Opinion
from seqtruth.io.formats.jsonl_records import (
    field_in,
    kind_of,
    names_in,
    neither,
    parse_record,
    scheme_in,
    spans_in,
)
from seqtruth.io.from_documents import CrowdBuilder, Cutting
from seqtruth.io.json_blocks import Line, MarkRecords, strings_of
from seqtruth.io.longtable.codes import in_order_of_appearance
from seqtruth.io.marked_texts import MarkedTexts
from seqtruth.io.records import given_twice
from seqtruth.io.text_batch import batch_of_bytes
from seqtruth.io.text_spans import tidy_span
from seqtruth.kernels.arrays import I32, I64

#: Fewer texts than these are not worth an array pass.
_FEW = 32


class TokensError(Exception):
    """A record has tokens, in a file that was taken for one of texts."""


class TextReader:
    """Records with texts alone, one by one or in columns: spans may overlap, and texts may be split."""

    def __init__(self, name: str, cutting: Cutting) -> None:
        self.name, self.scheme = name, cutting.scheme
        self.builder = CrowdBuilder(name, Notes(), cutting)
        self.names: dict[str, int] = {}  # of documents
        self.documents: list[int] = []
        self.offsets: list[int] = []
        self.lines: list[int] = []

    def add(self, line: Line) -> None:
        """Take one record."""
        where = f"{self.name}:{line.number}"
        record = parse_record(line.data, where)
        if "tokens" in record:
            raise TokensError
        id, document = names_in(record, len(self.lines), where)
        annotations = field_in(record, "annotations", dict, where)
        self.scheme = self.scheme or scheme_in(record, where)
        if "text" not in record:
            raise neither(record, where)
        text = field_in(record, "text", str, where)
        self._enter([id], [line.number])
        self.builder.add(_document(self.builder, id, text, annotations, where))
        self.documents.append(self._number(document))
        offset = record.get("offset")
        self.offsets.append(offset if type(offset) is int and offset >= 0 and document else -1)

    def add_records(self, records: MarkRecords) -> None:
        """Take records in columns; those whose marks are not plain go one by one."""
        common = records.common
        names = [*common.names, ""]
        for number in np.flatnonzero(common.schemes >= 0).tolist():
            where = f"{self.name}:{common.lines[number]}"
            self.scheme = self.scheme or scheme_in({"scheme": names[common.schemes[number]]}, where)
        annotator = _numbered(common.rows[:, 1], names, self.builder.announce)
        node = _numbered(records.spans[:, 3], names, self.builder.overlaps.node)
        seen = common.rows[:, 0] >= 0
        opinions = np.stack([common.rows[seen, 0], annotator[common.rows[seen, 1]]], axis=1)
        spans = records.spans.astype(np.int64)
        spans[:, 0] = (np.cumsum(seen) - 1)[spans[:, 0]]
        spans[:, 3] = node[spans[:, 3]]
        batch = batch_of_bytes(records.data, records.lengths)
        texts = MarkedTexts(strings_of(common.ids), batch, opinions, spans)
        lines = common.lines.tolist()
        self._check_once(texts.ids, lines)
        for first, last, plain in _runs(texts.plain_ones()):
            self._enter(texts.ids[first:last], lines[first:last])
            if plain:
                self.builder.add_plain(texts.part(first, last))
                continue
            for number in range(first, last):
                self.builder.add(self._document(texts, records, number))
        own = common.documents % len(names)  # without a name the last, which is none
        self.documents += _numbered(own, names, self._number)[own].tolist()
        named = np.fromiter(map(bool, names), np.bool_, len(names))
        self.offsets += np.where(named[own], records.offset, -1).tolist()

    def _document(self, texts: MarkedTexts, records: MarkRecords, number: int) -> Document:
        """One record of columns as if it were read by itself."""
        names, rows = records.common.names, records.common.rows
        annotations: dict[str, Any] = {}
        for row in np.flatnonzero(rows[:, 0] == number).tolist():
            a, b = np.searchsorted(records.spans[:, 0], (row, row + 1))
            annotations[names[rows[row, 1]]] = [
                {"start": start, "end": end, "label": names[label]}
                for _, start, end, label in records.spans[a:b].tolist()
            ]
        where = f"{self.name}:{records.common.lines[number]}"
        text = texts.batch.text_of(number)
        return _document(self.builder, texts.ids[number], text, annotations, where)

    def _check_once(self, ids: Sequence[str], lines: Sequence[int]) -> None:
        """Raise where an id stands twice among these."""
        if len(set(ids)) == len(ids):
            return
        first: dict[str, int] = {}
        for id, line in zip(ids, lines, strict=True):
            if id in first:
                raise given_twice(id, f"{self.name}:{line}", f"{self.name}:{first[id]}")
            first[id] = line

    def _number(self, document: str) -> int:
        return self.names.setdefault(document, len(self.names))

    def _enter(self, ids: Sequence[str], lines: Sequence[int]) -> None:
        """Note the lines of records; raises where an id was there before."""
        if found := self.builder.first_known(ids):
            here, first = found
            where, before = f"{self.name}:{lines[here]}", f"{self.name}:{self.lines[first]}"
            raise given_twice(ids[here], where, before)
        self.lines += lines

    def crowd(self, cutting: Cutting) -> Crowd:
        """All records."""
        builder = self.builder
        if not self.lines:
            raise InputError("the file has no sentences", where=self.name)
        crowd = builder.crowd(scheme=self.scheme)
        if told := builder.overlaps.describe():
            warnings.warn(f"{self.name}: {told}", DataWarning, stacklevel=4)
        builder.notes.warn(f"reading {self.name}", stacklevel=4)
        if cutting.split != "none":
            return crowd
        names = tuple(self.names)
        return replace(
            crowd, corpus=_in_documents(crowd.corpus, names, self.documents, self.offsets)
        )


def _runs(plain: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int, bool]]:
    """Texts in a row (first, last and one), and whether they are plain; a few plain ones count as others."""
    borders = [0, *(np.flatnonzero(np.diff(plain)) + 1).tolist(), len(plain)]
    start = 0
    for first, last in pairwise(borders):
        if plain[first] and (last - first >= _FEW or last - first == len(plain)):
            if start < first:
                yield start, first, False
            yield first, last, True
            start = last
    if start < len(plain):
        yield start, len(plain), False


def _numbered(codes: I32, names: Sequence[str], number_of: Callable[[str], int]) -> I64:
    """By code, the number of its name; they are asked for in the order in which the codes come."""
    numbers = np.zeros(len(names), np.int64)
    for code in in_order_of_appearance(codes, len(names)).tolist():
        numbers[code] = number_of(names[code])
    return numbers


def _in_documents(
    corpus: Corpus, names: tuple[str, ...], documents: list[int], offsets: list[int]
) -> Corpus:
    """The corpus with documents as the records name them, and places in these where all are told."""
    layers = len(corpus.layers)
    placed = min(offsets) >= 0
    place = {
        name: n for n, name in enumerate(corpus.documents if corpus.origin.discontinuous else ())
    }
    found = [
        one._replace(
            document=names[documents[n]] if placed else one.document,
            start=one.start + offsets[n] * placed,
            end=one.end + offsets[n] * placed,
            pieces=tuple((a + offsets[n] * placed, b + offsets[n] * placed) for a, b in one.pieces),
        )
        for one in corpus.origin.discontinuous
        for n in [place[one.document]]
    ]
    return replace(
        corpus,
        documents=names,
        sentence_document=np.repeat(np.array(documents, np.int32), layers),
        text_starts=np.repeat(np.array(offsets, np.int64), layers) if placed else None,
        origin=replace(corpus.origin, discontinuous=tuple(found)),
    )


def _document(
    builder: CrowdBuilder, id: str, text: str, annotations: dict[str, Any], where: str
) -> Document:
    opinions = []
    for annotator, spans in annotations.items():
        if not annotator:
            raise InputError("an annotator's name is empty", where=where)
        builder.announce(annotator)
        if spans is None:
            continue
        marks = _plain_marks(text, spans)
        if marks is None:
            who = f"annotator {annotator!r}"
            marks = [
                Mark(*tidy_span(span, text, who, where), _pieces_in(given, text, where))
                for span, given in zip(spans_in(annotator, spans, where), spans, strict=True)
            ]
        opinions.append(Opinion(annotator, tuple(marks)))
    return Document(id, text, tuple(opinions), where=where)


#: Makes a mark without looking at the fields' names, of which there are millions.
_made = tuple.__new__


def _plain_marks(text: str, spans: Any) -> list[Mark] | None:
    """Spans that are as most are; None where one has to look closer."""
    marks, length = [], len(text)
    try:
        for span in spans:
            start, end, label = span["start"], span["end"], span["label"]
            plain = type(start) is int and type(end) is int and type(label) is str and label
            if not plain or not 0 <= start < end <= length or (len(span) > 3 and "pieces" in span):
                return None
            if text[start].isspace():
                return None
            marks.append(_made(Mark, (start, end, label, (), None)))
    except (TypeError, KeyError, IndexError):
        return None
    return marks if type(spans) is list else None


def _pieces_in(span: Any, text: str, where: str) -> Extents:
    pieces = span.get("pieces") or [] if isinstance(span, dict) else []
    if not isinstance(pieces, list):
        raise InputError('"pieces" must be [start, end] pairs', where=where, got=kind_of(pieces))
    for pair in pieces:
        good = isinstance(pair, list) and len(pair) == 2 and all(type(x) is int for x in pair)
        if not good or not 0 <= pair[0] < pair[1] <= len(text):
            raise InputError(
                '"pieces" must be [start, end] pairs inside the text',
                where=where,
                got=f"{pair!r:.40}",
            )
    return tuple((a, b) for a, b in pieces)
