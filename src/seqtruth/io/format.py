"""What a format is: how to tell it, read it and write it.

Files of tools hold texts and marks (:class:`DocumentFormat`); our own, and those of the field, hold tokens
and tags (:class:`CrowdFormat`).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

from seqtruth.data.crowd import Crowd
from seqtruth.errors import InputError
from seqtruth.io.chunks import WIDE
from seqtruth.io.documents import Document, Notes
from seqtruth.io.tree import Tree

#: What a record is.
Unit = Literal["document", "sentence"]
#: How much of a file is looked at to tell its format.
HEAD = 1 << 16
#: Likewise of a JSON file, whose long texts are shortened: what tells the format may stand behind one.
_JSON_HEADS = (1 << 18, 1 << 21, 1 << 24)
_JSON_TEXT = re.compile(rb'"((?:[^"\\]|\\.){0,100}+)(?:[^"\\]|\\.)*+("|\\?$)', re.DOTALL)


@dataclass(frozen=True)
class Glimpse:
    """What can be told of a file or folder without reading it: the name, the first bytes, the members."""

    path: Path

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB of a file, without byte-order mark; nothing of a folder.

        Texts in JSON are shortened, so that a record with a long one is seen whole.
        """
        if self.path.is_dir():
            return b""
        head = self._first(HEAD)
        if head.lstrip()[:1] not in (b"{", b"[") or len(head) < HEAD - 3:
            return head
        for size in _JSON_HEADS:
            whole = self._first(size)
            head = _shortened(whole)
            if len(head) == HEAD or len(whole) < size - 3:
                break
        return head

    def _first(self, size: int) -> bytes:
        """The first bytes of a file, unpacked."""
        try:
            with open(self.path, "rb") as file:
                head = file.read(size)
        except (OSError, ValueError) as error:
            got = getattr(error, "strerror", None) or type(error).__name__
            raise InputError("cannot read the file", where=str(self.path), got=got) from None
        if head[:2] == b"\x1f\x8b":
            # what is there of the first bytes; a damaged file is the reader's to report
            with suppress(zlib.error):
                head = zlib.decompressobj(wbits=31).decompress(head, size)
        if head[:2] in WIDE:
            return head.decode("utf-16", "ignore").encode()
        return head.removeprefix(b"\xef\xbb\xbf")

    @cached_property
    def tree(self) -> Tree | None:
        """The members of a folder or zip; None for any other file."""
        if self.path.is_dir() or self.head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            return Tree(self.path)
        return None


def _shortened(data: bytes) -> bytes:
    """The first 64 KiB of JSON after its long texts are shortened."""
    parts, place, size = [], 0, 0
    for text in _JSON_TEXT.finditer(data):
        if text.end(1) < text.start(2):
            parts.append(data[place : text.end(1)])
            size, place = size + len(parts[-1]), text.start(2)
        if size + text.start() - place >= HEAD:
            break
    return b"".join([*parts, data[place : place + HEAD]])[:HEAD]


class Reader(Protocol):
    def __call__(self, path: Path, notes: Notes, **options: object) -> Iterator[Document]: ...


class Writer(Protocol):
    def __call__(
        self, documents: Iterable[Document], path: Path, notes: Notes, **options: object
    ) -> None: ...


@dataclass(frozen=True)
class DocumentFormat:
    """A format whose files hold texts and marks.

    Parameters
    ----------
    name : the word for ``format=`` and ``--to``, such as ``label-studio``.
    title : the tool's name, for messages: ``Label Studio``.
    tell : how sure one can be, from a glimpse, that a file is of this format: 0 not, 1 quite.
    read : yields documents, as lazily as the format allows; faults are :class:`InputError` with place.
    write : whole or not at all; None where the format is only read.
    read_options, write_options : names of further keyword arguments, each with a line of help.
    cannot_carry : what is lost when written, by name; for the docs and for warnings.
    suffixes : endings that suggest it for writing.
    unit : what a record usually is: a ``"document"``, to be split, or a ``"sentence"``.
    """

    name: str
    title: str
    tell: Callable[[Glimpse], float]
    read: Reader
    write: Writer | None = None
    read_options: dict[str, str] | None = None
    write_options: dict[str, str] | None = None
    cannot_carry: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    unit: Unit = "document"

    @property
    def carries_parts(self) -> bool:
        """Whether files can say which part of a text was seen."""
        return not any("seen" in what for what in self.cannot_carry)


@dataclass(frozen=True)
class CrowdFormat:
    """A format whose files hold tokens and tags, or sentences with spans.

    Parameters
    ----------
    name, title, tell, cannot_carry, suffixes : as those of :class:`DocumentFormat`.
    read, write : ``read(path, scheme, **options)`` and ``write(crowd, path, **options)``.
    read_options, write_options : names of further options of the two.
    """

    name: str
    title: str
    tell: Callable[[Glimpse], float]
    read: Callable[..., Crowd]
    write: Callable[..., None]
    read_options: tuple[str, ...] = ()
    write_options: tuple[str, ...] = ()
    cannot_carry: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()


Format = DocumentFormat | CrowdFormat
