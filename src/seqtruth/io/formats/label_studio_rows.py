"""Label Studio's JSON-MIN, CSV and TSV: a row per annotation, all control tags and all data in columns.

A row holds the task's data, ``id`` (of the task), ``annotator``, ``annotation_id``, ``created_at``,
``updated_at``, ``lead_time``, and a column per control tag: a list of
``{"start": 0, "end": 4, "text": "Jane", "labels": ["PER"]}`` (in CSV and TSV as JSON in the cell). A TSV
export is also called ``.csv``; the header decides. The rows of a task are joined, so the file is held
in memory. Cancelled annotations and predictions are not in such files.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError
from seqtruth.io.chunks import file_chunks
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import Glimpse
from seqtruth.io.formats.checked_values import name_of, shown
from seqtruth.io.formats.label_studio_results import (
    Asked,
    Placer,
    Region,
    TextKeys,
    controls_of,
    span_of,
)
from seqtruth.io.json_records import JsonRecord, parse_json
from seqtruth.limits import max_record

#: Columns that the tool adds to the task's data and the control tags.
OWN = frozenset(
    {
        "id",
        "annotator",
        "annotation_id",
        "created_at",
        "updated_at",
        "lead_time",
        "agreement",
        "history",
    }
)


def is_row(value: object) -> bool:
    """Whether a JSON value is a row of JSON-MIN."""
    return isinstance(value, dict) and "annotation_id" in value and "data" not in value


def tell_table(glimpse: Glimpse) -> float:
    """How sure the file is a CSV or TSV export."""
    header = _header(glimpse.head.partition(b"\n")[0])
    return 0.97 if {"annotation_id", "annotator", "id", "lead_time"} <= set(header) else 0.0


def _header(line: bytes) -> list[str]:
    text = line.decode(errors="replace").rstrip("\r")
    return [name.strip().strip('"') for name in text.split("\t" if "\t" in text else ",")]


def read_table(path: Path, notes: Notes, keys: TextKeys, asked: Asked) -> Iterator[Document]:
    return read_rows(_table_rows(path), notes, keys, asked)


def _table_rows(path: Path) -> Iterator[JsonRecord]:
    """Rows as JSON-MIN would give them."""
    data = b"".join(file_chunks(path))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            "the file is not UTF-8", where=f"{path}:{line}", fix="save the file as UTF-8"
        ) from None
    csv.field_size_limit(max_record())
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=False)
    header: list[str] | None = None
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise InputError("not a table", where=f"{path}:{line}", got=str(error)) from None
        if row is None:
            return
        if header is None:
            header = row
        elif row:
            if len(row) != len(header):
                raise InputError(
                    f"{len(row)} columns where the header has {len(header)}", where=f"{path}:{line}"
                )
            yield JsonRecord(dict(zip(header, map(_cell, row), strict=True)), f"{path}:{line}")


def _cell(cell: str) -> object:
    """A list of results where the cell is one; otherwise its text."""
    if cell[:1] == "[" and cell[-1:] == "]" and cell[1:].lstrip()[:1] == "{":
        try:
            return parse_json(cell)
        except ValueError:
            return cell
    return cell


class _Task:
    """The rows of one task."""

    def __init__(self, row: dict[str, Any], where: str) -> None:
        self.row, self.where = row, where
        self.spans: list[tuple[Opinion, list[Region]]] = []

    def document(self, name: str, notes: Notes, keys: TextKeys, asked: Asked) -> Document | None:
        data = {key: value for key, value in self.row.items() if key not in OWN}
        spans = [span for _, found in self.spans for span in found]
        key = keys.find(data, spans, self.where)
        if key is None:
            notes.left_out("task without text", self.where)
            return None
        placer = Placer(data[key], notes, self.where, asked.units, key in keys.pages)
        opinions = []
        for opinion, found in self.spans:
            marks: list[Mark] = [mark for span in found for mark in placer.marks(span)]
            opinions.append(Opinion(opinion.annotator, tuple(marks), time=opinion.time))
        opinions.sort(key=lambda opinion: opinion.time or "")
        strings = {key: value for key, value in data.items() if isinstance(value, str)}
        return Document(
            name,
            placer.text,
            tuple(opinions),
            where=self.where,
            source={"id": name, "data": strings, "controls": controls_of(spans)},
        )


def read_rows(
    records: Iterable[JsonRecord], notes: Notes, keys: TextKeys, asked: Asked
) -> Iterator[Document]:
    """The documents of rows, joined by task."""
    tasks: dict[str, _Task] = {}
    place = ""
    for number, (row, where) in enumerate(records, 1):
        place = where
        if not isinstance(row, dict):
            raise InputError("a row must be an object", where=where, got=shown(row))
        name = name_of(row.get("id")) or f"row {number}"
        task = tasks.setdefault(name, _Task(row, where))
        time = row.get("updated_at") or row.get("created_at")
        person = row.get("annotator")
        if isinstance(person, dict):
            person = person.get("email") or person.get("id")
        opinion = Opinion(
            name_of(person) or f"unknown-{len(task.spans) + 1}",
            time=time if isinstance(time, str) else None,
        )
        task.spans.append((opinion, _row_spans(row, notes, where, asked)))
    if not any(found for task in tasks.values() for _, found in task.spans):
        raise InputError(
            "the Label Studio file holds no spans of text", where=place.rpartition(":")[0],
            fix="SeqTruth needs a project with a <Text> and <Labels>",
        )  # fmt: skip
    for name, task in tasks.items():
        document = task.document(name, notes, keys, asked)
        if document is not None:
            yield document


def _row_spans(row: dict[str, Any], notes: Notes, where: str, asked: Asked) -> list[Region]:
    spans = []
    for column, values in row.items():
        if column in OWN or not isinstance(values, list):
            continue
        for value in values:
            if asked.control is not None and column not in asked.control:
                notes.left_out("result of another control tag", where)
            elif isinstance(value, dict) and "start" in value:
                result = {"type": "labels", "from_name": column, "to_name": "text", "value": value}
                span = span_of(result, notes, where)
                spans += [span] if span is not None else []
            else:
                notes.left_out(f"result that marks no text (column {shown(column)})", where)
    return spans
