"""Splitting CoNLL text into columns by array passes over its bytes.

Only ASCII spaces and tabs separate columns, so that tokens may hold any other character. A file
whose first token line has a tab and no space after it is *tab-separated*: there, tokens may hold
spaces. Lines that begin with ``#`` and a space, and read ``# name = value``, are comments; those
that begin with ``-DOCSTART-`` are borders between documents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.errors import InputError
from seqtruth.io.crowd_columns import whole
from seqtruth.io.files import read_text
from seqtruth.io.formats.conll.cells import (
    U8,
    count_cells,
    find_cells,
    find_lines,
    number_cells,
    texts,
)
from seqtruth.kernels.arrays import I32, I64, Bool

MISSING = "?"
DOCSTART = "-DOCSTART-"
_NAME = re.compile(r"\w[\w ]*", re.ASCII)
#: Bytes that are looked at together.
_BLOCK = 1 << 22
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


@dataclass
class _Layout:
    """What lines say that hold no tokens."""

    comments: list[tuple[int, str, str]]  #: line index, key, value
    header: list[str] | None  #: annotators' names
    header_line: int


def parse_sheet(path: Path) -> Sheet:
    """Read one file; every fault names its line."""
    return parse_lines(path, read_text(path))


def parse_lines(path: Path, data: bytes, tags: bool = True) -> Sheet:
    """Read the content of one file, block by block, so that what is counted in it stays small.

    Without ``tags``, the sheet has no tag columns. The file may then have one column only, or,
    where it is tab-separated, lines without tags.
    """
    if b"\r" in data[:_BLOCK] and b"\n" not in data:  # line ends of old Macs
        data = data.replace(b"\r", b"\n")
    reader = _Reader(path, tags)
    block = b""
    for block in _blocks(data):
        reader.add(block)
    del data, block  # all is in the reader now
    return reader.sheet()


def _blocks(data: bytes) -> Iterator[bytes]:
    """The file in pieces that end where lines do."""
    place = 0
    while place < len(data):
        end = data.rfind(b"\n", place, place + _BLOCK) + 1 or data.find(b"\n", place) + 1
        block = data[place:end] if end else data[place:]
        place += len(block)
        yield block if end else block + b"\n"


class _Reader:
    """Takes the blocks of a file, and makes a sheet of them."""

    def __init__(self, path: Path, tags: bool) -> None:
        self.path, self.tags = path, tags
        self.layout = _Layout([], None, -1)
        self._n_lines = self._n_borders = 0
        self._gap: npt.NDArray[np.bool_] | None = None
        self._tabbed, self._columns = False, 0
        self._names: list[str] | None = None
        self._numbers: dict[str, int] = {}
        self._lines: list[I64] = []
        self._ranks: list[I64] = []
        self._tokens: list[pa.Array] = []
        self._codes: list[I32] = []

    def add(self, data: bytes) -> None:
        """Find a block's lines, cells and tags."""
        buffer = np.frombuffer(data, np.uint8)
        starts, ends, is_token = find_lines(buffer)
        border = _find_comments(self.layout, data, buffer, (starts, ends, is_token), self._n_lines)
        rows = np.flatnonzero(is_token)
        if not self.tags and self._gap is None and len(rows):
            if _BARE_HEADER.fullmatch(data[starts[rows[0]] : ends[rows[0]]]):
                rows = rows[1:]
        if len(rows):
            self._add_rows(data, buffer, (starts, ends), rows)
            self._lines.append(rows + self._n_lines)
            self._ranks.append(np.cumsum(border)[rows] + self._n_borders)
        self._n_lines += len(starts)
        self._n_borders += int(border.sum())

    def _add_rows(self, data: bytes, buffer: U8, lines: tuple[I64, I64], rows: I64) -> None:
        starts, ends = lines
        if self._gap is None:
            first = data[starts[rows[0]] : ends[rows[0]]].rstrip(b"\r")
            self._tabbed = b"\t" in first and b" " not in first.split(b"\t", 1)[1]
            self._names = _names(self.path, self.layout) if self.tags else None
            self._gap = np.zeros(256, np.bool_)
            self._gap[[9, 10] if self._tabbed else [9, 10, 11, 12, 13, 32]] = True
        counts = count_cells(buffer, starts, ends, rows, self._gap)
        self._columns = self._columns or int(counts[0])
        if self.tags or not self._tabbed:
            self._check_columns(data, lines, rows, counts)
        else:
            _check_first_cells(f"{self.path}", buffer, starts, rows, self._n_lines)
        first_byte, last_byte = find_cells(buffer, starts, ends, rows, self._gap, int(counts.sum()))
        if self.tags:
            self._codes.append(self._numbered(buffer, first_byte, last_byte))
        words = np.cumsum(counts) - counts
        self._tokens.append(texts(buffer, first_byte[words], last_byte[words]))

    def _numbered(self, buffer: U8, first: I64, last: I64) -> I32:
        """Each tag's number among the different ones of the file (-1 for ``?``)."""
        codes, firsts = number_cells(buffer, first, last, self._columns)
        known = self._numbers
        labels: list[str] = texts(buffer, first[firsts], last[firsts]).to_pylist()
        numbers = np.array(
            [-1 if label == MISSING else known.setdefault(label, len(known)) for label in labels],
            np.int32,
        )
        return np.asarray(numbers[codes], np.int32)

    def _check_columns(self, data: bytes, lines: tuple[I64, I64], rows: I64, counts: I64) -> None:
        names, fewest = self._names, 2 if self.tags else 1
        expected = self._columns if names is None else len(names) + 1
        bad = np.flatnonzero(counts != expected)
        if expected < fewest:
            raise InputError(
                "a line needs a token and at least one tag",
                where=f"{self.path}:{self._n_lines + rows[0] + 1}",
                got="1 column",
                fix="separate token and tags by tabs or spaces",
            )
        if not len(bad):
            return
        line = int(rows[bad[0]])
        text = data[lines[0][line] : lines[1][line]].decode().rstrip("\r")
        fix = "write '?' where an annotator gave no tag"
        if text.startswith("# "):
            fix = "comments read '# name = value'"
        elif text.count("\t") + 1 == expected:
            fix = "a column is empty; write '?' where an annotator gave no tag"
        basis = "the lines before have" if names is None else "the header has"
        raise InputError(
            f"{counts[bad[0]]} column{'s' if counts[bad[0]] != 1 else ''} where {basis} {expected}",
            where=f"{self.path}:{self._n_lines + line + 1}",
            got=repr(text[:60]),
            fix=fix,
        )

    def sheet(self) -> Sheet:
        """All blocks together."""
        if not self._lines:
            raise InputError("the file has no tokens", where=str(self.path))
        rows, ranks = whole(self._lines, np.int64), whole(self._ranks, np.int64)
        offsets, ids, id_lines, has_ids, documents = _sentences(
            self.path, self.layout.comments, rows, ranks
        )
        codes = whole(self._codes, np.int32) if self.tags else np.zeros((len(rows), 0), np.int32)
        schemes = [value for _, key, value in self.layout.comments if key == "scheme"]
        return Sheet(
            self.path, offsets, pa.concat_arrays(self._tokens), rows + 1, ids, id_lines, has_ids,
            documents, self._names, list(self._numbers), codes, schemes[0] if schemes else None,
        )  # fmt: skip


def _find_comments(
    layout: _Layout, data: bytes, buffer: U8, found: tuple[I64, I64, Bool], before: int
) -> Bool:
    """Put a block's comments and header into the layout, and take them from the lines of tokens.

    Returns which lines end a sentence. ``before`` is the number of lines before the block.
    """
    starts, ends, is_token = found
    border = ~is_token
    filled = np.flatnonzero(is_token)
    opening = buffer[starts]
    special = is_token & ((opening == ord("#")) | (opening == ord("-")))
    if not before:
        special[filled[:1]] = True
    lines = np.flatnonzero(special)
    ranks = np.searchsorted(filled, lines)
    columns = (column.tolist() for column in (lines, starts[lines], ends[lines], ranks))
    for line, start, end, rank in zip(*columns, strict=True):
        text = data[start:end].decode().rstrip("\r")
        at_top = not before and layout.header is None and rank == len(layout.comments)
        if at_top and (names := _header(text)):
            layout.header, layout.header_line = names, line
            is_token[line] = False
        elif comment := comment_in(text):
            layout.comments.append((before + line, *comment))
            is_token[line] = False
            border[line] |= comment[0] in _OPENING
        elif re.match(rf"{DOCSTART}([ \t]|$)", text):
            layout.comments.append((before + line, DOCSTART, ""))
            is_token[line] = False
            border[line] = True
    return border


def comment_in(text: str) -> tuple[str, str] | None:
    """Name and value of a comment ``# name = value``; None where the line is none.

    >>> comment_in("# sent_id = a = b"), comment_in("#hash O"), comment_in("# 1 O")
    (('sent_id', 'a = b'), None, None)
    """
    if not text.startswith("# "):
        return None
    name, sign, value = text.partition("=")
    name = name[1:].strip(" ")
    return (name, value.strip()) if sign and _NAME.fullmatch(name) else None


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
        counts = Counter(names)
        twice = next(name for name in names if counts[name] > 1)
        raise InputError(
            f"annotator {twice!r} has two columns", where=where, fix="give each column its own name"
        )
    return names


def _check_first_cells(path: str, buffer: U8, starts: I64, rows: I64, before: int) -> None:
    """Raise where the first column of a tab-separated file is empty."""
    empty = buffer[starts[rows]] == 9
    if empty.any() and not empty.all():
        raise InputError(
            "the token is empty", where=f"{path}:{before + rows[np.argmax(empty)] + 1}"
        )


def _sentences(
    path: Path, comments: list[tuple[int, str, str]], rows: I64, ranks: I64
) -> tuple[npt.NDArray[np.int64], list[str], list[int], bool, list[str]]:
    """Cut the token lines into sentences and hand out ids and documents.

    ``ranks`` counts the borders up to each line of ``rows``.
    """
    # A sentence begins at each token line that has a border between it and the one before, and at
    # each id comment (so that a sentence without tokens can be kept).
    opens = rows[np.flatnonzero(np.diff(ranks, prepend=-1) > 0)]
    events: list[tuple[int, str, str]] = [(int(line), "", "") for line in opens]
    events += [c for c in comments if c[1] in (*_ID_KEYS, *_DOC_KEYS, DOCSTART)]
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
