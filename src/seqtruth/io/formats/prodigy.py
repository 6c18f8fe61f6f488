"""Prodigy: annotations as ``db-out`` writes them, one JSON object a line.

::

    {"text": "Jane saw Bob", "tokens": [{"text": "Jane", "start": 0, "end": 4, "id": 0, "ws": true}],
     "spans": [{"start": 0, "end": 4, "token_start": 0, "token_end": 0, "label": "PER"}],
     "_input_hash": 17, "_task_hash": 4, "_annotator_id": "news-ann", "answer": "accept"}

- Lines with the same ``_input_hash`` are one document (lines without one: the same text). The file is
  gone through twice, so that a document leaves memory with its last line.
- The annotator is ``_annotator_id`` or ``_session_id``, else ``annotator=``, else the name of the file.
  Two lines by one annotator: both come, the later (``_timestamp``) last.
- ``answer``: ``accept`` is an opinion, also without ``spans``; ``ignore`` is "never saw it", and so is
  ``reject`` of a text marked by hand. Accepted questions about one span each (``_is_binary``) are one
  opinion on those stretches alone; a rejected one says only what is not there, and is left out.
- ``tokens`` are the document's tokens. ``token_end`` is the last token of the span, ``end`` the place
  after its last character; spans with tokens only are understood.
- ``versions`` of the review recipe are opinions of their ``sessions``, and the record's own accepted
  spans are gold, named after the reviewer.

Left out and noted: relations, choices and labels of whole texts, spans without label (of patterns) or of
pictures, rejected and ignored answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Extents, Mark, Notes, Opinion, Role
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.checked_values import list_at, mark_of, name_of, number_of, shown, whole_of
from seqtruth.io.formats.gathered import Gathered
from seqtruth.io.formats.plain_marks import UniqueIds
from seqtruth.io.formats.prodigy_writing import ROLE, WRITE_OPTIONS, write
from seqtruth.io.json_records import json_records

READ_OPTIONS = {"annotator": "the name of an annotator whom the lines do not name"}
_ROLES: dict[object, Role] = {"model": "model", "gold": "gold"}
#: Views whose answers are about a single span.
_BINARY = ("ner", "spans")


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    for name in options:
        if name not in READ_OPTIONS:
            raise ParameterError(f"Prodigy files have no option {name!r}", fix="annotator")
    nobody = str(options.get("annotator") or path.name.partition(".")[0])
    last = {_key(value): place for place, (value, _) in enumerate(json_records(path))}
    reader = _Lines(notes, nobody)
    ids = UniqueIds(notes)
    texts = 0
    for place, (value, where) in enumerate(json_records(path)):
        key = _key(value)
        reader.add(key, value, where)
        if last.get(key) == place and key in reader.gathered:
            document = reader.done(key)
            texts += 1
            yield replace(document, id=ids.take(document.id, where))
    if not texts or (reader.choices and not reader.marked):
        lack = "spans of text" if texts else "text"
        raise InputError(
            f"the Prodigy file holds no {lack}", where=str(path), got="; ".join(notes.lines())[:300],
            fix="SeqTruth needs the output of a recipe for spans, such as ner.manual",
        )  # fmt: skip


def _key(value: object) -> int | bytes:
    """What the lines of one document share."""
    if not isinstance(value, dict):
        return b""
    number = value.get("_input_hash")
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    text = value.get("text")
    return blake2b(text.encode(), digest_size=16).digest() if isinstance(text, str) else b""


class _Lines:
    """Lines of documents whose last line has not come."""

    def __init__(self, notes: Notes, nobody: str) -> None:
        self.notes, self.nobody = notes, nobody
        self.gathered: dict[int | bytes, Gathered] = {}
        self._meta: dict[int | bytes, dict[str, Any]] = {}
        self._count = self.choices = self.marked = 0

    def add(self, key: int | bytes, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise InputError("a line of Prodigy must be an object", where=where, got=shown(value))
        self._count += 1
        text = value.get("text")
        if not isinstance(text, str):
            if not value.keys() & {"_input_hash", "answer", "image", "html", "audio", "spans"}:
                raise InputError(
                    "not a line of Prodigy: it has no 'text'", where=where, got=shown(value)
                )
            self.notes.left_out("record without text", where)
            return
        if key not in self.gathered:
            name = name_of(value.get("id")) or (
                str(key) if isinstance(key, int) else str(self._count)
            )
            self.gathered[key] = Gathered(name, self.notes)
        if isinstance(value.get("meta"), dict) and value["meta"]:
            self._meta.setdefault(key, value["meta"])
        document = self.gathered[key]
        document.add(text, None, where, self._tokens(value, text, where))
        for own_text, opinion in self._opinions(value, text, where):
            document.add(own_text, opinion, where)

    def done(self, key: int | bytes) -> Document:
        document = self.gathered.pop(key).document()
        opinions = _merged(sorted(document.opinions, key=lambda opinion: opinion.time or ""))
        names = [opinion.annotator for opinion in opinions if opinion.role != "gold"]
        if len(names) > len(set(names)):
            twice = len(names) - len(set(names))
            self.notes.left_out("earlier annotation by the same annotator", document.where, twice)
        meta = self._meta.pop(key, None)
        source = None if meta is None else {"prodigy": {"meta": meta}}
        return replace(document, opinions=tuple(opinions), source=source)

    def _opinions(
        self, record: dict[str, Any], text: str, where: str
    ) -> Iterator[tuple[str, Opinion]]:
        versions = record.get("versions")
        if not isinstance(versions, list):
            opinion = self._opinion(record, text, where)
            if opinion is not None:
                yield text, opinion
            return
        for version in versions:
            if not isinstance(version, dict):
                self.notes.left_out("version that is no object", where)
                continue
            own = version.get("text")
            own_text = own if isinstance(own, str) else text
            opinion = self._opinion({"answer": "accept", **version}, own_text, where)
            sessions = version.get("sessions")
            if opinion is not None:
                named = [name_of(one) for one in sessions] if isinstance(sessions, list) else []
                for name in [one for one in named if one] or [opinion.annotator]:
                    yield own_text, replace(opinion, annotator=name)
        if record.get("answer") == "accept":
            reviewed = self._opinion({**record, ROLE: "gold"}, text, where)
            if reviewed is not None:
                yield text, replace(reviewed, annotator=_annotator(record) or "review")

    def _opinion(self, record: dict[str, Any], text: str, where: str) -> Opinion | None:
        answer = record.get("answer")
        spans = record.get("spans")
        binary = record.get("_is_binary") is True or record.get("_view_id") in _BINARY
        choice = self._note_beside(record, where)
        if answer in ("ignore", "reject"):
            self.notes.left_out(f"{answer}{'d' if answer == 'ignore' else 'ed'} answer", where)
            return None
        if spans is None and (answer is None or choice):
            return None
        self.marked += 1
        marks = self._marks(record, text, where)
        seen: Extents | None = None
        if binary and "versions" not in record:
            seen = tuple(sorted({(mark.start, mark.end) for mark in marks}))
        return Opinion(
            _annotator(record) or self.nobody, marks,
            role=_ROLES.get(_plain(record.get(ROLE)), "annotator"), seen=seen, time=_time(record),
        )  # fmt: skip

    def _marks(self, record: dict[str, Any], text: str, where: str) -> tuple[Mark, ...]:
        tokens: Extents | None = None
        marks = []
        for span in list_at(record.get("spans"), "spans", where):
            if not isinstance(span, dict):
                self.notes.left_out("span that is no object", where)
                continue
            start, end = span.get("start"), span.get("end")
            if start is None and end is None and "token_start" in span:
                if tokens is None:
                    tokens = self._tokens(record, text, where) or ()
                first, after = whole_of(span["token_start"]), whole_of(span.get("token_end"))
                if first is not None and after is not None and 0 <= first <= after < len(tokens):
                    start, end = tokens[first][0], tokens[after][1]
            mark = mark_of(text, start, end, span.get("label"), self.notes, where)
            if mark is not None:
                marks.append(mark._replace(score=number_of(span.get("score"))))
        return tuple(marks)

    def _tokens(self, record: dict[str, Any], text: str, where: str) -> Extents | None:
        tokens = record.get("tokens")
        if not isinstance(tokens, list):
            return None
        found: list[tuple[int, int]] = []
        before = 0
        for token in tokens:
            start = whole_of(token.get("start")) if isinstance(token, dict) else None
            end = whole_of(token.get("end")) if isinstance(token, dict) else None
            if start is None or end is None or not before <= start < end <= len(text):
                self.notes.left_out("list of tokens that do not fit the text", where)
                return None
            found.append((start, end))
            before = end
        return tuple(found)

    def _note_beside(self, record: dict[str, Any], where: str) -> bool:
        """Note what is not about spans; whether there is an answer about the whole text."""
        relations = record.get("relations")
        if isinstance(relations, list) and relations:
            self.notes.left_out("relation", where, len(relations))
        choice = "options" in record or "accept" in record or isinstance(record.get("label"), str)
        if choice:
            self.notes.left_out("choice or label of a whole text", where)
            self.choices += 1
        return choice


def _merged(opinions: list[Opinion]) -> list[Opinion]:
    """Answers about single spans, put together for each annotator."""
    merged: list[Opinion] = []
    partial: dict[tuple[str, Role], int] = {}
    for opinion in opinions:
        key = (opinion.annotator, opinion.role)
        if opinion.seen is None or key not in partial:
            if opinion.seen is not None:
                partial[key] = len(merged)
            merged.append(opinion)
        else:
            before = merged[partial[key]]
            merged[partial[key]] = replace(
                opinion,
                marks=(*before.marks, *opinion.marks),
                seen=(*(before.seen or ()), *opinion.seen),
            )
    return [
        one if one.seen is None else replace(one, seen=tuple(sorted(set(one.seen))))
        for one in merged
    ]


def _plain(value: object) -> object:
    return value if isinstance(value, str) else None


def _annotator(record: dict[str, Any]) -> str | None:
    return name_of(record.get("_annotator_id")) or name_of(record.get("_session_id"))


def _time(record: dict[str, Any]) -> str | None:
    moment = number_of(record.get("_timestamp"))
    try:
        return None if moment is None else datetime.fromtimestamp(moment, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


_ANSWERED = re.compile(rb'"answer"\s*:\s*"(accept|reject|ignore)"')


def tell(glimpse: Glimpse) -> float:
    head = glimpse.head
    if head.lstrip()[:1] not in (b"{", b"[") or b'"text"' not in head:
        return 0.0
    hashes = b'"_input_hash"' in head
    if hashes and (b'"answer"' in head or b'"_task_hash"' in head or b'"spans"' in head):
        return 0.98
    if (
        b'"answer"' in head
        and b'"spans"' in head
        and (b'"token_start"' in head or b'"tokens"' in head)
    ):
        return 0.9
    if b'"spans"' in head and (b'"token_end"' in head or _ANSWERED.search(head)):
        return 0.8
    return 0.7 if hashes else 0.0


FORMAT = DocumentFormat(
    name="prodigy",
    title="Prodigy",
    tell=tell,
    read=read,
    write=write,
    read_options=READ_OPTIONS,
    write_options=WRITE_OPTIONS,
    cannot_carry=(
        "the pieces of a discontinuous mark as one mark",
        "which part of a text was seen",
        "borders of sentences",
        "scores of opinions",
    ),
    suffixes=(".prodigy.jsonl",),
)
