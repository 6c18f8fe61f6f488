"""CSV, TSV and their kin: rows as dictionaries, whatever stands between the cells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.files import read_text, write_chunks
from seqtruth.io.longtable.sources import FORMULA

DELIMITERS = (",", ";", "\t", "|")
#: Cells that spreadsheets take for formulas, or would after an apostrophe is taken off.
_FORMULA = re.compile(FORMULA)
_BATCH = 1000
_MAX_CELL = 1 << 30
READ_OPTIONS = {
    "delimiter": "what stands between cells: , ; | or tab (told from the first line)",
    "safe_cells": "take off the apostrophe that safe_cells put before =, +, - and @ (no)",
}
WRITE_OPTIONS = {
    "delimiter": "what stands between cells (a comma; a tab in .tsv)",
    "safe_cells": "put an apostrophe before cells that begin with =, +, - or @, which "
    "spreadsheets would run as formulas (no)",
}


class DelimitedTable(NamedTuple):
    """Column names, and rows with their places."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[dict[str, str], str]]


def header(head: bytes, delimiter: str | None = None) -> tuple[list[str], str]:
    """Names in the first line, and what stands between them; none where there is no such line.

    >>> header(b"doc;start;end\\n1;2;3\\n")
    (['doc', 'start', 'end'], ';')
    """
    text = head.decode("utf-8", "ignore")
    first, _, rest = text.partition("\n")
    if first.strip().lower().startswith("sep=") and len(first.strip()) == 5:
        delimiter, first = first.strip()[4], rest.partition("\n")[0]
    found: list[tuple[list[str], str]] = []
    for mark in (delimiter,) if delimiter else DELIMITERS:
        try:
            names = next(csv.reader([first.rstrip("\r")], delimiter=mark), [])
        except csv.Error:
            continue
        found.append(([name.strip() for name in names], mark))
    return max(found, key=lambda one: len(one[0]), default=([], ","))


def delimiter_of(option: object) -> str | None:
    """A delimiter as a user writes it."""
    if option is None:
        return None
    known = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
    mark = known.get(str(option), str(option))
    if len(mark) != 1 or mark in '"\r\n':
        raise ParameterError("delimiter must be one character", got=repr(option))
    return mark


def switch(option: object, name: str) -> bool:
    """A yes or no of a user."""
    if option is None or isinstance(option, bool):
        return bool(option)
    word = str(option).strip().lower()
    if word not in ("yes", "true", "1", "on", "no", "false", "0", "off"):
        raise ParameterError(f"{name} must be yes or no", got=repr(option))
    return word in ("yes", "true", "1", "on")


def read_delimited(path: Path, options: dict[str, object]) -> DelimitedTable:
    """Rows of a file; takes its own options out of ``options``."""
    said = delimiter_of(options.pop("delimiter", None))
    safe = switch(options.pop("safe_cells", None), "safe_cells")
    text = read_text(path).decode()
    names, mark = header(text[: 1 << 16].encode("utf-8", "ignore"), said)
    skipped = 1 if text[:4].lower() == "sep=" else 0
    if skipped:
        text = text.partition("\n")[2]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"column {twice!r} is there twice", where=f"{path}:1")
    lines = _records(path, csv.reader(io.StringIO(text, newline=""), delimiter=mark), skipped)
    next(lines, None)
    return DelimitedTable(tuple(names), _rows(path, names, lines, safe))


def _records(path: Path, reader: csv.Reader, skipped: int) -> Iterator[tuple[list[str], int]]:  # type: ignore[name-defined]
    """Records with the lines on which they end."""
    while True:
        with _large_cells():
            try:
                part = [(cells, reader.line_num + skipped) for cells in islice(reader, _BATCH)]
            except csv.Error as error:
                raise InputError(
                    "the table cannot be read", where=f"{path}:{reader.line_num + skipped}",
                    got=str(error)[:80],
                ) from None  # fmt: skip
        if not part:
            return
        yield from part


@contextmanager
def _large_cells() -> Iterator[None]:
    """Cells may hold whole documents; the limit is the module's, so it is put back."""
    before = csv.field_size_limit(_MAX_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _rows(
    path: Path, names: list[str], lines: Iterator[tuple[list[str], int]], safe: bool
) -> Iterator[tuple[dict[str, str], str]]:
    last = 1
    for cells, line in lines:
        where, last = f"{path}:{last + 1}", line
        if not any(cells):
            yield {}, where
            continue
        if len(cells) > len(names) and not any(cells[len(names) :]):
            cells = cells[: len(names)]  # a delimiter at the end of the line
        if len(cells) != len(names):
            raise InputError(
                f"{len(cells)} cells where the header has {len(names)}", where=where,
                got=f"{cells[0]!r:.60}", fix="check delimiters and quotation marks",
            )  # fmt: skip
        if safe:
            cells = [x[1:] if x[:1] == "'" and _FORMULA.match(x) else x for x in cells]
        yield dict(zip(names, cells, strict=True)), where


def safe_cell(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: with an apostrophe in front, where it would.

    >>> safe_cell("=1+1"), safe_cell("a=b")
    ("'=1+1", 'a=b')
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def write_delimited(
    path: Path, names: list[str], rows: Iterable[list[str]], options: dict[str, object]
) -> None:
    """Write a table; takes its own options out of ``options``."""
    tab = path.name.removesuffix(".gz").endswith((".tsv", ".tab"))
    mark = delimiter_of(options.pop("delimiter", None)) or ("\t" if tab else ",")
    safe = switch(options.pop("safe_cells", None), "safe_cells")

    def chunks() -> Iterator[bytes]:
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, delimiter=mark, lineterminator="\r\n")
        writer.writerow(names)
        for row in rows:
            if safe:
                row = [safe_cell(cell) for cell in row]
            writer.writerow(row)
            if buffer.tell() > 1 << 20:
                yield buffer.getvalue().encode()
                buffer.seek(0)
                buffer.truncate()
        yield buffer.getvalue().encode()

    write_chunks(path, chunks())
