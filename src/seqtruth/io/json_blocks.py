"""Blocks of JSON lines read into columns by a kernel, as far as the records are as most are.

Only their strings that come again and again (tags, labels, annotators, documents) become Python objects, each
once a block. A record that is not plain is handed over as it stands, between the columns of those before it
and behind it, so that Python reads it or says what is wrong with it (:class:`Blocks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seqtruth.io.chunks import text_blocks
from seqtruth.io.text_batch import Texts
from seqtruth.kernels.arrays import I32, I64
from seqtruth.kernels.native import call

#: Bytes that are read together.
BLOCK = 1 << 20
#: Larger blocks (one line of hundreds of megabytes) are left to Python, which places are 32 bits here for.
_MOST = 1 << 28
#: Most records that are looked at one by one before the kernel is tried again.
_PATIENCE = 256
_PLACE, _RECORDS, _ITEMS, _TAGS, _ROWS, _NAMES, _ID_BYTES, _DATA_BYTES, _BEFORE = range(9)
U8 = npt.NDArray[np.uint8]


class _Common(NamedTuple):
    """``RecordColumns`` of ``kernels/cpp/json_lines.hpp``."""

    ids: U8
    id_ends: I32
    place: I32
    names: U8
    name_offsets: I32
    scratch: U8


class _Tokens(NamedTuple):
    """``TokenColumns``."""

    data: U8
    sizes: I32
    lengths: I32
    rows: I32
    tags: I32


class _Marks(NamedTuple):
    """``MarkColumns``."""

    data: U8
    lengths: I32
    offset: I64
    rows: I32
    spans: I32


class Records(NamedTuple):
    """Some records in a row.

    lines : the line of each. ids : their names. documents, schemes : numbers in ``names``, -1 for none.
    rows : (record, annotator); the record is -1 for an annotator who did not see it.
    """

    lines: I64
    ids: Texts
    documents: I32
    schemes: I32
    names: list[str]
    rows: I32


class TokenRecords(NamedTuple):
    """Records of tokens: ``lengths`` by record, ``tags`` row by row (numbers in ``names``, -1 for none)."""

    common: Records
    tokens: Texts
    lengths: I32
    tags: I32


class MarkRecords(NamedTuple):
    """Records of texts, with ``spans`` (row, start, end, label); ``offset`` is a text's place, or -1.

    ``data`` is the texts as UTF-8, a line end behind each, and ``lengths`` their characters.
    """

    common: Records
    data: U8
    lengths: I32
    offset: I64
    spans: I32


class Line(NamedTuple):
    """A record as it stands in the file."""

    number: int
    data: bytes


class Blocks:
    """The records of a file: runs of plain ones as columns, others one by one as lines.

    Parameters
    ----------
    path : the file.
    kind : :class:`TokenRecords` or :class:`MarkRecords`, whichever is wanted.
    """

    def __init__(self, path: Path, kind: type[TokenRecords] | type[MarkRecords]) -> None:
        self.path, self.kind = path, kind
        self._room: tuple[_Common, Any] | None = None
        self._n_records = 0  # so far; a record without an id is named by its number

    def __iter__(self) -> Iterator[Line | TokenRecords | MarkRecords]:
        for number, data in text_blocks(self.path, BLOCK):
            if len(data) > _MOST:
                for line in _singly(number, data):
                    self._n_records += 1
                    yield line
            else:
                yield from self._parts(number, data)

    def _parts(self, number: int, data: bytes) -> Iterator[Line | TokenRecords | MarkRecords]:
        buffer = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(buffer == ord("\n"))
        common, columns = self._room_for(len(data), len(ends))
        tokens = self.kind is TokenRecords
        kernel = "read_token_lines" if tokens else "read_span_lines"
        take: Callable[..., Any] = _token_records if tokens else _mark_records
        place, patience = 0, 1
        while place < len(data):
            state = np.zeros(9, np.int64)
            state[_PLACE], state[_BEFORE] = place, self._n_records
            call(kernel, buffer, common, columns, state)
            place = int(state[_PLACE])
            if state[_RECORDS]:
                patience = 1
                self._n_records += int(state[_RECORDS])
                first = np.searchsorted(ends, common.place[: state[_RECORDS], 0])
                yield take(_records(common, columns.rows, state, first + number), columns, state)
            line = int(np.searchsorted(ends, place))
            for odd in range(line, min(line + patience, len(ends))):
                end = int(ends[odd])
                if one := data[place:end].strip():
                    self._n_records += 1
                    yield Line(number + odd, one)
                place = end + 1
            patience = min(2 * patience, _PATIENCE)

    def _room_for(self, size: int, n_lines: int) -> tuple[_Common, Any]:
        """Columns with room for what a block of this size can hold."""
        if self._room is not None and len(self._room[0].ids) >= size:
            if len(self._room[0].id_ends) >= n_lines:
                return self._room
        many = size // 3 + 2  # the smallest item, "" and a comma or bracket, has three bytes
        common = _Common(
            np.empty(size, np.uint8), np.empty(n_lines, np.int32), np.empty((n_lines, 3), np.int32),
            np.empty(size, np.uint8), np.empty(many, np.int32), np.empty(size, np.uint8),
        )  # fmt: skip
        data, rows = np.empty(size, np.uint8), np.empty((many, 2), np.int32)
        columns: Any
        if self.kind is TokenRecords:
            lengths = np.empty(n_lines, np.int32)
            columns = _Tokens(
                data, np.empty(many, np.int32), lengths, rows, np.empty(many, np.int32)
            )
        else:
            spans = np.empty((size // 20 + 2, 4), np.int32)  # {"start":0,"end":1,"label":"x"}
            columns = _Marks(
                data, np.empty(n_lines, np.int32), np.empty(n_lines, np.int64), rows, spans
            )
        self._room = common, columns
        return self._room


def _singly(number: int, data: bytes) -> Iterator[Line]:
    for place, line in enumerate(data.split(b"\n"), number):
        if line and not line.isspace():
            yield Line(place, line)


def _records(common: _Common, rows: I32, state: I64, lines: I64) -> Records:
    n = int(state[_RECORDS])
    offsets = common.name_offsets[: state[_NAMES] + 1].tolist()
    names = common.names[: offsets[-1] if state[_NAMES] else 0].tobytes()
    return Records(
        lines, _texts(common.ids, common.id_ends[:n]),
        common.place[:n, 1].copy(), common.place[:n, 2].copy(),
        [names[a:b].decode() for a, b in pairwise(offsets)],
        rows[: state[_ROWS]].copy(),
    )  # fmt: skip


def _token_records(common: Records, columns: _Tokens, state: I64) -> TokenRecords:
    sizes = columns.sizes[: state[_ITEMS]].copy()
    tokens = Texts(sizes, columns.data[: state[_DATA_BYTES]].copy())
    lengths = columns.lengths[: len(common.lines)].copy()
    return TokenRecords(common, tokens, lengths, columns.tags[: state[_TAGS]].copy())


def _mark_records(common: Records, columns: _Marks, state: I64) -> MarkRecords:
    n = len(common.lines)
    return MarkRecords(
        common, columns.data[: state[_DATA_BYTES]].copy(), columns.lengths[:n].copy(),
        columns.offset[:n].copy(), columns.spans[: state[_ITEMS]].copy(),
    )  # fmt: skip


def _texts(data: U8, ends: I32) -> Texts:
    """Texts whose bytes stand one after the other."""
    return Texts(np.diff(ends, prepend=0).astype(np.int32), data[: int(ends[-1])].copy())


def strings_of(texts: Texts) -> list[str]:
    """Texts as Python strings."""
    ends = np.cumsum(texts.sizes).tolist()
    data = texts.data.tobytes()
    if data.isascii():
        whole = data.decode()
        return [whole[a:b] for a, b in pairwise([0, *ends])]
    return [data[a:b].decode() for a, b in pairwise([0, *ends])]
