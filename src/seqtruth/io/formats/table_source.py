"""Tables of one's own, from CSV and its kin or from Parquet: columns, and rows with their places."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.format import Glimpse
from seqtruth.io.formats.arrow_rows import parquet_rows
from seqtruth.io.formats.delimited import header, read_delimited

#: Rows looked at to tell what the columns hold.
SAMPLE = 2000


class Table(NamedTuple):
    """Columns, the first rows, and all rows (empty ones stand for blank lines)."""

    columns: tuple[str, ...]
    sample: list[dict[str, Any]]
    rows: Iterator[tuple[dict[str, Any], str]]


def open_table(path: Path, options: dict[str, object]) -> Table:
    """A table; takes the options of delimited files out of ``options``."""
    columns: tuple[str, ...]
    rows: Iterator[tuple[dict[str, Any], str]]
    if is_parquet(path):
        columns, _, rows = parquet_rows(path)
        options.pop("delimiter", None)
        options.pop("safe_cells", None)
    else:
        columns, rows = read_delimited(path, options)
    first = list(islice(rows, SAMPLE))
    if not any(row for row, _ in first):
        raise InputError("the table has no rows", where=str(path))
    return Table(columns, [row for row, _ in first if row], chain(first, rows))


def is_parquet(path: Path) -> bool:
    """By the first bytes."""
    return Glimpse(path).head.startswith(b"PAR1")


def glimpse_table(glimpse: Glimpse) -> tuple[list[str], list[dict[str, Any]]]:
    """Columns and a few rows, where a file is a table at all."""
    if glimpse.path.is_dir():
        return [], []
    head = glimpse.head
    if head.startswith(b"PAR1"):
        try:
            columns, _, rows = parquet_rows(glimpse.path)
            return list(columns), [row for row, _ in islice(rows, 20)]
        except InputError:
            return [], []
    if head.lstrip()[:1] in (b"{", b"[", b"<") or b"\0" in head:
        return [], []
    names, mark = header(head)
    if len(names) < 2 or len(set(names)) < len(names):
        return [], []
    return names, _few(head, names, mark)


def _few(head: bytes, names: list[str], mark: str) -> list[dict[str, Any]]:
    import csv
    import io

    text = head.decode("utf-8", "ignore")
    found = []
    try:
        for cells in islice(csv.reader(io.StringIO(text, newline=""), delimiter=mark), 1, 20):
            if len(cells) == len(names):
                found.append(dict(zip(names, cells, strict=True)))
    except csv.Error:
        pass
    return found
