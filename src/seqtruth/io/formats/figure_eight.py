"""Figure Eight (CrowdFlower, Appen): full reports in CSV, a row per judgment, and JSON, a unit a line.

The columns are the job's own. An answer column is one that has a twin with ``_gold`` (in JSON: a key of
``judgments[].data``), or, where none has, one of lists. Three kinds of answers are marks: lists of quoted
words without offsets, found again in the text (see :mod:`.quotes`; what is ambiguous is counted,
``ambiguous=first|all|none``); spans of the text annotation tool (``classname``, ``tokens`` with ``startIdx``
and ``endIdx``); and lists of token numbers, where the unit has ``tokens``; neighbouring numbers make one
mark. A mark's label is its class, the answer column's name, or ``label=``. Other answers (``none``, check
boxes) are left out.

The text is the column in which most quotes are found, or ``text=``. Judgments that are tainted or
rejected are left out, unless ``tainted=keep``. An empty list, or no list at all beside other answers,
is "saw it and marked nothing". Quotes in a ``_gold`` column are gold. A report that holds links to results
in place of them is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.checked_values import mark_of, name_of, whole_of
from seqtruth.io.formats.column_names import TEXTS
from seqtruth.io.formats.delimited import header, read_delimited
from seqtruth.io.formats.figure_eight_json import AnswerOptions, read_units
from seqtruth.io.formats.literals import literal
from seqtruth.io.formats.quotes import AMBIGUOUS, locate

#: Rows looked at to find the text's column.
_SAMPLE = 500
_FULL = "give the full report, which has a row for each judgment"
_LINK = re.compile(r'\s*(\{\s*"url"\s*:|https?://)')
_TRUE = ("true", "t", "1", "yes")


def tell(glimpse: Glimpse) -> float:
    """By the underscored columns of a report, or ``judgments`` in ``results``."""
    head = glimpse.head
    if head.lstrip()[:1] in (b"{", b"["):
        judged = re.search(rb'"results"\s*:\s*\{', head) and b'"judgments"' in head
        return 0.95 if judged and b'"worker_id"' in head and b'"job_id"' in head else 0.0
    names = set(header(head)[0])
    if "_unit_id" in names and "_trusted_judgments" in names:
        return 0.7  # an aggregated report, which says less than is needed
    return 0.95 if {"_unit_id", "_worker_id"} <= names and len(names) > 2 else 0.0


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    """Documents of a report."""
    said = {
        name: options.pop(name, None)
        for name in ("text", "label", "ambiguous", "tainted", "answers")
    }
    chosen = AnswerOptions(
        text=str(said["text"]) if said["text"] is not None else None,
        label=str(said["label"]) if said["label"] is not None else None,
        ambiguous=str(said["ambiguous"] or "first"),
        keep_tainted=said["tainted"] == "keep",
        answers=tuple(str(said["answers"]).split(",")) if said["answers"] is not None else (),
    )
    if chosen.ambiguous not in AMBIGUOUS:
        raise ParameterError(
            f"ambiguous must be one of {', '.join(AMBIGUOUS)}", got=repr(said["ambiguous"])
        )
    if Glimpse(path).head.lstrip()[:1] in (b"{", b"["):
        if options:
            raise ParameterError("there is no such option here", got=", ".join(options))
        yield from read_units(path, notes, chosen)
    else:
        yield from _read_report(path, notes, chosen, options)


@dataclass
class _Unit:
    """A unit while its judgments come in: answers by judgment, one list of quotes per column."""

    row: dict[str, str]
    where: str
    judgments: list[tuple[str, dict[str, list[Any]], str | None, str]] = field(default_factory=list)


def _read_report(
    path: Path, notes: Notes, chosen: AnswerOptions, options: dict[str, object]
) -> Iterator[Document]:
    columns, rows = read_delimited(path, options)
    if options:
        raise ParameterError("there is no such option here", got=", ".join(options))
    for name in ("_unit_id", "_worker_id"):
        if name not in columns:
            raise InputError(f"column {name!r} is missing", where=f"{path}:1", fix=_FULL)
    answers = [name for name in columns if f"{name}_gold" in columns and not name.startswith("_")]
    first = list(islice(rows, _SAMPLE))
    rows = chain(first, rows)
    if chosen.answers:
        answers = [name for name in chosen.answers if name in columns]
    if not answers:
        answers = _listing(columns, [row for row, _ in first if row])
    if not answers:
        raise InputError(
            "no column is an answer: none has a twin with _gold, or holds lists", where=f"{path}:1",
            got=f"columns {', '.join(columns)}"[:120], fix="name the answer columns with answers=",
        )  # fmt: skip
    units: dict[str, _Unit] = {}
    for row, where in rows:
        if not row:
            continue
        unit = units.setdefault(row["_unit_id"], _Unit(row, where))
        if row.get("_tainted", "").lower() in _TRUE and not chosen.keep_tainted:
            notes.left_out("tainted judgment", where)
            continue
        quotes = {
            name: found for name in answers if (found := _quotes(row[name], where)) is not None
        }
        time = _iso(row.get("_created_at", ""))
        unit.judgments.append((row["_worker_id"], quotes, time, where))
    marking = _marking(units, answers, notes, path)
    text = chosen.text or _text_column(units, columns, marking, path)
    if text not in columns:
        raise InputError(f"there is no column {text!r}", where=f"{path}:1")
    for name, unit in units.items():
        yield _document(name, unit, text, marking, notes, chosen)


def _listing(columns: tuple[str, ...], rows: list[dict[str, str]]) -> list[str]:
    """Columns that hold nothing but lists, for a report without those of test questions."""
    found = []
    for name in columns:
        cells = [row[name].strip() for row in rows if row[name].strip()]
        if cells and not name.startswith("_") and all(x[0] + x[-1] == "[]" for x in cells):
            found.append(name)
    return found


def _iso(text: str) -> str | None:
    """``9/3/2018 15:14:10`` as ISO 8601; None where it is written in another way."""
    try:
        return datetime.strptime(text.strip(), "%m/%d/%Y %H:%M:%S").isoformat()
    except ValueError:
        return None


def _quotes(cell: str, where: str) -> list[Any] | None:
    """Quoted words in a cell, or spans; None where it is another kind of answer."""
    cell = cell.strip()
    if not cell:
        return []
    if cell[0] not in "[{":
        return None
    try:
        value = literal(cell, where)
    except InputError:
        return None  # an answer that begins with a bracket
    value = value.get("spans") if isinstance(value, dict) else value
    if not isinstance(value, list) or not all(isinstance(one, str) or _span(one) for one in value):
        return None
    return value


def _span(one: Any) -> tuple[int, int, str] | None:
    """The place and class of a span of the text annotation tool."""
    if not isinstance(one, dict) or not (label := name_of(one.get("classname"))):
        return None
    tokens = one.get("tokens")
    parts = [part for part in tokens if isinstance(part, dict)] if isinstance(tokens, list) else []
    starts = [whole_of(part.get("startIdx")) for part in parts] or [whole_of(one.get("start"))]
    ends = [whole_of(part.get("endIdx")) for part in parts] or [whole_of(one.get("end"))]
    if None in starts or None in ends:
        return None
    return min(x for x in starts if x is not None), max(x for x in ends if x is not None), label


def _said(one: Any) -> str:
    """The words of a quote or span."""
    if isinstance(one, str):
        return one
    text, tokens = one.get("text"), one.get("tokens")
    if isinstance(text, str) or not isinstance(tokens, list):
        return text if isinstance(text, str) else ""
    return str(tokens[0].get("text", "")) if tokens and isinstance(tokens[0], dict) else ""


def _marks(
    said: list[Any], text: str, column: str, notes: Notes, where: str, chosen: AnswerOptions
) -> Iterator[Mark]:
    quotes = [one for one in said if isinstance(one, str)]
    for start, end in locate(quotes, text, notes, where, chosen.ambiguous):
        yield Mark(start, end, chosen.label or column)
    for found in map(_span, said):
        if found is not None:
            mark = mark_of(text, found[0], found[1], chosen.label or found[2], notes, where)
            if mark is not None:
                yield mark


def _marking(units: dict[str, _Unit], answers: list[str], notes: Notes, path: Path) -> list[str]:
    """Answer columns that hold lists of quotes; the others are counted."""
    filled: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for unit in units.values():
        for _, quotes, _, _ in unit.judgments:
            filled.update(name for name in answers if quotes.get(name))
            other.update(name for name in answers if name not in quotes)
    for name in answers:
        if other[name] and not filled[name]:
            notes.left_out(f"answer {name} (not a list of quotes)", f"{path}:2", other[name])
    marking = [name for name in answers if filled[name]]
    cells = [unit.row[name] for unit in units.values() for name in answers]
    if not marking and any(_LINK.match(cell) for cell in cells):
        raise InputError(
            "the answers are links to results that are not in the file", where=f"{path}:2",
            got=next(cell for cell in cells if _LINK.match(cell))[:80],
            fix="fetch the results behind the links, and put them into the column in their place",
        )  # fmt: skip
    if not marking:
        raise InputError(
            "no answer is a list of quoted words or spans", where=f"{path}:2",
            got=f"answers {', '.join(answers)}"[:120],
            fix="only text highlighting and annotation jobs whose report holds the words can be read",
        )  # fmt: skip
    return marking


def _text_column(
    units: dict[str, _Unit], columns: tuple[str, ...], marking: list[str], path: Path
) -> str:
    """The column in which most quotes stand; of equals one with a usual name, then the first."""
    hits: Counter[str] = Counter()
    own = [name for name in columns if not name.startswith("_") and name not in marking]
    for unit in list(units.values())[:_SAMPLE]:
        wanted = {
            _said(q)
            for _, quotes, _, _ in unit.judgments
            for name in marking
            for q in quotes.get(name, ())
        }
        for name in own:
            if len(unit.row[name]) > 1:
                hits[name] += sum(quote in unit.row[name] for quote in list(wanted)[:100])
    best = max(hits.values(), default=0)
    if not best:
        raise InputError(
            "the quoted words stand in no column", where=f"{path}:2", fix="name the text with text="
        )
    equals = [name for name in own if hits[name] == best]
    return next((name for name in TEXTS if name in equals), equals[0])


def _document(
    name: str,
    unit: _Unit,
    text_column: str,
    marking: list[str],
    notes: Notes,
    chosen: AnswerOptions,
) -> Document:
    text = unit.row[text_column]
    opinions: list[Opinion] = []
    for worker, quotes, time, where in unit.judgments:
        marks = [
            mark
            for column in marking
            for mark in _marks(quotes.get(column, []), text, column, notes, where, chosen)
        ]
        opinions.append(Opinion(worker, tuple(marks), time=time))
    gold = {column: _quotes(unit.row.get(f"{column}_gold", ""), unit.where) for column in marking}
    if any(gold.values()):
        marks = [
            mark
            for column, quoted in gold.items()
            for mark in _marks(quoted or [], text, column, notes, unit.where, chosen)
        ]
        opinions.append(Opinion("gold", tuple(marks), "gold"))
    return Document(name, text, tuple(opinions), where=unit.where)


FORMAT = DocumentFormat(
    "figure-eight",
    "Figure Eight",
    tell,
    read,
    read_options={
        "text": "the column with the text (the one in which most quotes stand)",
        "label": "the marks' label (the answer column's name)",
        "answers": "the answer columns, with commas between (those with a _gold twin, or of lists)",
        "ambiguous": "a quote with several places: first, all or none (first)",
        "tainted": "leave tainted judgments out, or keep them (leave)",
    },
)
