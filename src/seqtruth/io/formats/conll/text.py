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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.errors import InputError
from seqtruth.io.chunks import text_blocks
from seqtruth.io.formats.conll.cells import U8, Cells, Room, count_cells, find_lines, read_cells
from seqtruth.io.growing import Growing, GrowingTexts, counting, string_array
from seqtruth.kernels.arrays import I64, MAX_ONE_BYTE_LABELS, Bool

MISSING = "?"
DOCSTART = "-DOCSTART-"
_NAME = re.compile(r"\w[\w ]*", re.ASCII)
#: Bytes that are looked at together.
_BLOCK = 1 << 21
#: Bytes of a file for which room is taken at once.
_FORESEEN = 1 << 30
_HEADER = re.compile(r"(#?)[ \t]*token[ \t]+(\S.*)")
_BARE_HEADER = re.compile(rb"#[ \t]*token[ \t\r]*")
_LOOKS_LIKE_TAG = re.compile(r"[?O]|[BIESLU]-.*")
_ID_KEYS, _DOC_KEYS = ("id", "sent_id"), ("doc", "newdoc id")
_OPENING = frozenset(_ID_KEYS + _DOC_KEYS)


class TokenLines(NamedTuple):
    """The line of each token: they follow each other, but for the lines between sentences."""

    first: I64  #: tokens before which there are such
    shift: I64  #: line less token, from there on

    def of(self, token: int) -> int:
        """The line of a token, counted from 1."""
        return int(self.shift[np.searchsorted(self.first, token, "right") - 1] + token + 1)


class Sheet(NamedTuple):
    """One CoNLL file: sentences, and one column of tag numbers for each annotator."""

    path: Path
    token_offsets: I64
    tokens: pa.Array
    lines: TokenLines
    ids: pa.Array
    id_lines: I64  #: line of each sentence's id or first token
    has_ids: bool
    documents: list[str] | None  #: of each sentence; None where there are none
    names: list[str] | None  #: annotators from the header
    labels: list[str]
    codes: npt.NDArray[np.signedinteger[Any]]  #: [tokens, columns], -1 for ``?``
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
    blocks = (block for _, block in text_blocks(path, _BLOCK))
    size = path.stat().st_size if path.is_file() else 0
    return _read(path, blocks, True, min(size, _FORESEEN))


def parse_lines(path: Path, data: bytes, tags: bool = True) -> Sheet:
    """Read the content of one file.

    Without ``tags``, the sheet has no tag columns. The file may then have one column only, or,
    where it is tab-separated, lines without tags.
    """
    return _read(path, _blocks(data), tags, len(data))


def _read(path: Path, blocks: Iterator[bytes], tags: bool, size: int) -> Sheet:
    """Read block by block, so that what is counted in one stays small; ``size`` bytes are expected."""
    reader = _Reader(path, tags, size)
    for block in blocks:
        if not reader.n_lines and b"\n" not in block[:-1] and b"\r" in block[:-1]:
            block = block.replace(b"\r", b"\n")  # line ends of old Macs
        reader.add(block)
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

    def __init__(self, path: Path, tags: bool, size: int) -> None:
        self.path, self.tags = path, tags
        self.layout = _Layout([], None, -1)
        self.n_lines = 0
        self._size, self._foreseen = size, 0  # bytes of the file, and tokens in it
        self._space = Room()
        self._gap: npt.NDArray[np.bool_] | None = None
        self._tabbed, self._columns = False, 0
        self._names: list[str] | None = None
        self._numbers: dict[str, int] = {}
        self._opens = Growing(np.int64)  # lines of the first token after a border
        self._first, self._shift = Growing(np.int64), Growing(np.int64)
        self._tokens = GrowingTexts()
        self._codes: Growing | None = None
        self._last = -2  # line of the last token; none is before the first
        self._border = True  # whether a border came since

    def add(self, data: bytes) -> None:
        """Find a block's lines, cells and tags."""
        buffer = np.frombuffer(data, np.uint8)
        starts, ends, is_token = find_lines(buffer, self._space)
        border = _find_comments(self.layout, data, buffer, (starts, ends, is_token), self.n_lines)
        rows = np.flatnonzero(is_token)
        if not self.tags and self._gap is None and len(rows):
            if _BARE_HEADER.fullmatch(data[starts[rows[0]] : ends[rows[0]]]):
                rows = rows[1:]
        if len(rows):
            self._add_lines(rows, border)
            self._add_rows(data, buffer, (starts, ends), rows)
        else:
            self._border |= bool(border.any())
        self.n_lines += len(starts)

    def _add_lines(self, rows: I64, border: Bool) -> None:
        """Note where sentences begin, and which lines the tokens are on."""
        before = np.concatenate([[self._last - self.n_lines], rows[:-1]])
        after_gap = np.flatnonzero(rows != before + 1)
        # a gap is a border unless all its lines are comments that end no sentence
        quiet = np.flatnonzero(~border)
        quiet = quiet[np.isin(quiet, rows, invert=True)] if len(quiet) > len(rows) else quiet[:0]
        at, since = rows[after_gap], np.maximum(before[after_gap], -1)
        between = np.searchsorted(quiet, at) - np.searchsorted(quiet, since, "right")
        passed = at - since - 1 > between
        passed[: int(len(after_gap) > 0 and after_gap[0] == 0)] |= self._border
        opens = after_gap[passed]
        self._opens.append(rows[opens] + self.n_lines)
        self._first.append(after_gap + self._tokens.size)
        self._shift.append(rows[after_gap] + self.n_lines - after_gap - self._tokens.size)
        self._last = int(rows[-1]) + self.n_lines
        self._border = bool(border[rows[-1] :].any())

    def _add_rows(self, data: bytes, buffer: U8, lines: tuple[I64, I64], rows: I64) -> None:
        starts, ends = lines
        if self._gap is None:
            first = data[starts[rows[0]] : ends[rows[0]]].rstrip(b"\r")
            self._tabbed = b"\t" in first and b" " not in first.split(b"\t", 1)[1]
            self._names = _names(self.path, self.layout) if self.tags else None
            self._gap = np.zeros(256, np.bool_)
            self._gap[[9, 10] if self._tabbed else [9, 10, 11, 12, 13, 32]] = True
            self._columns = int(count_cells(buffer, starts, ends, rows[:1], self._gap)[0])
            self._check_columns(data, lines, rows[:1], np.array([self._columns]))
        wanted = self._columns if self._names is None else len(self._names) + 1
        exact = self.tags or not self._tabbed
        if not exact:
            _check_first_cells(f"{self.path}", buffer, starts, rows, self.n_lines)
        wanted = wanted if exact else 0
        found = read_cells(buffer, (starts, ends, rows), self._gap, wanted, self._space)
        if found is None:
            counts = count_cells(buffer, starts, ends, rows, self._gap)
            self._check_columns(data, lines, rows, counts)
            raise AssertionError("lines with another number of columns were to be told")
        if not self._tokens.size:
            blocks = self._size / len(data)
            self._foreseen = int(blocks * len(rows))
            self._tokens.reserve(self._foreseen, int(blocks * len(found.tokens.data)))
        self._tokens.append(found.tokens)
        if self.tags:
            self._add_codes(found)

    def _add_codes(self, found: Cells) -> None:
        """Each tag's number among the different ones of the file (-1 for ``?``)."""
        known = self._numbers
        numbers = np.array(
            [-1 if name == MISSING else known.setdefault(name, len(known)) for name in found.names],
            np.int32,
        )
        small = len(known) <= MAX_ONE_BYTE_LABELS
        kind = np.dtype(np.int8 if small else np.int16 if len(known) < 1 << 15 else np.int32)
        if self._codes is None:
            self._codes = Growing(kind, self._columns - 1)
            self._codes.reserve(self._foreseen)
        self._codes.widen(kind)
        self._codes.append(numbers.astype(kind)[found.codes])

    def _check_columns(self, data: bytes, lines: tuple[I64, I64], rows: I64, counts: I64) -> None:
        if not self.tags and self._tabbed:
            return
        names, fewest = self._names, 2 if self.tags else 1
        expected = self._columns if names is None else len(names) + 1
        bad = np.flatnonzero(counts != expected)
        if expected < fewest:
            raise InputError(
                "a line needs a token and at least one tag",
                where=f"{self.path}:{self.n_lines + rows[0] + 1}",
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
            where=f"{self.path}:{self.n_lines + line + 1}",
            got=repr(text[:60]),
            fix=fix,
        )

    def sheet(self) -> Sheet:
        """All blocks together."""
        n_tokens = self._tokens.size
        if not n_tokens:
            raise InputError("the file has no tokens", where=str(self.path))
        lines = TokenLines(self._first.whole(), self._shift.whole())
        opens = self._opens.whole()
        first_lines, ids, has_ids, documents = _sentences(self.path, self.layout.comments, opens)
        # the last token before a line is that of the last run that begins before it
        ends = np.concatenate([lines.first[1:], [n_tokens]])
        run = np.searchsorted(lines.first + lines.shift, first_lines, "right") - 1
        inside = np.minimum(first_lines - lines.shift[run], ends[run])
        offsets = np.where(run < 0, 0, inside)
        codes: npt.NDArray[Any] = np.zeros((n_tokens, 0), np.int8)
        if self._codes is not None:
            codes = self._codes.whole()
        schemes = [value for _, key, value in self.layout.comments if key == "scheme"]
        return Sheet(
            self.path, np.append(offsets, n_tokens), self._tokens.whole(), lines, ids, first_lines + 1,
            has_ids, documents, self._names, list(self._numbers), codes,
            schemes[0] if schemes else None,
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
    path: Path, comments: list[tuple[int, str, str]], opens: I64
) -> tuple[I64, pa.Array, bool, list[str] | None]:
    """First line, id and document of each sentence, and whether any id was given.

    A sentence begins at each token line that has a border between it and the one before (``opens``), and at
    each id comment, so that a sentence without tokens can be kept.
    """
    told = [one for one in comments if one[1] in (*_ID_KEYS, *_DOC_KEYS, DOCSTART)]
    if not told:
        return opens, counting(len(opens)), False, None
    events = [(line, "", "") for line in opens.tolist()] + told
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
    _check_ids(path, ids, first_lines)
    has_ids = any(name is not None for name in given)
    return np.array(first_lines, np.int64), string_array(ids), has_ids, documents


def _check_ids(path: Path, ids: list[str], lines: list[int]) -> None:
    if len(set(ids)) == len(ids):
        return
    seen: dict[str, int] = {}
    for name, line in zip(ids, lines, strict=True):
        if seen.setdefault(name, line) != line:
            raise InputError(
                f"sentence id {name!r} is given twice",
                where=f"{path}:{line + 1}",
                got=f"the first on line {seen[name] + 1}",
                fix="give each sentence an id of its own",
            )
