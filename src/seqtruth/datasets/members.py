"""Reading the members of a zip or tar archive somebody else made.

Nothing is unpacked to disk. Names that would lead out of a folder condemn the archive, and so does a
content beyond the limits, whatever its headers say.
"""

from __future__ import annotations

import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from seqtruth.errors import InputError

#: Opens a member for reading.
Opened = Callable[[], IO[bytes]]


@dataclass(frozen=True)
class Limits:
    """Members in all, bytes of one, and bytes of all that are read."""

    members: int = 200_000
    member: int = 64 << 20
    total: int = 1 << 30


LIMITS = Limits()


def read_members(
    path: Path, wanted: Callable[[str], bool], limits: Limits = LIMITS
) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the members that are ``wanted``, in the archive's order."""
    reader = _zip if zipfile.is_zipfile(path) else _tar
    total = 0
    try:
        for name, size, opened in reader(path, limits):
            _check_name(name, path)
            if not wanted(name):
                continue
            if size > limits.member:
                raise _too_large(path, name, limits.member)
            with opened() as file:
                content = file.read(limits.member + 1)
            total += len(content)
            if len(content) > limits.member or total > limits.total:
                raise _too_large(path, name, min(limits.member, limits.total))
            yield name, content
    except (
        zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError,
        NotImplementedError, RuntimeError,  # packed in an unknown way; encrypted
    ) as error:  # fmt: skip
        raise InputError(
            "the archive cannot be read", where=str(path), got=str(error) or type(error).__name__,
            fix="fetch it again with force=True",
        ) from None  # fmt: skip


def _zip(path: Path, limits: Limits) -> Iterator[tuple[str, int, Opened]]:
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        _check_count(len(infos), path, limits)
        for info in infos:
            if not info.is_dir():
                yield info.filename, info.file_size, partial(archive.open, info)


def _tar(path: Path, limits: Limits) -> Iterator[tuple[str, int, Opened]]:
    declared = 0
    with tarfile.open(path, "r:*") as archive:
        for count, info in enumerate(archive, 1):
            _check_count(count, path, limits)
            declared += info.size
            if declared > limits.total:  # passing over a member unpacks it too
                raise _too_large(path, info.name, limits.total)
            if info.isfile():
                yield info.name, info.size, partial(_extract, archive, info)


def _extract(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    file = archive.extractfile(info)
    assert file is not None  # a regular file has a content
    return file


def _check_name(name: str, path: Path) -> None:
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or "\\" in name or re.match(r"[A-Za-z]:", name):
        raise InputError(
            "the archive has a member that leads out of its folder", where=str(path),
            got=repr(name), fix="do not use this file; fetch it from another address",
        )  # fmt: skip


def _check_count(count: int, path: Path, limits: Limits) -> None:
    if count > limits.members:
        raise InputError(
            f"the archive has more than {limits.members:,} members", where=str(path),
            fix="do not use this file",
        )  # fmt: skip


def _too_large(path: Path, name: str, limit: int) -> InputError:
    return InputError(
        f"the archive unpacks to more than {limit:,} bytes", where=str(path), got=repr(name),
        fix="do not use this file",
    )  # fmt: skip


def decoded(content: bytes) -> str:
    """Text in UTF-8, or else in the code page of Western Windows, which some of the sources use."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")
