"""Splitting CoNLL text into columns by array passes over its bytes.

Only ASCII spaces and tabs separate columns, so that tokens may hold any other character. A file
whose first token line has a tab and no space after it is *tab-separated*: there, tokens may hold
spaces. Lines that begin with ``#`` and a space, and read ``# name = value``, are comments; those
that begin with ``-DOCSTART-`` are borders between documents.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.errors import InputError
from seqtruth.io.files import read_text
from seqtruth.io.formats.conll.cells import (
    U8,
    count_cells,
    find_cells,
    find_lines,
    number_cells,
    texts,
)
from seqtruth.kernels.arrays import I32, I64

MISSING = "?"
DOCSTART = "-DOCSTART-"
COMMENT = re.compile(r"# +(\w[\w ]*?) *= *(.*)", re.DOTALL | re.ASCII)
_HEADER = re.compile(r"(#?)[ \t]*token[ \t]+(\S.*)")
_BARE_HEADER = re.compile(rb"#[ \t]*token[ \t\r]*")
_LOOKS_LIKE_TAG = re.compile(r"[?O]|[BIESLU]-.*")
_ID_KEYS, _DOC_KEYS = ("id", "sent_id"), ("doc", "newdoc id")
_OPENING = frozenset(_ID_KEYS + _DOC_KEYS)


class Sheet(NamedTuple):
    """One CoNLL file: sentences, and one column of tag numbers for each annotator."""

    path: Path
    token_offsets: npt.NDArray[np.int64]
    tokens: pa.Array
    lines: npt.NDArray[np.int64]  #: line of each token
    ids: list[str]
    id_lines: list[int]  #: line of each sentence's id or first token
    has_ids: bool
    documents: list[str]
    names: list[str] | None  #: annotators from the header
    labels: list[str]
    codes: npt.NDArray[np.int32]  #: [tokens, columns], -1 for ``?``
    scheme: str | None

    def at(self, line: int) -> str:
        return f"{self.path}:{line}"


class _Layout(NamedTuple):
    """Which lines are what."""

    is_token: npt.NDArray[np.bool_]
    border: npt.NDArray[np.bool_]  #: lines that end a sentence
    comments: list[tuple[int, str, str]]  #: line index, key, value
    header: list[str] | None  #: annotators' names
    header_line: int


def parse_sheet(path: Path) -> Sheet:
    """Read one file; every fault names its line."""
    return parse_lines(path, read_text(path))


def parse_lines(path: Path, data: bytes, tags: bool = True) -> Sheet:
    """Read the content of one file.

    Without ``tags``, the sheet has no tag columns. The file may then have one column only, or,
    where it is tab-separated, lines without tags.
    """
    if not data.endswith(b"\n"):
        data += b"\n"
    buffer = np.frombuffer(data, np.uint8)
    starts, ends, filled = find_lines(buffer)
    layout = _layout(data, buffer, starts, ends, filled)
    rows = np.flatnonzero(layout.is_token)
    if not tags and len(rows) and _BARE_HEADER.fullmatch(data[starts[rows[0]] : ends[rows[0]]]):
        layout.is_token[rows[0]] = False
        rows = rows[1:]
    if not len(rows):
        raise InputError("the file has no tokens", where=str(path))
    first = data[starts[rows[0]] : ends[rows[0]]].rstrip(b"\r")
    tabbed = b"\t" in first and b" " not in first.split(b"\t", 1)[1]
    names = _names(path, layout) if tags else None
    gap = np.zeros(256, np.bool_)
    gap[[9, 10] if tabbed else [9, 10, 11, 12, 13, 32]] = True
    counts = count_cells(buffer, starts, ends, rows, gap)
    if tags or not tabbed:
        _check_columns(path, data, starts, ends, rows, counts, names, 2 if tags else 1)
    else:
        _check_first_cells(path, buffer, starts, rows)
    first_byte, last_byte = find_cells(buffer, starts, ends, rows, gap, int(counts.sum()))
    labels: list[str] = []
    codes = np.zeros((len(rows), 0), np.int32)
    if tags:
        labels, codes = _numbered(buffer, first_byte, last_byte, int(counts[0]))
    offsets, ids, id_lines, has_ids, documents = _sentences(path, layout, rows)
    words = np.cumsum(counts) - counts
    tokens = texts(buffer, first_byte[words], last_byte[words])
    schemes = [value for _, key, value in layout.comments if key == "scheme"]
    return Sheet(
        path, offsets, tokens, rows + 1, ids, id_lines, has_ids, documents, names,
        labels, codes, schemes[0] if schemes else None,
    )  # fmt: skip


def _layout(
    data: bytes,
    buffer: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    is_token: npt.NDArray[np.bool_],
) -> _Layout:
    border = ~is_token
    comments: list[tuple[int, str, str]] = []
    header, header_line = None, -1
    filled = np.flatnonzero(is_token)
    opening = buffer[starts]
    special = is_token & ((opening == ord("#")) | (opening == ord("-")))
    special[filled[:1]] = True
    lines = np.flatnonzero(special)
    ranks = np.searchsorted(filled, lines)
    found = (column.tolist() for column in (lines, starts[lines], ends[lines], ranks))
    for line, start, end, rank in zip(*found, strict=True):
        text = data[start:end].decode().rstrip("\r")
        at_top = header is None and rank == len(comments)
        if at_top and (names := _header(text)):
            header, header_line = names, line
            is_token[line] = False
            continue
        if comment := COMMENT.fullmatch(text):
            comments.append((line, comment[1], comment[2].strip()))
            is_token[line] = False
        elif re.match(rf"{DOCSTART}([ \t]|$)", text):
            comments.append((line, DOCSTART, ""))
            is_token[line] = False
            border[line] = True
    border[[line for line, key, _ in comments if key in _OPENING]] = True
    return _Layout(is_token, border, comments, header, header_line)


def _header(line: str) -> list[str] | None:
    """The annotators of a header line; None where the line is none."""
    found = _HEADER.fullmatch(line)
    if found is None:
        return None
    names = found[2].split("\t") if "\t" in line else found[2].split()
    if not found[1] and any(_LOOKS_LIKE_TAG.fullmatch(name) for name in names):
        return None  # a sentence that begins with the word "token"
    return names


def _names(path: Path, layout: _Layout) -> list[str] | None:
    if layout.header is None:
        return None
    names = layout.header
    where = f"{path}:{layout.header_line + 1}"
    if "" in names:
        raise InputError("an annotator's name in the header is empty", where=where)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"annotator {twice!r} has two columns", where=where, fix="give each column its own name"
        )
    return names


def _numbered(buffer: U8, first: I64, last: I64, n_columns: int) -> tuple[list[str], I32]:
    """The different tags as labels, and each tag's number among them (-1 for ``?``)."""
    codes, firsts = number_cells(buffer, first, last, n_columns)
    labels: list[str] = texts(buffer, first[firsts], last[firsts]).to_pylist()
    if MISSING in labels:
        codes[codes == labels.index(MISSING)] = -1
    return labels, codes


def _check_columns(
    path: Path,
    data: bytes,
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    names: list[str] | None,
    fewest: int,
) -> None:
    expected = int(counts[0]) if names is None else len(names) + 1
    bad = np.flatnonzero(counts != expected)
    if expected < fewest:
        raise InputError(
            "a line needs a token and at least one tag",
            where=f"{path}:{rows[0] + 1}",
            got="1 column",
            fix="separate token and tags by tabs or spaces",
        )
    if not len(bad):
        return
    line = int(rows[bad[0]])
    text = data[starts[line] : ends[line]].decode().rstrip("\r")
    fix = "write '?' where an annotator gave no tag"
    if text.startswith("# "):
        fix = "comments read '# name = value'"
    elif text.count("\t") + 1 == expected:
        fix = "a column is empty; write '?' where an annotator gave no tag"
    basis = "the lines before have" if names is None else "the header has"
    raise InputError(
        f"{counts[bad[0]]} column{'s' if counts[bad[0]] != 1 else ''} where {basis} {expected}",
        where=f"{path}:{line + 1}",
        got=repr(text[:60]),
        fix=fix,
    )


def _check_first_cells(
    path: Path,
    buffer: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
) -> None:
    """Raise where the first column of a tab-separated file is empty."""
    empty = buffer[starts[rows]] == 9
    if empty.any() and not empty.all():
        raise InputError("the token is empty", where=f"{path}:{rows[np.argmax(empty)] + 1}")


def _sentences(
    path: Path, layout: _Layout, rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], list[str], list[int], bool, list[str]]:
    """Cut the token lines into sentences and hand out ids and documents."""
    # A sentence begins at each token line that has a border between it and the one before, and at
    # each id comment (so that a sentence without tokens can be kept).
    borders = np.concatenate([[0], np.cumsum(layout.border)])
    opens = rows[np.flatnonzero(np.diff(borders[rows], prepend=-1) > 0)]
    events: list[tuple[int, str, str]] = [(int(line), "", "") for line in opens]
    events += [c for c in layout.comments if c[1] in (*_ID_KEYS, *_DOC_KEYS, DOCSTART)]
    first_lines: list[int] = []
    given: list[str | None] = []
    documents: list[str] = []
    document, n_documents, waiting, last = "", 0, False, -1
    for line, key, value in sorted(events):
        if key == DOCSTART:
            n_documents += 1
            document = str(n_documents)
        elif key in _DOC_KEYS:
            document = value
            if waiting and line == last + 1:  # the id stood just above
                documents[-1] = value
        elif key in _ID_KEYS or not waiting:
            first_lines.append(line)
            given.append(value if key in _ID_KEYS else None)
            documents.append(document)
        waiting, last = key in _ID_KEYS or (waiting and key in _DOC_KEYS), line
    ids = [str(number) if name is None else name for number, name in enumerate(given)]
    seen: dict[str, int] = {}
    for name, line in zip(ids, first_lines, strict=True):
        if seen.setdefault(name, line) != line:
            raise InputError(
                f"sentence id {name!r} is given twice",
                where=f"{path}:{line + 1}",
                got=f"the first on line {seen[name] + 1}",
                fix="give each sentence an id of its own",
            )
    offsets = np.searchsorted(rows, np.append(first_lines, rows[-1] + 1)).astype(np.int64)
    has_ids = any(name is not None for name in given)
    return offsets, ids, [line + 1 for line in first_lines], has_ids, documents
