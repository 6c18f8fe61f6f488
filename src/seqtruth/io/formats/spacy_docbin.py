"""spaCy's ``DocBin`` (``.spacy`` files), read and written without spaCy.

The file is zlib-packed MessagePack: words and labels as 64-bit numbers, their strings, which
words are followed by a blank, and for each document ``ents`` (as IOB) and groups of spans.
Decoding it is less code than guarding spaCy's own loader, which needs 300 MB of packages and
whose MessagePack can unpickle; user data is never even decoded.

Entities (``doc.ents``) are the marks where any document has them, with the file's name as the
annotator. Words of which ``ENT_IOB`` is missing were not looked at: ``seen`` leaves them out, and
a document of which all are missing has no opinion. Otherwise the one group of spans is taken.
``spans=KEY`` asks for a group, ``spans=*`` for all of them, each being an annotator.

Written are entities where one annotator's marks do not overlap, and otherwise groups: ``sc`` for
one annotator, or one for each annotator, with their name (``spans=*`` reads them). Left out:
names of documents (they are numbered), scores, gaps of discontinuous marks, document-level
categories.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Extents, Mark, Notes, Opinion
from seqtruth.io.files import read_bytes
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.msgpack import unpack
from seqtruth.io.formats.spacy_docbin_writer import write
from seqtruth.io.formats.spacy_strings import string_number, symbols

MAX_BYTES = 1 << 31
SPAN = struct.Struct(">QQQllll")
_FIX = "make the file again, with DocBin.to_disk of spaCy 3"


@dataclass
class _Doc:
    """One document: words with their extents, numbers of its attributes, and groups of spans."""

    text: str
    words: list[tuple[int, int]]
    iob: list[int]
    types: list[int]
    starts: list[int]
    groups: dict[str, list[tuple[int, int, int]]]


class _Bin:
    """The content of a file, checked as far as all documents go."""

    def __init__(self, content: Any, where: str) -> None:
        self.where = where
        if not isinstance(content, dict):
            raise self.fault("not a DocBin")
        self.attributes = self._list(content, "attrs", int)
        strings = self._list(content, "strings", str)
        self.strings: dict[int, str] = {string_number(string): string for string in strings}
        self.strings |= {number: name for name, number in symbols().items()}
        tokens, lengths = (self._bytes(content, name) for name in ("tokens", "lengths"))
        self.spaces = self._bytes(content, "spaces")
        width = len(self.attributes)
        if not width or len(tokens) % (8 * width) or len(lengths) % 4:
            raise self.fault("the table of words is damaged")
        self.rows = memoryview(tokens).cast("Q") if tokens else memoryview(b"")
        self.lengths = list(memoryview(lengths).cast("i")) if lengths else []
        total = len(tokens) // (8 * width)
        if (
            min(self.lengths, default=0) < 0
            or sum(self.lengths) != total
            or len(self.spaces) != total
        ):
            raise self.fault("the table of words is damaged")
        self.flags = content.get("flags")
        self.groups = content.get("span_groups")

    def fault(self, what: str) -> InputError:
        return InputError(what, where=self.where, fix=_FIX)

    def _list(self, content: dict[str, Any], name: str, kind: type) -> list[Any]:
        found = content.get(name)
        if not isinstance(found, list) or not all(isinstance(item, kind) for item in found):
            raise self.fault(f"no list {name!r}")
        return found

    def _bytes(self, content: dict[str, Any], name: str) -> bytes:
        found = content.get(name)
        if not isinstance(found, bytes):
            raise self.fault(f"no table {name!r}")
        return found

    def documents(self) -> Iterator[_Doc]:
        first = 0
        for i, length in enumerate(self.lengths):
            yield self._document(i, first, length)
            first += length

    def _column(self, name: str, first: int, length: int) -> list[int]:
        number = symbols()[name]
        if number not in self.attributes:
            return [0] * length
        width, column = len(self.attributes), self.attributes.index(number)
        return [self.rows[(first + i) * width + column] for i in range(length)]

    def _document(self, i: int, first: int, length: int) -> _Doc:
        flags = self.flags[i] if isinstance(self.flags, list) and i < len(self.flags) else {}
        unknown = isinstance(flags, dict) and bool(flags.get("has_unknown_spaces"))
        pieces, words, place = [], [], 0
        for j, orth in enumerate(self._column("ORTH", first, length)):
            word = self.string(orth)
            space = j < length - 1 if unknown else bool(self.spaces[first + j])
            pieces.append(word + " " * space)
            words.append((place, place + len(word)))
            place += len(word) + space
        iob = self._column("ENT_IOB", first, length)
        types = self._column("ENT_TYPE", first, length)
        starts = self._column("SENT_START", first, length)
        return _Doc("".join(pieces), words, iob, types, starts, self._groups(i))

    def string(self, number: int) -> str:
        if number not in self.strings:
            raise self.fault("a word or label whose string is missing")
        return self.strings[number]

    def _groups(self, i: int) -> dict[str, list[tuple[int, int, int]]]:
        """The groups of spans of a document: start, end (words) and label of each."""
        packed = self.groups[i] if isinstance(self.groups, list) and i < len(self.groups) else b""
        if not packed:
            return {}
        try:
            content = unpack(packed)
            pairs = (
                content.items()
                if isinstance(content, dict)
                else ((group, None) for group in content)
            )
            found = {}
            for group, keys in pairs:
                inner = unpack(group)
                spans = [SPAN.unpack(span) for span in inner["spans"]]
                for key in keys or [inner["name"]]:
                    found[str(key)] = [(span[3], span[4], span[2]) for span in spans]
        except (ValueError, TypeError, KeyError, AttributeError, struct.error):
            raise self.fault("the groups of spans are damaged") from None
        return found


def tell(glimpse: Glimpse) -> float:
    if glimpse.head[:1] != b"\x78" or glimpse.tree is not None:
        return 0.0
    try:
        start = zlib.decompressobj().decompress(glimpse.head, 64)
    except zlib.error:
        return 0.0
    return 1.0 if start[:1] and start[0] & 0xF0 == 0x80 and b"attrs" in start else 0.0


def load(path: Path) -> _Bin:
    """A file's content, unpacked no further than two gigabytes."""
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(read_bytes(path), MAX_BYTES)
        if unpacker.unconsumed_tail:
            raise InputError("the file is too large when unpacked", where=str(path))
        return _Bin(unpack(data), str(path))
    except (zlib.error, ValueError, UnicodeDecodeError, struct.error) as error:
        raise InputError("not a DocBin", where=str(path), got=str(error)[:80], fix=_FIX) from None


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    docs = load(path)
    spans = str(options["spans"]) if options.get("spans") else None
    name = str(options.get("annotator") or path.stem)
    keys = sorted({key for doc in docs.documents() for key in doc.groups})
    entities = spans is None and any(any(doc.iob) for doc in docs.documents())
    if not entities:
        keys = _chosen(keys, spans, str(path))
    for i, doc in enumerate(docs.documents(), start=1):
        where = f"{path}, document {i}"
        if entities:
            for key, group in doc.groups.items():
                notes.left_out(f"span of the group {key!r}", where, len(group))
            opinions = _entities(docs, doc, name, where, notes)
        else:
            opinions = [
                Opinion(key if spans == "*" else name, _spans(docs, doc, doc.groups[key], where, notes))
                for key in keys if key in doc.groups
            ]  # fmt: skip
        tokens = tuple(word for word in doc.words if doc.text[word[0] : word[1]].strip())
        yield Document(str(i), doc.text, tuple(opinions), tokens or None, _sentences(doc), where)


def _chosen(keys: list[str], spans: str | None, where: str) -> list[str]:
    if spans == "*" or (spans is None and len(keys) <= 1):
        return keys
    if spans in keys:
        return [spans]
    raise InputError(
        "no entities, and several groups of spans" if spans is None else f"no group of spans {spans!r}",
        where=where, got=f"groups {', '.join(map(repr, keys)) or '(none)'}",
        fix="choose one with spans=KEY, or take each for an annotator with spans=*",
    )  # fmt: skip


def _entities(docs: _Bin, doc: _Doc, name: str, where: str, notes: Notes) -> list[Opinion]:
    marks: list[Mark] = []
    inside = False
    for (start, end), iob, kind in zip(doc.words, doc.iob, doc.types, strict=True):
        if iob in (1, 3) and kind:
            label = docs.string(kind)
            if iob == 1 and inside and marks[-1].label == label:
                marks[-1] = marks[-1]._replace(end=end)
            elif start < end:
                marks.append(Mark(start, end, label))
        inside = iob in (1, 3) and bool(kind) and bool(marks)
    known = [iob != 0 for iob in doc.iob]
    if not any(known) and known:
        return []
    return [Opinion(name, tuple(marks), seen=None if all(known) else _stretches(doc, known))]


def _stretches(doc: _Doc, known: list[bool]) -> Extents:
    """The extents of runs of words that were looked at."""
    runs: list[tuple[int, int]] = []
    for i, (start, end) in enumerate(doc.words):
        if known[i]:
            if i and known[i - 1] and runs:
                runs[-1] = (runs[-1][0], end)
            else:
                runs.append((start, end))
    return tuple(runs)


def _spans(
    docs: _Bin, doc: _Doc, group: list[tuple[int, int, int]], where: str, notes: Notes
) -> tuple[Mark, ...]:
    marks = []
    for start, end, label in group:
        if not 0 <= start < end <= len(doc.words):
            notes.left_out("span outside the document or without words", where)
            continue
        marks.append(Mark(doc.words[start][0], doc.words[end - 1][1], docs.string(label)))
    return tuple(marks)


def _sentences(doc: _Doc) -> Extents | None:
    begins = [i for i, start in enumerate(doc.starts) if start == 1]
    if not begins:
        return None
    begins = sorted({0, *begins})
    extents = []
    for first, after in pairwise([*begins, len(doc.words)]):
        words = [(a, b) for a, b in doc.words[first:after] if doc.text[a:b].strip()]
        if words:
            extents.append((words[0][0], words[-1][1]))
    return tuple(extents) or None


FORMAT = DocumentFormat(
    name="spacy",
    title="spaCy DocBin",
    tell=tell,
    read=read,
    write=write,
    read_options={
        "spans": "a group of spans to read instead of entities; * takes each group for an annotator",
        "annotator": "name of the annotator, instead of the file's",
    },
    write_options={"spans": "write a group of spans of this name instead of entities"},
    cannot_carry=(
        "ids of documents",
        "scores",
        "roles (gold, model)",
        "gaps of discontinuous marks",
    ),
    suffixes=(".spacy",),
)
