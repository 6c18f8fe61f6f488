"""Records of several files: which are of one document, and whose the opinions on it are.

Documents of one id are one where their texts are alike. Where annotators worked in projects of their own, or
their files count from 0 in different orders, ids say nothing: a file most of whose texts another file has,
too, is joined to it by the texts.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from seqtruth.io.documents import Document, Notes
from seqtruth.io.formats.file_names import name_of
from seqtruth.io.same_text import align_texts, alike, joined

Filed = tuple[Path, Document]


@dataclass
class SharedTexts:
    """Counts, file by file, the texts that an earlier file has."""

    _first: dict[int, Path] = field(default_factory=dict)
    _counts: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def add(self, file: Path, document: Document) -> None:
        again = self._first.setdefault(hash(_bare(document.text)), file) != file
        known, number = self._counts.get(file, (0, 0))
        self._counts[file] = known + again, number + 1

    def join_files(self) -> bool:
        """Whether a file has mostly texts of others."""
        return any(_mostly(known, number) for known, number in self._counts.values())


def _mostly(known: int, number: int) -> bool:
    return known > 0 and 2 * known >= number


def _bare(text: str) -> str:
    normal = text if text.isascii() else unicodedata.normalize("NFC", text)
    return "".join(normal.split())


def merged(documents: Iterable[Filed], notes: Notes, owners: Mapping[Path, str]) -> list[Document]:
    """Documents of one id, or known by their text, as one.

    Parameters
    ----------
    documents : each with its file. Where two files have an id for texts that are nothing alike (as
        numbers that count from 0 in each), they are two documents, the second one's id with the file's
        name before it.
    notes : what is lost.
    owners : whose the files are, which tells annotators apart who are known by nothing but the file's
        name and labelled the same text.
    """
    found: dict[str, Document] = {}
    files: dict[str, Path] = {}
    everything = _joined_by_text(list(documents), notes)
    for file, document in _told_apart(everything, owners, notes):
        name = document.id
        known = found.get(name)
        if known is not None and file != files[name] and not _same(known, document):
            notes.left_out(
                "id of a document that another file has for another text (with the file's name before it)",
                document.where,
            )
            name = f"{file.stem}/{name}"
            known = found.get(name)
        if known is None:
            found[name], files[name] = replace(document, id=name), file
        else:
            found[name] = joined(known, document, notes)
    return list(found.values())


def _joined_by_text(documents: list[Filed], notes: Notes) -> list[Filed]:
    """The documents, with the id that another file has for the same text, where that is the rule."""
    known: dict[str, Document | None] = {}  # by text; None where a file has it twice
    ids: dict[str, Document] = {}
    found: list[Filed] = []
    for file, here in _by_file(documents):
        texts = Counter(_bare(document.text) for document in here)
        others = [d for d in here if d.id not in ids or not _same(ids[d.id], d)]
        places = {
            d.id: known.get(_bare(d.text)) for d in others if texts[_bare(d.text)] == 1 and d.text
        }
        again = {id_: other.id for id_, other in places.items() if other is not None}
        if not _mostly(len(again), len(others)):
            again = {}
        for document in here:
            if document.id in again:
                notes.left_out(
                    "id of a document (another file has its text under another one)", document.where
                )
                document = replace(document, id=again[document.id])
            found.append((file, document))
            ids.setdefault(document.id, document)
            text = _bare(document.text)
            known[text] = known.get(text, document) if texts[text] == 1 else None
    return found


def _by_file(documents: list[Filed]) -> Iterator[tuple[Path, list[Document]]]:
    files: dict[Path, list[Document]] = {}
    for file, document in documents:
        files.setdefault(file, []).append(document)
    return iter(files.items())


def _told_apart(documents: list[Filed], owners: Mapping[Path, str], notes: Notes) -> list[Filed]:
    """The documents, with owners' names for names of files under which two labelled the same text, and
    before numbers (of users, as each installation of a tool counts them) under which two did."""
    first: dict[tuple[str, str, str], Path] = {}
    names = {file: _names(file) for file in {file for file, _ in documents}}
    shared = {
        opinion.annotator
        for file, document in documents
        for opinion in document.opinions
        if opinion.annotator in names[file]
        and first.setdefault((document.id, document.text, opinion.annotator), file) != file
    }
    numbers = _numbers_of_several(documents)
    if numbers:
        told = ", ".join(sorted(numbers))
        notes.left_out(
            f"number of a user who is another one in another file ({told})", documents[0][1].where
        )
    apart = []
    for file, document in documents:
        owner = owners.get(file, file.stem)
        document = owned(document, owner, names[file] & shared)
        apart.append((file, _with_owner(document, owner, numbers - shared)))
    return apart


def _numbers_of_several(documents: list[Filed]) -> set[str]:
    """Annotators called by a number who marked texts in two files, no two of the opinions at one time: two
    exports of one project would share some."""
    met: dict[tuple[str, str], dict[Path, str | None]] = {}
    for file, document in documents:
        for opinion in document.opinions:
            if opinion.annotator.isdecimal() and opinion.role == "annotator":
                met.setdefault((document.id, opinion.annotator), {})[file] = opinion.time
    several: set[str] = set()
    same: set[str] = set()
    for (_, number), times in met.items():
        if len(times) > 1:
            distinct = len(set(times.values())) == len(times) and None not in times.values()
            (several if distinct else same).add(number)
    return several - same


def _with_owner(document: Document, owner: str, numbers: Container[str]) -> Document:
    opinions = (
        replace(opinion, annotator=f"{owner}/{opinion.annotator}")
        if opinion.annotator in numbers and opinion.role == "annotator" else opinion
        for opinion in document.opinions
    )  # fmt: skip
    return replace(document, opinions=tuple(opinions))


def _names(file: Path) -> set[str]:
    """What somebody is called of whom only the file is known (GATE: the set without a name)."""
    return {file.name, file.stem, file.name.partition(".")[0], name_of(file.stem), "default"}


def owned(document: Document, owner: str, named: Container[str]) -> Document:
    """The document with what those called so have marked as the owner's."""
    opinions = (
        replace(opinion, annotator=owner) if opinion.annotator in named else opinion
        for opinion in document.opinions
    )
    return replace(document, opinions=tuple(opinions))


def _same(one: Document, two: Document) -> bool:
    return (
        one.text == two.text
        or align_texts(one.text, two.text) is not None
        or alike(one.text, two.text)
    )
