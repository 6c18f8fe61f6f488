"""A file's bytes in pieces of bounded size, unpacked where it is gzip, with its faults placed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from seqtruth.errors import InputError

#: Small enough to stay in a processor's cache while it is looked through.
CHUNK = 1 << 18
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")


def file_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, without byte-order mark."""
    try:
        with open(path, "rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            file = cast(IO[bytes], gzip.GzipFile(fileobj=raw) if packed else raw)
            yield from stream_chunks(file, str(path))
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
