"""The values of a JSON file, one by one, whatever its shape: an array, a line each, or one object.

Files are read in chunks, so memory is bounded by the largest record and not by the file. What Python's
own ``json`` writes beyond the standard is understood: ``NaN`` and ``Infinity``, and halves of
surrogate pairs, which stand for no character and become U+FFFD, with a warning (a tool that cuts a
quoted text inside an emoji leaves them). Of keys that repeat the last counts.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from seqtruth.errors import DataWarning, InputError
from seqtruth.io import json_codec
from seqtruth.io.chunks import file_chunks, too_long
from seqtruth.io.json_split import Piece, Splitter
from seqtruth.limits import max_record

_BLANKS = b" \t\r\n"
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_BEYOND_STANDARD = (b"NaN", b"Infinity", b"\\ud", b"\\uD")


class JsonRecord(NamedTuple):
    """A value with its place."""

    value: Any
    where: str


def json_records(path: Path) -> Iterator[JsonRecord]:
    """The elements of a top-level array, the lines of JSON Lines, or the values that are there.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.json"
    >>> _ = path.write_text('[{"a": 1},\\n {"a": [2]}]')
    >>> [(value, where.rpartition(":")[2]) for value, where in json_records(path)]
    [({'a': 1}, '1'), ({'a': [2]}, '2')]
    """
    return records_in(file_chunks(path), str(path))


def records_in(chunks: Iterable[bytes], name: str) -> Iterator[JsonRecord]:
    """As :func:`json_records`, from bytes that come in pieces; ``name`` is for messages."""
    line, chunks = 1, iter(chunks)
    for head in chunks:
        if not head.isspace():
            break
        line += head.count(b"\n")
    else:
        raise InputError("the file is empty", where=name)
    blanks = len(head) - len(head.lstrip(_BLANKS))
    line += head.count(b"\n", 0, blanks)
    head = head[blanks:]
    if _a_value_a_line(head):
        yield from _lines(chain([head], chunks), name, line)
    elif head[:1] == b"[":
        yield from _elements(chain([head[1:]], chunks), name, line)
    else:
        yield from _values(chain([head], chunks), name, line)


def _a_value_a_line(head: bytes) -> bool:
    """Whether the first line is a whole value; of arrays, whether another follows."""
    first, newline, rest = head.partition(b"\n")
    if not newline or (first[:1] == b"[" and rest.lstrip(_BLANKS)[:1] != b"["):
        return False
    try:
        parse_json(first)
    except ValueError:
        return False
    return True


def _lines(chunks: Iterable[bytes], name: str, line: int) -> Iterator[JsonRecord]:
    waiting: list[bytes] = []
    size, most = 0, max_record()
    for chunk in chain(chunks, [b"\n"]):
        lines = chunk.split(b"\n")
        if len(lines) > 1:
            lines[0] = b"".join([*waiting, lines[0]])
            for data in lines[:-1]:
                if data and not data.isspace():
                    yield _record(data, name, line)
                line += 1
            waiting, size = [], 0
        waiting.append(lines[-1])
        size += len(lines[-1])
        if size > most:
            raise too_long(name, line)


def _elements(chunks: Iterable[bytes], name: str, line: int) -> Iterator[JsonRecord]:
    """The elements of an array whose opening bracket is left away."""
    splitter = Splitter(name, line)
    first = True
    kind = ""
    for piece in splitter.split(chunks):
        kind, data, line = piece
        if kind == "value":
            yield _record(data, name, line)
            first = False
        elif kind == "between" or kind == "last":
            yield from _between(piece, first, name)
        elif kind == "after":
            _check_after(bytes(data).removeprefix(b"]"), name, line)
    if kind != "after":
        raise _cut_off(name, line)


def _check_after(data: bytes, name: str, line: int) -> None:
    if stray := data.strip(_BLANKS):
        raise InputError(
            "something stands after the end of the JSON array",
            where=f"{name}:{line + data.count(10, 0, data.index(stray[:1]))}",
            got=repr(_excerpt(stray)),
        )


def _between(piece: Piece, first: bool, name: str) -> Iterator[JsonRecord]:
    """The comma between two elements, and elements without brackets, if there are any."""
    data = bytes(piece.data).strip(_BLANKS)
    last = piece.kind == "last"
    if data == (b"" if first or last else b","):
        return
    left, right = data[:1] == b",", data[-1:] == b","
    elements = data[left : len(data) - right]
    if left == first or right == last or not elements:
        raise InputError(
            "not JSON: elements of the array are not separated by one comma",
            where=f"{name}:{piece.line}", got=repr(_excerpt(data)),
        )  # fmt: skip
    for value in _record(b"[" + elements + b"]", name, piece.line).value:
        yield JsonRecord(value, f"{name}:{piece.line}")


def _values(chunks: Iterable[bytes], name: str, line: int) -> Iterator[JsonRecord]:
    """Objects one after the other, each over as many lines as it likes; or one value of any kind."""
    splitter = Splitter(name, line)
    found = False
    for kind, data, line in splitter.split(chunks):
        if kind == "value":
            yield _record(data, name, line)
            found = True
        elif kind == "cut off":
            raise _cut_off(name, line)
        elif stray := bytes(data).strip(_BLANKS):
            if found or kind != "end":
                raise InputError("not JSON", where=f"{name}:{line}", got=repr(_excerpt(stray)))
            yield _record(stray, name, line)
            found = True


def _record(data: bytes | memoryview, name: str, line: int) -> JsonRecord:
    try:
        value, mended = _parsed(data)
    except json.JSONDecodeError as error:
        raise _fault(bytes(data), name, line, error) from None
    if mended:
        warnings.warn(
            f"{name}:{line}: halves of surrogate pairs, which are no characters, were read as U+FFFD",
            DataWarning, stacklevel=2,
        )  # fmt: skip
    return JsonRecord(value, f"{name}:{line}")


def parse_json(data: bytes | memoryview | str) -> Any:
    """One value; :class:`json.JSONDecodeError` where it is none. A byte-order mark is passed over."""
    if isinstance(data, bytes):
        data = data.removeprefix(b"\xef\xbb\xbf")
    return _parsed(data)[0]


def _parsed(data: bytes | memoryview | str) -> tuple[Any, bool]:
    """A value, and whether halves of surrogate pairs were replaced in it."""
    try:
        return json_codec.loads(data), False
    except json.JSONDecodeError as error:
        raw = data.encode(errors="surrogatepass") if isinstance(data, str) else bytes(data)
        if not any(sign in raw for sign in _BEYOND_STANDARD):
            raise
        try:
            value = json.loads(raw)
            whole = _whole(value)
        except (ValueError, RecursionError):
            raise error from None
        return whole, whole != value


def _whole(value: Any) -> Any:
    """The value with U+FFFD for halves of surrogate pairs."""
    if isinstance(value, str):
        return _HALF_PAIR.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value


def _fault(data: bytes, name: str, line: int, error: json.JSONDecodeError) -> InputError:
    try:
        data.decode()
    except UnicodeDecodeError as fault:
        return InputError(
            "the file is not UTF-8", where=f"{name}:{line + data.count(10, 0, fault.start)}",
            got=f"byte 0x{data[fault.start]:02x}", fix="save the file as UTF-8",
        )  # fmt: skip
    if b"\0" in data:
        return InputError(
            "the file is not text", where=f"{name}:{line + data.count(10, 0, data.find(0))}",
            got="a NUL byte", fix="name the format with format=, or save the file as UTF-8 text",
        )  # fmt: skip
    near = error.doc[max(0, error.pos - 20) : error.pos + 20]
    return InputError(
        "not JSON", where=f"{name}:{line + error.doc.count(chr(10), 0, error.pos)}",
        got=f"{error.msg}, near {near!r}",
    )  # fmt: skip


def _cut_off(name: str, line: int) -> InputError:
    return InputError(
        "the file ends in the middle of the JSON",
        where=f"{name}:{line}",
        fix="export or fetch it again",
    )


def _excerpt(data: bytes) -> str:
    return data[:40].decode(errors="replace")


def json_line(value: Any) -> bytes:
    """A value as one line of JSON, with line end; numbers that are none become null."""
    return json_codec.line(value)


def json_array(values: Iterable[Any]) -> Iterator[bytes]:
    """Values as a JSON array with a line each, in pieces."""
    before = b"[\n"
    for value in values:
        yield before
        yield json_line(value)[:-1]
        before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"
