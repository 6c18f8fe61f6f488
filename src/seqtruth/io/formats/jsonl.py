"""JSONL: one sentence a line, with tokens and tags or with text and character spans.

::

    {"id": "s1", "tokens": ["Ann", "ran"], "annotations": {"bob": ["B-PER", "O"], "eve": null}}
    {"id": "s2", "text": "Ann ran", "annotations": {"bob": [{"start": 0, "end": 3, "label": "P"}]}}

``docs/formats.md`` describes every field.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import KINDS
from seqtruth.errors import DataWarning, InputError
from seqtruth.io import json_codec
from seqtruth.io.chunks import text_lines
from seqtruth.io.documents import Document, Extents, Mark, Notes, Opinion
from seqtruth.io.from_documents import CrowdBuilder, Cutting
from seqtruth.io.records import Collector, given_twice
from seqtruth.io.text_spans import TextSpan, tidy_span


def read_jsonl(
    path: Path, scheme: str | None = None, *, split: str = "none", overlap: str = "layers"
) -> Crowd:
    """Read a file of records; both kinds may stand in one file.

    Parameters
    ----------
    split, overlap : what to do with texts and with spans that overlap, where all records have texts; see
        :class:`~seqtruth.io.from_documents.Cutting`.
    """
    try:
        return read_texts(_numbered(path), str(path), Cutting(split, overlap, scheme=scheme))
    except _TokensError:  # found out at the first such record: most files are of one kind
        collector = Collector(str(path))
    for where, line in _numbered(path):
        add_record(collector, parse_record(line, where), where)
    return collector.crowd(scheme)


class _TokensError(Exception):
    """A record has tokens, in a file that was taken for one of texts."""


def _numbered(path: Path) -> Iterator[tuple[str, bytes]]:
    """Lines that are not blank, with their places."""
    name = str(path)
    for number, line in text_lines(path):
        if line and not line.isspace():
            yield f"{name}:{number}", line


_KEY = re.compile(rb'"[ \t\r\n]*:')


def parse_record(line: bytes, where: str) -> dict[str, Any]:
    """The object on one line; a key that stands twice in it is a fault."""
    record = _parsed_fast(line)
    return _parsed_slowly(line, where) if record is None else record


def _parsed_fast(line: bytes) -> dict[str, Any] | None:
    """The object, where no key can stand twice, since there are as many keys as signs of one."""
    try:
        record = json_codec.loads(line)
    except json.JSONDecodeError:
        return None
    if type(record) is not dict or type(record.get("id")) is float:
        return None
    keys, annotations = len(record), record.get("annotations")
    if type(annotations) is dict:
        keys += len(annotations)
        for spans in annotations.values():
            if type(spans) is list:
                keys += sum([len(span) for span in spans if type(span) is dict])
    return record if keys == len(_KEY.findall(line)) else None


def _parsed_slowly(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_no_repeats, parse_constant=_no_constant)
        if b"\\u" in line:  # a lone surrogate is not text
            json.dumps(record, ensure_ascii=False).encode()
    except _RepeatError as error:
        raise InputError(
            f"the key {str(error)!r:.60} stands twice in one object",
            where=where,
            fix="an annotator may label a sentence once; give a second pass a name of its own",
        ) from None
    except UnicodeEncodeError:
        raise InputError(
            "text holds half a surrogate pair", where=where, fix="write characters, not halves"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            "not valid JSON",
            where=where,
            got=str(error)[:80],
            fix="write one JSON object a line",
        ) from None
    if not isinstance(record, dict):
        raise InputError(
            "a line must hold one JSON object",
            where=where,
            got=_kind(record),
            fix="write one JSON object a line",
        )
    return record


class _RepeatError(Exception):
    pass


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise _RepeatError(next(name for name, _ in pairs if counts[name] > 1))
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return names.get(type(value), "null" if value is None else "a number")


def _field(record: dict[str, Any], name: str, kind: type, where: str) -> Any:
    value = record.get(name)
    if not isinstance(value, kind):
        wanted = _kind(kind())
        fix = None
        if name == "annotations" and name not in record:
            fix = 'write "annotations": {} for a sentence that nobody labelled'
        got = _kind(value) if name in record else "nothing"
        raise InputError(f'"{name}" must be {wanted}', where=where, got=got, fix=fix)
    return value


def add_record(collector: Collector, record: dict[str, Any], where: str) -> None:
    """Check a record of either kind and add it."""
    name, document = names_in(record, len(collector.ids), where)
    annotations = _field(record, "annotations", dict, where)
    collector.scheme = scheme_in(record, where) or collector.scheme
    if "tokens" in record:
        tokens = _field(record, "tokens", list, where)
        if not all(isinstance(token, str) and token for token in tokens):
            raise InputError('"tokens" must be strings, none of them empty', where=where)
        text, borders = None, None
        if "offsets" in record:
            text = _field(record, "text", str, where)
            borders = _borders(record, text, len(tokens), where)
        collector.add_tokens(name, document, tokens, annotations, where, text, borders)
    elif "text" in record:
        text = _field(record, "text", str, where)
        marked = {
            annotator: None if spans is None else spans_in(annotator, spans, where)
            for annotator, spans in annotations.items()
        }
        collector.add_text(name, document, text, marked, where)
    else:
        raise _neither(record, where)


def names_in(record: dict[str, Any], number: int, where: str) -> tuple[str, str]:
    """Id (the number, where there is none) and document of a record."""
    name = record.get("id", str(number))
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise InputError('"id" must be a string or a whole number', where=where, got=_kind(name))
    return str(name), _field(record, "doc", str, where) if "doc" in record else ""


def scheme_in(record: dict[str, Any], where: str) -> str | None:
    """The scheme that a record names."""
    kind: str | None = record.get("scheme")
    if "scheme" in record and kind not in KINDS:
        fix = f"known are {', '.join(KINDS)}"
        raise InputError('"scheme" names no scheme', where=where, got=f"{kind!r:.40}", fix=fix)
    return kind


def _neither(record: dict[str, Any], where: str) -> InputError:
    return InputError(
        'a record needs "tokens" or "text"',
        where=where,
        got=", ".join(f'"{key}"' for key in record)[:80] or "no fields",
    )


def read_texts(lines: Iterable[tuple[str, bytes]], name: str, cutting: Cutting) -> Crowd:
    """Records with texts alone: spans may overlap, and texts may be split."""
    notes = Notes()
    builder = CrowdBuilder(name, notes, cutting)
    places: dict[str, str] = {}
    documents: list[str] = []
    offsets: list[int] = []
    kind = cutting.scheme
    for where, line in lines:
        record = parse_record(line, where)
        if "tokens" in record:
            raise _TokensError
        id, document = names_in(record, len(places), where)
        annotations = _field(record, "annotations", dict, where)
        kind = kind or scheme_in(record, where)
        if "text" not in record:
            raise _neither(record, where)
        text = _field(record, "text", str, where)
        if places.setdefault(id, where) != where:
            raise given_twice(id, where, places[id])
        builder.add(_document(builder, id, text, annotations, where))
        documents.append(document)
        offset = record.get("offset")
        offsets.append(offset if type(offset) is int and offset >= 0 and document else -1)
    if not places:
        raise InputError("the file has no sentences", where=name)
    crowd = builder.crowd(scheme=kind)
    if told := builder.overlaps.describe():
        warnings.warn(f"{name}: {told}", DataWarning, stacklevel=4)
    notes.warn(f"reading {name}", stacklevel=4)
    if cutting.split != "none":
        return crowd
    return replace(crowd, corpus=_in_documents(crowd.corpus, documents, offsets))


def _in_documents(corpus: Corpus, names: list[str], offsets: list[int]) -> Corpus:
    """The corpus with documents as the records name them, and places in these where all are told."""
    numbers: dict[str, int] = {}
    column = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)
    layers = len(corpus.layers)
    placed = min(offsets) >= 0
    place = {name: n for n, name in enumerate(corpus.documents)}
    found = [
        one._replace(
            document=names[n] if placed else one.document,
            start=one.start + offsets[n] * placed,
            end=one.end + offsets[n] * placed,
            pieces=tuple((a + offsets[n] * placed, b + offsets[n] * placed) for a, b in one.pieces),
        )
        for one in corpus.origin.discontinuous
        for n in [place[one.document]]
    ]
    return replace(
        corpus,
        documents=tuple(numbers),
        sentence_document=np.repeat(column, layers),
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


def _pieces_in(span: dict[str, Any], text: str, where: str) -> Extents:
    pieces = span.get("pieces") or []
    if not isinstance(pieces, list):
        raise InputError('"pieces" must be [start, end] pairs', where=where, got=_kind(pieces))
    for pair in pieces:
        good = isinstance(pair, list) and len(pair) == 2 and all(type(x) is int for x in pair)
        if not good or not 0 <= pair[0] < pair[1] <= len(text):
            raise InputError(
                '"pieces" must be [start, end] pairs inside the text',
                where=where,
                got=f"{pair!r:.40}",
            )
    return tuple((a, b) for a, b in pieces)


def _borders(record: dict[str, Any], text: str, n_tokens: int, where: str) -> list[tuple[int, int]]:
    pairs = _field(record, "offsets", list, where)
    last = 0
    for pair in pairs:
        good = isinstance(pair, list) and len(pair) == 2 and all(type(x) is int for x in pair)
        if not good or not last <= pair[0] < pair[1] <= len(text):
            raise InputError(
                '"offsets" must be [start, end] pairs inside the text, in order',
                where=where,
                got=f"{pair!r:.40}",
            )
        last = pair[1]
    if len(pairs) != n_tokens:
        raise InputError(
            f'"offsets" must have one pair per token ({n_tokens})', where=where, got=str(len(pairs))
        )
    return [(pair[0], pair[1]) for pair in pairs]


def spans_in(annotator: str, spans: Any, where: str) -> list[TextSpan]:
    if not isinstance(spans, list):
        raise InputError(
            f"annotator {annotator!r} must have a list of spans, or null",
            where=where,
            got=_kind(spans),
        )
    found = []
    for span in spans:
        if not isinstance(span, dict) or not {"start", "end", "label"} <= span.keys():
            raise InputError(
                f'annotator {annotator!r}: a span needs "start", "end" and "label"',
                where=where,
                got=f"{span!r:.60}",
            )
        start, end, label = span["start"], span["end"], span["label"]
        whole = type(start) is int and type(end) is int  # a bool is no offset
        if not whole or not isinstance(label, str) or not label:
            raise InputError(
                f"annotator {annotator!r}: a span's start and end must be whole numbers and its label "
                "a string",
                where=where,
                got=f"{span!r:.60}",
            )
        found.append(TextSpan(start, end, label))
    return found
