"""Argilla 2, and Argilla 1 (Rubrix): records with span questions, users' responses and suggestions.

The shapes are those of :mod:`~seqtruth.io.formats.argilla_records`. A span is ``{"start": 0, "end": 4,
"label": "PER"}``; in Argilla 1 also ``["PER", 0, 4]``, with a score fourth.

- Users are known by UUID; ``users=`` names a JSON file ``{"<uuid>": "ann"}``.
- ``submitted`` (and ``validated``) responses are opinions, also empty ones, and so are responses without
  status, which ``to_json`` loses. ``draft`` and ``discarded`` ones are "never saw it", with a note.
- ``suggestions`` and predictions are models, named by their agent; scores are one for each span, or one.
- With several span questions or text fields, ``question=`` and ``field=`` choose.

Written is what ``rg.Dataset.from_disk`` and ``JsonIO`` read: annotators and gold as submitted responses,
a model as the suggestion (a question has one). Left out and noted: answers to other questions, records
without text. Records of Argilla 1 are only read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Extents, Notes, Opinion
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.argilla_records import SIGNS, Answer, Record, records_of
from seqtruth.io.formats.argilla_writing import WRITE_OPTIONS, check_options, write
from seqtruth.io.formats.arrow_rows import parquet_rows
from seqtruth.io.formats.checked_values import mark_of, name_of, number_of, shown, whole_of
from seqtruth.io.formats.offsets import Converter, utf16_to_points
from seqtruth.io.formats.plain_marks import UniqueIds
from seqtruth.io.json_records import JsonRecord, json_records
from seqtruth.io.tree import Tree

READ_OPTIONS = {
    "question": "the span question, where there are several",
    "field": "the field that holds the text, where there are several",
    "users": 'a JSON file {"<uuid>": "name"}',
    "offsets": "'points' (default) or 'utf16'",
}
_NOT_SEEN = ("draft", "discarded", "pending", "edited")


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    check_options(options, READ_OPTIONS)
    if options.get("offsets") not in (None, "points", "utf16"):
        raise ParameterError("offsets must be 'points' or 'utf16'", got=repr(options["offsets"]))
    reader = _Reader(notes, options, path)
    ids = UniqueIds(notes)
    for place, record in enumerate((one for found in _rows(path) for one in records_of(found)), 1):
        document = reader.document(record, place)
        if document is not None:
            yield replace(document, id=ids.take(document.id, document.where))
    if not reader.texts or (reader.others and not reader.answers):
        lack = "span question" if reader.texts else "text"
        raise InputError(
            f"the Argilla file holds no {lack}", where=str(path), got="; ".join(notes.lines())[:300],
            fix="name them with question= and field=, if they are there",
        )  # fmt: skip


def _parquet_files(path: Path) -> list[Path]:
    """The file, or those of a folder as the Hugging Face hub has it, where they are Parquet."""
    if path.is_dir():
        return [path / name for name in Tree(path) if name.endswith(".parquet")]
    with open(path, "rb") as file:
        return [path] if file.read(4) == b"PAR1" else []


def _rows(path: Path) -> Iterator[JsonRecord]:
    packed = _parquet_files(path)
    if not packed:
        yield from json_records(path)
    for file in packed:
        yield from (JsonRecord(*row) for row in parquet_rows(file).rows)


def _texts(record: Record) -> dict[str, str]:
    """The fields that are texts."""
    own = ("id", "_server_id", "status", "external_id", "metadata", "updated_at", "inserted_at")
    return {
        name: value for name, value in record.fields.items()
        if isinstance(value, str) and name not in own and ".suggestion" not in name
    }  # fmt: skip


class _Reader:
    """Turns records into documents; remembers which question and which field it found."""

    def __init__(self, notes: Notes, options: dict[str, object], path: Path) -> None:
        self.notes = notes
        self.chosen = None if options.get("question") is None else str(options["question"])
        self.question: str | None = self.chosen
        self.field = None if options.get("field") is None else str(options["field"])
        self.utf16 = options.get("offsets") == "utf16"
        self.nobody = path.name.partition(".")[0]
        self.users = _users(options.get("users"))
        self.texts = self.answers = self.others = 0

    def document(self, record: Record, place: int) -> Document | None:
        text = self._text(record)
        if text is None:
            self.notes.left_out("record without text", record.where)
            return None
        self.texts += 1
        tokens = _extents(record.tokens, text)
        if record.tokens is not None and tokens is None:
            self.notes.left_out("list of tokens that do not fit the text", record.where)
        convert = utf16_to_points(text) if self.utf16 else None
        opinions = []
        for answer in record.answers:
            opinion = self._opinion(answer, text, convert, record)
            if opinion is not None:
                opinions.append(opinion)
        source = {"argilla": {"question": self.question or "", **self._fields(record)}}
        return Document(
            record.id or str(place),
            text,
            tuple(opinions),
            tokens,
            where=record.where,
            source=source,
        )

    def _fields(self, record: Record) -> dict[str, Any]:
        """The name of the text's field, and the others with their texts, for writing them back."""
        texts = _texts(record)
        field = self.field or ("text" if "text" in texts else next(iter(texts), "text"))
        return {"field": field, "others": {k: v for k, v in texts.items() if k != field}}

    def _text(self, record: Record) -> str | None:
        fields = record.fields
        if self.field is not None and isinstance(fields.get(self.field), str):
            return str(fields[self.field])
        texts = list(_texts(record))
        if self.field is not None or not texts:
            return None
        if len(texts) > 1 and "text" not in texts:
            raise InputError(
                "the record has several text fields", where=record.where,
                got=", ".join(map(repr, texts[:10])), fix="choose one with field=",
            )  # fmt: skip
        return str(fields["text" if "text" in texts else texts[0]])

    def _opinion(
        self, answer: Answer, text: str, convert: Converter | None, record: Record
    ) -> Opinion | None:
        where = record.where
        if answer.status in _NOT_SEEN:
            self.notes.left_out(f"{answer.status} response", where)
            return None
        spans = _spans(answer.value)
        if spans is None or not self._is_asked(answer.question, spans, where):
            self.notes.left_out("answer to another question", where)
            self.others += 1
            return None
        self.answers += 1
        scores = answer.score if isinstance(answer.score, list) else []
        marks = []
        for place, (start, end, label, score) in enumerate(spans):
            if convert is not None:
                start, end = (_converted(border, convert) for border in (start, end))
            mark = mark_of(text, start, end, label, self.notes, where)
            if mark is not None:
                score = scores[place] if len(scores) == len(spans) else score
                marks.append(mark._replace(score=number_of(score)))
        default = "model" if answer.role == "model" else self.nobody
        name = answer.annotator or default
        return Opinion(
            self.users.get(name, name), tuple(marks), answer.role,
            score=number_of(answer.score), time=record.time,
        )  # fmt: skip

    def _is_asked(self, question: str, spans: list[Any], where: str) -> bool:
        if not question and self.question is not None:  # the server's suggestions have numbers only
            return True
        if self.chosen is not None or self.question == question:
            return self.question == question
        if not spans:  # an empty list may be the answer to any question
            return self.question is None
        if self.question:
            raise InputError(
                "the file has several span questions", where=where,
                got=f"{self.question!r}, {question!r}", fix="choose one with question=",
            )  # fmt: skip
        self.question = question
        return True


def _converted(border: object, convert: Converter) -> int:
    place = whole_of(border)
    point = None if place is None else convert(place)
    return -1 if point is None else point


def _spans(value: Any) -> list[tuple[Any, Any, Any, Any]] | None:
    """Spans in any of Argilla's shapes; None where the value is an answer of another kind."""
    if isinstance(value, dict) and isinstance(value.get("start"), list):
        columns = [value.get(name) for name in ("start", "end", "label")]
        if all(isinstance(column, list) for column in columns):
            return [(*row, None) for row in zip(*columns, strict=False)]
    if not isinstance(value, list):
        return None
    spans: list[tuple[Any, Any, Any, Any]] = []
    for one in value:
        if isinstance(one, dict) and "start" in one:
            spans.append((one["start"], one.get("end"), one.get("label"), one.get("score")))
        elif isinstance(one, list) and len(one) in (3, 4) and isinstance(one[0], str):
            spans.append((one[1], one[2], one[0], one[3] if len(one) == 4 else None))
        else:
            return None
    return spans


def _extents(tokens: list[Any] | None, text: str) -> Extents | None:
    """Where the tokens, which are words here, stand in the text."""
    found: list[tuple[int, int]] = []
    place = 0
    for token in tokens or ():
        if not isinstance(token, str) or not token:
            return None
        start = text.find(token, place)
        if start < 0 or text[place:start].strip():
            return None
        place = start + len(token)
        found.append((start, place))
    return None if tokens is None else tuple(found)


def _users(path: object) -> dict[str, str]:
    if path is None:
        return {}
    users: dict[str, str] = {}
    for value, where in json_records(Path(str(path))):
        named = isinstance(value, dict) and all(map(name_of, value.values()))
        if not named:
            raise InputError("users must be an object of names", where=where, got=shown(value))
        users |= {key: str(name_of(name)) for key, name in value.items()}
    return users


def tell(glimpse: Glimpse) -> float:
    head = glimpse.head
    if head[:4] == b"PAR1" or glimpse.path.is_dir():
        try:
            columns = [parquet_rows(file).columns for file in _parquet_files(glimpse.path)[:1]]
        except InputError:
            return 0.0
        return 0.97 if any(name.endswith(SIGNS) for names in columns for name in names) else 0.0
    if head.lstrip()[:1] not in (b"[", b"{"):
        return 0.0
    if any(sign.encode() + b'"' in head for sign in SIGNS):
        return 0.97
    answered = b'"responses"' in head or b'"suggestions"' in head
    if b'"fields"' in head and answered:
        return (
            0.95 if b'"_server_id"' in head or b'"user_id"' in head or b'"vectors"' in head else 0.8
        )
    return 0.0


FORMAT = DocumentFormat(
    name="argilla",
    title="Argilla",
    tell=tell,
    read=read,
    write=write,
    read_options=READ_OPTIONS,
    write_options=WRITE_OPTIONS,
    cannot_carry=(
        "the pieces of a discontinuous mark as one mark",
        "which part of a text was seen",
        "borders of tokens and sentences",
        "names of annotators that are no UUID",
        "that an opinion is gold",
        "more than one model",
        "scores of annotators, and scores of some of a model's marks",
        "times",
    ),
    suffixes=(".argilla.json",),
)
