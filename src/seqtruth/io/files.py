"""Opening a user's file with its faults placed, and writing chunks to one."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

from seqtruth.atomic import atomic_path
from seqtruth.errors import InputError

_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")


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
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(
                "the gzip file is damaged", where=str(path), got=str(error), fix="fetch it again"
            ) from None
    return data


def read_text(path: Path) -> bytes:
    """Bytes of a text file: valid UTF-8 without byte-order mark and without NUL bytes.

    Text stays bytes, so that readers can split it by array passes.
    """
    data = read_bytes(path)
    data = data.removeprefix(_BOM)
    if not data.strip():
        raise InputError("the file is empty", where=str(path))
    check_text(data, path)
    return data


def check_text(data: bytes, path: Path) -> None:
    """Raise where ``data`` is not UTF-8 or holds NUL bytes, with line and byte."""
    if data[:2] in _WIDE:
        raise InputError(
            "the file is not UTF-8",
            where=f"{path}:1",
            got="a UTF-16 byte-order mark",
            fix="save the file as UTF-8",
        )
    nul = data.find(b"\0")
    if nul >= 0:
        raise InputError(
            "the file is not text",
            where=f"{path}:{_line(data, nul)}",
            got="a NUL byte",
            fix="name the format with format=, or save the file as UTF-8 text",
        )
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            "the file is not UTF-8",
            where=f"{path}:{_line(data, error.start)}",
            got=f"byte 0x{data[error.start]:02x} at offset {error.start}",
            fix="save the file as UTF-8",
        ) from None


def _line(data: bytes, place: int) -> int:
    return data.count(b"\n", 0, place) + 1


def write_chunks(path: str | os.PathLike[str], chunks: Iterable[bytes]) -> None:
    """Write chunks to ``path``, whole or not at all; packed where the name ends in ``.gz``."""
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        if str(path).endswith(".gz"):
            # No time stamp and no name inside: same content, same bytes.
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.writelines(chunks)
        else:
            file.writelines(chunks)
