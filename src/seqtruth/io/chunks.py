"""A file's bytes in pieces of bounded size, unpacked where it is gzip, with its faults placed.

How far a large file is read is logged once a second, which is what the command line shows.
"""

from __future__ import annotations

import codecs
import gzip
import logging
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, cast

import numpy as np

from seqtruth.errors import InputError
from seqtruth.kernels.native import call
from seqtruth.limits import check_unpacked, max_record

#: Small enough to stay in a processor's cache while it is looked through.
CHUNK = 1 << 18
#: Seconds between two lines of the log.
EVERY = 1.0
_BOM = b"\xef\xbb\xbf"
#: Byte-order marks of UTF-16.
WIDE = (b"\xff\xfe", b"\xfe\xff")
_log = logging.getLogger("seqtruth.io")


def file_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, without byte-order mark; what unpacks to too much is refused."""
    try:
        with open(path, "rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            file = cast(IO[bytes], gzip.GzipFile(fileobj=raw) if packed else raw)
            size = os.fstat(raw.fileno()).st_size
            unpacked, told = 0, time.perf_counter()
            for chunk in stream_chunks(file, str(path)):
                unpacked += len(chunk)
                if packed:
                    check_unpacked(unpacked, size, str(path))
                if unpacked % (CHUNK << 4) < CHUNK and (now := time.perf_counter()) > told + EVERY:
                    told = now
                    _tell(path, raw.tell(), size)
                yield chunk
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            "the gzip file is damaged", where=str(path), got=str(error), fix="fetch it again"
        ) from None
    except OSError as error:
        raise InputError(
            "cannot read the file", where=str(path), got=error.strerror or type(error).__name__
        ) from None
    except ValueError as error:  # a NUL byte in the name
        raise InputError("not a file name", got=repr(str(path)), fix=str(error)) from None


def _tell(path: Path, place: int, size: int) -> None:
    if size:
        done = f"{min(100, 100 * place // size)} % of {size / 1e6:,.0f} MB"
    else:
        done = f"{place / 1e6:,.0f} MB"
    _log.info("reading %s: %s", path.name, done)


def stream_chunks(file: IO[bytes], name: str) -> Iterator[bytes]:
    """The bytes of an open file, without byte-order mark; UTF-16 with such a mark becomes UTF-8."""
    chunk = file.read(CHUNK)
    if chunk[:2] in WIDE:
        yield from _from_utf16(chain([chunk], iter(lambda: file.read(CHUNK), b"")), name)
        return
    chunk = chunk.removeprefix(_BOM)
    while chunk:
        yield chunk
        chunk = file.read(CHUNK)


def _from_utf16(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")()
    try:
        for chunk in chunks:
            if text := decoder.decode(chunk):
                yield text.encode()
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise InputError(
            "the file is not the UTF-16 that its byte-order mark says", where=name, got=error.reason,
            fix="save the file as UTF-8",
        ) from None  # fmt: skip


def as_utf8(data: bytes, name: str) -> bytes:
    """The content of a text file without byte-order mark; UTF-16 with such a mark becomes UTF-8."""
    if data[:2] in WIDE:
        return b"".join(_from_utf16([data], name))
    return data.removeprefix(_BOM)


def text_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines of a text file with their numbers, without line ends: UTF-8, no NUL bytes, not all blank."""
    for number, data in text_blocks(path):
        yield from enumerate(data[:-1].split(b"\n"), number)


def text_blocks(path: Path, size: int = CHUNK) -> Iterator[tuple[int, bytes]]:
    """Whole lines, about ``size`` bytes at once, with the number of the first; all end in a line feed.

    They are UTF-8, without NUL bytes, and not all of them blank.
    """
    number, blank = 1, True
    waiting: list[bytes] = []
    held = unfinished = 0  # bytes that wait, and those of them after the last line end
    most = max_record()
    for chunk in chain(file_chunks(path), [b"\n"]):
        first, cut = chunk.find(b"\n"), chunk.rfind(b"\n") + 1
        if unfinished + (first if cut else len(chunk)) > most:
            raise too_long(str(path), number + sum(part.count(b"\n") for part in waiting))
        unfinished = len(chunk) - cut + (0 if cut else unfinished)
        waiting.append(chunk)
        held += len(chunk)
        if not cut or (held < size and chunk != b"\n"):
            continue
        waiting[-1], rest = chunk[:cut], chunk[cut:]
        data = b"".join(waiting)
        waiting, held = [rest], len(rest)
        check_text(data, path, number)
        blank = blank and data.isspace()
        yield number, data
        number += call("count_lines", np.frombuffer(data, np.uint8))
    if blank:
        raise InputError("the file is empty", where=str(path))


def too_long(name: str, line: int) -> InputError:
    """What is said of a record without end."""
    return InputError(
        "one record is too large", where=f"{name}:{line}",
        got=f"more than {max_record() >> 20} MB without an end",
        fix="export in smaller parts, or as JSON Lines; or raise SEQTRUTH_MAX_RECORD",
    )  # fmt: skip


def check_text(data: bytes, path: Path, line: int = 1) -> None:
    """Raise where ``data``, which begins on ``line``, is not UTF-8 or holds NUL bytes, with line and byte."""
    if data[:2] in WIDE:
        raise InputError(
            "the file is not UTF-8",
            where=f"{path}:{line}",
            got="a UTF-16 byte-order mark",
            fix="save the file as UTF-8",
        )
    nul = data.find(b"\0")
    if nul >= 0:
        raise InputError(
            "the file is not text",
            where=f"{path}:{line + data.count(10, 0, nul)}",
            got="a NUL byte",
            fix="name the format with format=, or save the file as UTF-8 text",
        )
    if data.isascii() or call("find_not_utf8", np.frombuffer(data, np.uint8)) < 0:
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            "the file is not UTF-8",
            where=f"{path}:{line + data.count(10, 0, error.start)}",
            got=f"byte 0x{data[error.start]:02x} at offset {error.start}",
            fix="save the file as UTF-8",
        ) from None
