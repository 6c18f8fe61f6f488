"""A folder or a zip archive, looked into in the same way and with the same limits.

Names that leave the archive (``..``, absolute paths, drive letters),
links, and archives that are too large when unpacked are refused.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath

from seqtruth.errors import InputError
from seqtruth.io.chunks import file_chunks, stream_chunks
from seqtruth.limits import check_members, check_unpacked, max_unpacked

#: Files that systems leave behind and nobody means.
LITTER = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})


class Tree:
    """The files below a folder, or in a zip, by their names with ``/``, in sorted order.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "ann").mkdir(); _ = (folder / "ann" / "1.txt").write_text("one")
    >>> tree = Tree(folder)
    >>> list(tree), tree.read("ann/1.txt")
    (['ann/1.txt'], b'one')
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _zip(self) -> zipfile.ZipFile | None:
        if self.path.is_dir():
            return None
        try:
            return zipfile.ZipFile(self.path)
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise InputError(
                "cannot open the archive", where=str(self.path), got=str(error)[:200],
                fix="fetch or export it again",
            ) from None  # fmt: skip

    @cached_property
    def names(self) -> tuple[str, ...]:
        found = sorted(self._zip_names() if self._zip is not None else self._folder_names())
        return tuple(name for name in found if not _litter(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def where(self, name: str, line: int | None = None) -> str:
        """A member's place, for messages."""
        place = f"{self.path}/{name}"
        return place if line is None else f"{place}:{line}"

    def read(self, name: str, limit: int | None = None) -> bytes:
        """A member's bytes (at most ``limit`` of them)."""
        try:
            if self._zip is None:
                with open(self.path / name, "rb") as file:
                    return file.read(-1 if limit is None else limit)
            with self._zip.open(name) as member:
                return member.read(max_unpacked() if limit is None else limit)
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
            raise InputError(
                "cannot read the file", where=self.where(name), got=str(error)[:200]
            ) from None
        except Exception as error:  # zlib.error and its kin, which share no base class
            raise InputError(
                "the archive is damaged", where=self.where(name), got=type(error).__name__
            ) from None

    def chunks(self, name: str) -> Iterator[bytes]:
        """A member's bytes in pieces, without byte-order mark, unpacked where it is gzip."""
        if self._zip is None:
            yield from file_chunks(self.path / name)
            return
        try:
            with self._zip.open(name) as member:
                yield from stream_chunks(member, self.where(name))
        except InputError:
            raise
        except Exception as error:  # zlib.error and its kin, which share no base class
            raise InputError(
                "the archive is damaged", where=self.where(name), got=str(error)[:200],
                fix="fetch or export it again",
            ) from None  # fmt: skip

    def _folder_names(self) -> Iterator[str]:
        count = 0
        for folder, folders, files in os.walk(self.path, followlinks=False):
            folders[:] = sorted(f for f in folders if not f.startswith("."))
            for file in files:
                count += 1
                check_members(count, str(self.path))
                yield PurePosixPath(Path(folder, file).relative_to(self.path)).as_posix()

    def _zip_names(self) -> Iterator[str]:
        assert self._zip is not None
        members = self._zip.infolist()
        total = sum(member.file_size for member in members)
        packed = max(1, self.path.stat().st_size)
        check_members(len(members), str(self.path))
        check_unpacked(total, packed, str(self.path))
        for member in members:
            parts = PurePosixPath(member.filename.replace("\\", "/")).parts
            outside = (
                member.filename.startswith(("/", "\\")) or ".." in parts or "\0" in member.filename
            )
            if outside or (parts and ":" in parts[0]):
                raise InputError(
                    "the archive names a file outside itself", where=str(self.path),
                    got=repr(member.filename),
                )  # fmt: skip
            if stat.S_ISLNK(member.external_attr >> 16):
                raise InputError(
                    "the archive holds a link", where=str(self.path), got=repr(member.filename)
                )
            if member.filename.endswith("/"):
                continue
            if not parts:
                raise InputError(
                    "the archive holds a file without a name", where=str(self.path),
                    got=repr(member.filename), fix="pack it again",
                )  # fmt: skip
            yield member.filename


def _litter(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return parts[-1] in LITTER or parts[0] == "__MACOSX" or parts[-1].startswith("._")
