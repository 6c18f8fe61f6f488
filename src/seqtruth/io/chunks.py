"""A file's bytes in pieces of bounded size, unpacked where it is gzip, with its faults placed.

How far a large file is read is logged once a second, which is what the command line shows.
"""

from __future__ import annotations

import gzip
import logging
import os
import time
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, cast

from seqtruth.errors import InputError
from seqtruth.limits import check_unpacked, max_record

#: Small enough to stay in a processor's cache while it is looked through.
CHUNK = 1 << 18
#: Seconds between two lines of the log.
EVERY = 1.0
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")
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
    """The bytes of an open file, without byte-order mark; UTF-16 is refused."""
    chunk = file.read(CHUNK)
    if chunk[:2] in _WIDE:
        raise InputError(
            "the file is not UTF-8", where=f"{name}:1", got="a UTF-16 byte-order mark",
            fix="save the file as UTF-8",
        )  # fmt: skip
    chunk = chunk.removeprefix(_BOM)
    while chunk:
        yield chunk
        chunk = file.read(CHUNK)


def text_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines of a text file with their numbers, without line ends: UTF-8, no NUL bytes, not all blank."""
    number, blank = 1, True
    waiting: list[bytes] = []
    size, most = 0, max_record()
    for chunk in chain(file_chunks(path), [b"\n"]):
        cut = chunk.rfind(b"\n") + 1
        waiting.append(chunk[:cut] if cut else chunk)
        size += len(waiting[-1])
        if size > most:
            raise too_long(str(path), number)
        if not cut:
            continue
        data = b"".join(waiting)
        waiting, size = [chunk[cut:]], len(chunk) - cut
        check_text(data, path, number)
        blank = blank and data.isspace()
        for line in data[:-1].split(b"\n"):
            yield number, line
            number += 1
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
    if data[:2] in _WIDE:
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
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            "the file is not UTF-8",
            where=f"{path}:{line + data.count(10, 0, error.start)}",
            got=f"byte 0x{data[error.start]:02x} at offset {error.start}",
            fix="save the file as UTF-8",
        ) from None
