"""Tables with a row per document whose cells hold lists: as JSON, as Python prints them, or as words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError
from seqtruth.io.formats import column_names as names
from seqtruth.io.formats.labelled_records import are_spans
from seqtruth.io.formats.literals import literal
from seqtruth.io.formats.table_source import Table

_BASES = (*names.TAGS, *names.SPANS, "word_labels")


def has_lists(columns: list[str], rows: list[dict[str, Any]]) -> bool:
    """Whether the rows hold a text or tokens, and labels in lists or in as many words."""
    known = names.plain_names(columns)
    if not (names.find(known, names.TEXTS) or names.find(known, names.TOKENS)):
        return False
    labels = [x.column for x in names.label_columns(columns, _BASES)]
    words = _word_columns(columns, rows)
    return bool(words) or any(_is_list(rows[0][x]) for x in labels) or _has_spans(rows)


def _has_spans(rows: list[dict[str, Any]]) -> bool:
    """Whether a column holds lists of spans, whatever it is called: those of an annotator."""
    for column in rows[0]:
        cells = [row[column] for row in rows if row[column] not in (None, "")]
        if cells and all(map(_is_list, cells)):
            try:
                lists = [literal(one, "") if isinstance(one, str) else one for one in cells]
            except InputError:
                continue
            if any(lists) and all(map(are_spans, lists)):
                return True
    return False


def _is_list(cell: Any) -> bool:
    return isinstance(cell, list | dict) or (
        isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{")
    )


def _word_columns(columns: Any, rows: list[dict[str, Any]]) -> list[str]:
    """Label columns with as many words as the text in every row."""
    text = names.find(names.plain_names(columns), (*names.TOKENS, *names.TEXTS))
    labels = [x.column for x in names.label_columns(columns, _BASES)]
    full = [row for row in rows if text and all(isinstance(row[x], str) for x in (text, *labels))]
    if not full or text is None or any(_is_list(row[text]) for row in full):
        return []
    return [
        column
        for column in labels
        if column != text
        and not any(_is_list(row[column]) for row in full)
        and all(len(_words(row[column])) == len(row[text].split()) for row in full if row[column])
        and any(len(_words(row[column])) > 1 for row in full)
    ]


def _words(cell: str) -> list[str]:
    return cell.replace(",", " ").split()


def records_of(
    table: Table, options: Mapping[str, object], path: Path
) -> Iterator[tuple[dict[str, Any], str]]:
    """Rows with the lists in their cells read."""
    words = _word_columns(table.columns, table.sample[:50])
    if not words and not any(_is_list(cell) for cell in table.sample[0].values()):
        raise InputError(
            "the table has neither spans (columns start, end, label) nor lists of labels",
            where=f"{path}:1", got=f"columns {', '.join(map(str, table.columns))}"[:160],
            fix="docs/formats.md shows the tables that can be read",
        )  # fmt: skip
    text = names.find(names.plain_names(table.columns), (*names.TOKENS, *names.TEXTS))
    for row, where in table.rows:
        if not row:
            continue
        record: dict[str, Any] = {}
        for name, cell in row.items():
            if isinstance(cell, str) and name in words:
                record[name] = _words(cell)
            elif isinstance(cell, str) and words and name == text:
                record["tokens"] = cell.split()
            elif isinstance(cell, str) and _is_list(cell):
                record[name] = _list(cell, where)
            else:
                record[name] = cell if cell != "" else None
        yield record, where


def _list(cell: str, where: str) -> Any:
    """A list where the cell is one; a text that happens to begin with a bracket stays a text."""
    try:
        return literal(cell, where)
    except InputError:
        if cell.rstrip()[-1:] in ("]", "}"):
            raise
        return cell
