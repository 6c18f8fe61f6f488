"""Tables of one's own with a row per span, and tables with a row per document and lists in cells.

A row per span: columns for the document, the annotator, start, end and label, and the text (in each
row, or in the first of a document), under the usual names (``doc``, ``document_id``, ``begin``,
``type``, ``worker`` ...; see :mod:`.column_names`). A row without start, end and label says that the
annotator saw the text and marked nothing. Where ``text`` holds the marked words only, the texts come
from a folder (``texts=``, a file per document). Offsets count characters and ends are exclusive.

A row per document: ``text`` with ``entities``, or ``tokens`` with ``tags``, as JSON or as Python prints
lists; or words and tags with blanks or commas between. They are read as :mod:`.labelled_records` says.

Commas, semicolons, tabs and bars are told apart by the first line; Parquet is read as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Mark, Notes, Opinion, Role
from seqtruth.io.files import read_text
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats import column_names as names
from seqtruth.io.formats import delimited
from seqtruth.io.formats import labelled_records as records
from seqtruth.io.formats.cell_lists import has_lists, records_of
from seqtruth.io.formats.checked_values import mark_of, name_of, number_of, text_at, whole_of
from seqtruth.io.formats.labelled_spans import end_of
from seqtruth.io.formats.offsets import utf16_to_points
from seqtruth.io.formats.quoted_offsets import fitted
from seqtruth.io.formats.span_table_rows import HEADER, write
from seqtruth.io.formats.table_source import Table, glimpse_table, open_table

_ENDS = (*names.ENDS, *names.LENGTHS)


def tell(glimpse: Glimpse) -> float:
    """By the columns; our own long tables (task, worker, label) are known elsewhere."""
    columns, rows = glimpse_table(glimpse)
    known = names.plain_names(columns)
    if {"task", "worker", "label"} <= set(known):
        return 0.2
    if columns == HEADER:
        return 0.95
    places = names.find(known, names.STARTS) and names.find(known, _ENDS)
    whose = names.find(known, names.TEXTS) or names.find(known, names.IDS)
    if places and whose and names.find(known, names.LABELS):
        return 0.7
    return 0.4 if rows and has_lists(columns, rows) else 0.0


class _Columns(NamedTuple):
    start: str
    end: str
    label: str
    doc: str | None
    text: str | None
    quote: str | None
    annotator: str | None
    score: str | None


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    """Documents, when all rows are read: the spans of one stand anywhere."""
    texts = options.pop("texts", None)
    table = open_table(path, options)
    choices = records.choices(path, options)
    known = names.plain_names(table.columns)
    if not (names.find(known, names.STARTS) and names.find(known, _ENDS)):
        yield from records.documents_of(records_of(table, options, path), choices, notes)
        return
    columns = _columns(table, options, path)
    folder = Path(str(texts)) if texts is not None else None
    items = _gather(table, columns, folder is not None)
    if folder is None and columns.text is not None:
        _check_texts(items)
    for number, item in enumerate(items):
        if folder is not None:
            item.text = _text_file(folder, item.id, item.where)
        yield _document(item, number, columns, choices, notes)


def _columns(table: Table, options: Mapping[str, object], path: Path) -> _Columns:
    known = names.plain_names(table.columns)
    where = f"{path}:1"

    def pick(option: str, wanted: Iterable[str], *taken: str | None) -> str | None:
        said = names.chosen(options.get(option), option, table.columns, where)
        free = {k: v for k, v in known.items() if v not in taken}
        return said[0] if said else names.find(free, wanted)

    start, end = names.find(known, names.STARTS), names.find(known, _ENDS)
    assert start is not None and end is not None
    annotator = pick("annotator_column", names.ANNOTATORS)
    whole = [x for x in names.TEXTS if x != "text"]
    text = pick(
        "text", (*(whole if "text" in known and _both(known) else ()), *names.TEXTS), start, end
    )
    doc = pick("id", names.IDS, start, end, text, annotator)
    label = pick("labels", names.LABELS, start, end, text, doc, annotator)
    if label is None:
        raise InputError(
            "no column holds the labels", where=where, got=f"columns {', '.join(table.columns)}"[:160],
            fix="name it with labels=",
        )  # fmt: skip
    if doc is None and text is None:
        raise InputError(
            "no column names the document or holds its text", where=where,
            got=f"columns {', '.join(table.columns)}"[:160], fix="name it with id= or text=",
        )  # fmt: skip
    taken = (start, end, label, doc, text, annotator)
    quote = names.find({k: v for k, v in known.items() if v not in taken}, names.SURFACES)
    return _Columns(start, end, label, doc, text, quote, annotator, names.find(known, names.SCORES))


def _both(known: Mapping[str, str]) -> bool:
    """Whether another column than ``text`` must be the document's, so that ``text`` is the span's."""
    others = (
        "document_text",
        "doc_text",
        "full_text",
        "raw_text",
        "sentence_text",
        "sentence",
        "context",
    )
    return any(name in known for name in others)


@dataclass
class _Item:
    """A document while its rows come in."""

    id: str
    where: str
    text: str | None = None
    others: int = 0
    rows: list[tuple[dict[str, Any], str]] = field(default_factory=list)


def _gather(table: Table, columns: _Columns, elsewhere: bool) -> list[_Item]:
    items: dict[tuple[str, str], _Item] = {}
    for row, where in table.rows:
        if not row:
            continue
        text = row[columns.text] if columns.text is not None and not elsewhere else None
        text = None if text in (None, "") else text_at(text, "the text", where)
        name = name_of(row[columns.doc]) if columns.doc is not None else None
        if name is None and text is None:
            raise InputError("the row names no document", where=where)
        item = items.setdefault((name or "", "" if name else text or ""), _Item(name or "", where))
        if item.text is None:
            item.text = text
        elif text is not None and text != item.text:
            item.others += 1
        item.rows.append((row, where))
    return list(items.values())


def _check_texts(items: list[_Item]) -> None:
    """Refuse texts that are the spans' words, and such as differ within a document."""
    item = next((item for item in items if item.others), None)
    if item is not None:
        raise InputError(
            f"the text of document {item.id!r} is not the same in all its rows", where=item.where,
            fix="if the column holds the marked words, name the texts' folder with texts=, or the "
            "column with text=",
        )  # fmt: skip


def _text_file(folder: Path, name: str, where: str) -> str:
    if not name or "/" in name.replace("\\", "/") or name in (".", ".."):
        raise InputError(
            "the document's name is not a file's name", where=where, got=f"{name!r:.60}"
        )
    for candidate in (folder / f"{name}.txt", folder / name):
        if candidate.is_file():
            return read_text(candidate).decode()
    raise InputError(
        f"there is no text for document {name!r}", where=str(folder),
        got=None if folder.is_dir() else "a file", fix="texts= is a folder with a text file per document",
    )  # fmt: skip


def _document(
    item: _Item, number: int, columns: _Columns, choices: records.Choices, notes: Notes
) -> Document:
    text = item.text or ""
    to_points = utf16_to_points(text)
    marks: dict[tuple[str, Role], list[Mark]] = {}
    for row, where in item.rows:
        who = (
            name_of(row[columns.annotator]) if columns.annotator is not None else choices.annotator
        )
        start, end = row[columns.start], row[columns.end]
        blank = start in (None, "") and end in (None, "")
        if who is None:
            if not blank:
                notes.left_out("mark without an annotator", where)
            continue
        role: Any = row.get("role")
        known = role in ("annotator", "model", "gold")
        said = marks.setdefault((who, role if known else names.role_of(who)), [])
        if blank:
            continue
        mark = _mark(row, columns, text, to_points, notes, where)
        if mark is not None:
            said.append(mark)
    opinions = tuple(Opinion(who, tuple(m), role) for (who, role), m in marks.items())
    return Document(item.id or str(number), text, opinions, where=item.where)


def _mark(
    row: dict[str, Any], columns: _Columns, text: str, to_points: Any, notes: Notes, where: str
) -> Mark | None:
    a, b = whole_of(row[columns.start]), whole_of(row[columns.end])
    if names.plain(columns.end) in names.LENGTHS:
        b = end_of(a, b)
    quote = row[columns.quote] if columns.quote is not None else None
    if a is not None and b is not None and isinstance(quote, str) and quote:
        place = fitted(text, a, b, quote, to_points)
        if place is None:
            notes.left_out("quote that differs from the text (the offsets are taken)", where)
        else:
            a, b = place
    mark = mark_of(text, a, b, row[columns.label], notes, where)
    if mark is None:
        return None
    score = number_of(row[columns.score]) if columns.score is not None else None
    return mark._replace(score=score, pieces=_pieces(row.get("pieces"), mark, notes, where))


def _pieces(cell: Any, mark: Mark, notes: Notes, where: str) -> tuple[tuple[int, int], ...]:
    """``1-5;9-12`` as pairs."""
    if not isinstance(cell, str) or not cell:
        return ()
    pairs = [tuple(map(whole_of, piece.split("-"))) for piece in cell.split(";")]
    found = [(p[0], p[1]) for p in pairs if len(p) == 2 and p[0] is not None and p[1] is not None]
    pieces = tuple((a, b) for a, b in found if a is not None and b is not None)
    if len(pieces) < len(pairs) or (pieces[0][0], pieces[-1][1]) != (mark.start, mark.end):
        notes.left_out("pieces that do not make up their mark", where)
        return ()
    return pieces


FORMAT = DocumentFormat(
    "table",
    "table of spans",
    tell,
    read,
    write,
    read_options={
        **records.OPTIONS,
        "texts": "a folder with a text file per document, where the table has the marked words only",
        **delimited.READ_OPTIONS,
    },
    write_options=delimited.WRITE_OPTIONS,
    cannot_carry=(
        "borders of tokens and sentences",
        "parts not seen, times, the score of a whole labelling",
        "empty texts",
    ),
    suffixes=(".csv", ".tsv"),
)
