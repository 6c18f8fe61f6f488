"""Opening a user's file with its faults placed, and writing chunks to one."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

from seqtruth.atomic import atomic_path as atomic_path
from seqtruth.errors import InputError
from seqtruth.io.chunks import as_utf8
from seqtruth.io.chunks import check_text as check_text
from seqtruth.limits import check_unpacked

_PART = 1 << 24


def read_bytes(path: Path) -> bytes:
    """Content of a file, unpacked where it is gzip (known by its first two bytes)."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            "cannot read the file", where=str(path), got=error.strerror or type(error).__name__
        ) from None
    except ValueError as error:  # a NUL byte in the name
        raise InputError("not a file name", got=repr(str(path)), fix=str(error)) from None
    return _unpacked(data, path) if data[:2] == b"\x1f\x8b" else data


def _unpacked(data: bytes, path: Path) -> bytes:
    """What is in a gzip file, unless that is too much."""
    parts, size = [], 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while part := file.read(1 << 22):
                parts.append(part)
                size += len(part)
                check_unpacked(size, len(data), str(path))
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            "the gzip file is damaged", where=str(path), got=str(error), fix="fetch it again"
        ) from None
    return b"".join(parts)


def read_text(path: Path) -> bytes:
    """Bytes of a text file: valid UTF-8 (also made of UTF-16) without byte-order mark and NUL bytes.

    Text stays bytes, so that readers can split it by array passes.
    """
    data = as_utf8(read_bytes(path), str(path))
    if not data or data.isspace():
        raise InputError("the file is empty", where=str(path))
    place = line = 0
    while place < len(data):  # by parts, since text in memory may take four times the bytes
        end = data.rfind(b"\n", place, place + _PART) + 1 or len(data)
        part = data[place:end]
        check_text(part, path, line + 1)
        line += part.count(b"\n")
        place = end
    return data


def write_chunks(path: str | os.PathLike[str], chunks: Iterable[bytes]) -> None:
    """Write chunks to ``path``, whole or not at all; packed where the name ends in ``.gz``."""
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        if str(path).endswith(".gz"):
            # No time stamp and no name inside: same content, same bytes.
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.writelines(chunks)
        else:
            file.writelines(chunks)
