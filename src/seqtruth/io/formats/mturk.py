"""Amazon Mechanical Turk: batch results of ``crowd-entity-annotation`` tasks, a CSV row per assignment.

The answer stands in ``Answer.taskAnswers`` (or another ``Answer.`` column) as JSON, or as Python prints
it where somebody saved the table again. The text is one of the ``Input.`` columns: ``Input.text`` or the
like, else the longest; ``text=`` names another. Rows whose inputs are all the same are one document,
also where they were put up as several HITs; its id is the first HITId.

A worker who has several assignments on a document (experts who share one login) is kept apart as
``W``, ``W#2``, ``W#3``, in the order of the file: nothing says which of them is which person elsewhere.
Rejected assignments (status, or a sign in ``Reject``) are left out, unless ``rejected=keep``. An answer
with an empty list of entities is "saw it and marked nothing". Answers of other elements are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.column_names import TEXTS, find, plain_names
from seqtruth.io.formats.crowd_entities import entity_lists, marks_of
from seqtruth.io.formats.delimited import header, read_delimited
from seqtruth.io.formats.literals import literal

_ZONES = {"PST": -8, "PDT": -7, "UTC": 0, "GMT": 0}


def tell(glimpse: Glimpse) -> float:
    """By the columns of a batch."""
    names = set(header(glimpse.head)[0])
    known = {"HITId", "WorkerId"} <= names
    return 0.95 if known and any(name.startswith("Answer.") for name in names) else 0.0


@dataclass
class _Item:
    """A document while its assignments come in."""

    id: str
    text: str
    where: str
    opinions: list[Opinion] = field(default_factory=list)
    times: Counter[str] = field(default_factory=Counter)


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    """Documents, when all rows are read: assignments of one stand anywhere."""
    text_option, rejected = options.pop("text", None), options.pop("rejected", None) or "leave"
    by = str(options.pop("annotator", None) or "WorkerId")
    columns, rows = read_delimited(path, options)
    if options or rejected not in ("leave", "keep"):
        raise ParameterError("rejected must be leave or keep", got=repr(options or rejected))
    for name in ("HITId", by):
        if name not in columns:
            raise InputError(
                f"column {name!r} is missing", where=f"{path}:1",
                fix="give the results of a batch as MTurk saves them",
            )  # fmt: skip
    inputs = [name for name in columns if name.startswith("Input.")]
    answers = [name for name in columns if name.startswith("Answer.")]
    text_column = ""
    items: dict[tuple[str, ...], _Item] = {}
    for row, where in rows:
        if not row:
            continue
        text_column = text_column or _text_column(row, inputs, text_option, where)
        item = items.setdefault(
            tuple(row[name] for name in inputs), _Item(row["HITId"], row[text_column], where)
        )
        if rejected == "leave" and _is_rejected(row):
            notes.left_out("rejected assignment", where)
            continue
        _add(item, row, by, answers, notes, where)
    if items and not any(item.opinions for item in items.values()):
        raise InputError(
            "no assignment has an answer with entities", where=str(path),
            got=f"answers {', '.join(answers)}; {'; '.join(notes.lines())}"[:200],
            fix="SeqTruth reads answers of crowd-entity-annotation; rejected=keep takes rejected ones, too",
        )  # fmt: skip
    names = Counter(item.id for item in items.values())
    for number, item in enumerate(items.values()):
        name = item.id if names[item.id] == 1 and item.id else f"{item.id}#{number}"
        yield Document(name, item.text, tuple(item.opinions), where=item.where)


def _text_column(row: dict[str, str], inputs: list[str], option: object, where: str) -> str:
    if option is not None:
        for name in (str(option), f"Input.{option}"):
            if name in row:
                return name
        raise InputError(f"there is no column {option!r}", where=where)
    if not inputs:
        raise InputError(
            "there is no Input column with the text", where=where, fix="name the column with text="
        )
    bare = plain_names(name.removeprefix("Input.") for name in inputs)
    known = find({k: v for k, v in bare.items() if row[f"Input.{v}"]}, TEXTS)
    return f"Input.{known}" if known else max(inputs, key=lambda name: len(row[name]))


def _is_rejected(row: dict[str, str]) -> bool:
    return row.get("AssignmentStatus", "") == "Rejected" or bool(row.get("Reject", "").strip())


def _add(
    item: _Item, row: dict[str, str], by: str, answers: list[str], notes: Notes, where: str
) -> None:
    marks: list[Mark] | None = None
    for column in answers:
        cell = row[column].strip()
        value: Any = literal(cell, where) if cell[:1] in ("[", "{") else None
        for entities in entity_lists(value):
            marks = (marks or []) + marks_of(entities, item.text, notes, where)
    worker = row[by]
    if marks is None or not worker:
        notes.left_out("assignment without an answer", where)
        return
    item.times[worker] += 1
    times = item.times[worker]
    if times > 1:
        notes.left_out("identity of a worker with several assignments on a document", where)
    name = worker if times == 1 else f"{worker}#{times}"
    item.opinions.append(Opinion(name, tuple(marks), time=_iso(row.get("SubmitTime", ""))))


def _iso(text: str) -> str | None:
    """``Tue Jan 17 05:05:14 PST 2023`` as ISO 8601; None where it is written in another way."""
    found = re.fullmatch(r"\w{3} (\w{3} [ \d]\d \d\d:\d\d:\d\d) (\w+) (\d{4})", text.strip())
    if not found or found[2] not in _ZONES:
        return None
    try:
        time = datetime.strptime(f"{found[1]} {found[3]}", "%b %d %H:%M:%S %Y")
    except ValueError:
        return None
    return time.replace(tzinfo=timezone(timedelta(hours=_ZONES[found[2]]))).isoformat()


FORMAT = DocumentFormat(
    "mturk",
    "Amazon Mechanical Turk",
    tell,
    read,
    read_options={
        "text": "the Input column with the text",
        "annotator": "the column that names the annotator (WorkerId)",
        "rejected": "leave rejected assignments out, or keep them (leave)",
        "delimiter": "what stands between cells (a comma)",
    },
)
