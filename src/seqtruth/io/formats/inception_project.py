"""INCEpTION's project exports, and other folders of its files, read; see :mod:`.inception`."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Notes, Opinion
from seqtruth.io.formats.cas import Cas, Layer, Layers, marks_of, option
from seqtruth.io.formats.file_names import name_of
from seqtruth.io.formats.gathered import Gathered, same_but_blanks
from seqtruth.io.formats.inception_files import CURATOR, kind_of, read_cas, source_of
from seqtruth.io.json_records import parse_json
from seqtruth.io.tree import Tree

NOBODY = "INITIAL_CAS"
ENDINGS = (".json", ".xmi", ".tsv", ".zip")
_MAX_NESTED = 1 << 28
_NOT_BEGUN = frozenset({"NEW", "IGNORE", "LOCKED"})


@dataclass
class _File:
    """A file of annotations: whose, of which document, and where."""

    document: str
    annotator: str
    name: str


def read_project(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    tree = Tree(path)
    project = _Project(tree, notes)
    files = project.files()
    if not files:
        raise InputError(
            "no annotations in a format that can be read", where=str(path),
            fix="export the project with WebAnno TSV 3.3, UIMA CAS XMI or UIMA CAS JSON as the format",
        )  # fmt: skip
    layer = project.survey(files, option(options, "layer"), option(options, "feature"))
    by_document: dict[str, list[_File]] = {}
    for file in files:
        by_document.setdefault(file.document, []).append(file)
    for document, theirs in by_document.items():
        yield _document(project, document, theirs, layer, notes)
    for document, name in project.sources.items():
        source = None if document in by_document else project.source(document)
        if source is not None:
            yield Document(name_of(document), source, where=tree.where(name))


def _document(
    project: _Project, id: str, files: list[_File], layer: Layer | None, notes: Notes
) -> Document:
    gathered = Gathered(name_of(id), notes)
    for i, file in enumerate(files):
        cas, where = project.cas(file, notes), project.tree.where(file.name)
        if i == 0:
            project.add_source(gathered, id, cas.text)
        role: Literal["gold", "annotator"] = "gold" if file.annotator == CURATOR else "annotator"
        opinion: Opinion | None = Opinion(
            name_of(file.annotator), marks_of(cas, layer, notes), role=role
        )
        if project.states.get((id, file.annotator)) in _NOT_BEGUN:
            notes.left_out("document that its annotator did not begin, or locked", where)
            opinion = None
        gathered.add(cas.text, opinion, where, cas.tokens, cas.sentences)
    return replace(gathered.document(), source=source_of(layer))


class _Project:
    """A folder or zip, and what its ``exportedproject*.json`` says of users and states."""

    def __init__(self, tree: Tree, notes: Notes) -> None:
        self.tree, self.notes = tree, notes
        self.states: dict[tuple[str, str], str] = {}
        self.users: set[str] = set()
        self.sources = {
            PurePosixPath(n).name: n for n in tree if PurePosixPath(n).parent.name == "source"
        }
        self.title = tree.path.resolve().name if tree.path.is_dir() else tree.path.stem
        self.exported = any(_part(name) for name in tree)
        for name in tree:
            if re.fullmatch(r"(?:.*/)?exportedproject\d*\.json", name):
                self._look_up(name)

    def _look_up(self, name: str) -> None:
        try:
            content = parse_json(self.tree.read(name))
        except (ValueError, RecursionError):
            return
        entries = content.get("annotation_documents") if isinstance(content, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("user"), str):
                self.users.add(entry["user"])
                self.states[str(entry.get("name")), entry["user"]] = str(entry.get("state"))

    def files(self) -> list[_File]:
        """The files of annotations, one for each document and annotator."""
        found: dict[tuple[str, str], _File] = {}
        for ending in ENDINGS:
            for name in self.tree:
                if (
                    name.endswith(ending)
                    and (_part(name) or not self.exported)
                    and self._readable(name)
                ):
                    pure = PurePosixPath(name)
                    folder = pure.parent.name or self.title
                    annotator = self._user(pure.stem)
                    file = _File(folder, annotator, name)
                    if annotator != NOBODY:
                        found.setdefault((str(pure.parent), annotator), file)
        if self.exported:
            self._note_unread(found)
        return sorted(found.values(), key=lambda file: file.name)

    def _readable(self, name: str) -> bool:
        if PurePosixPath(name).suffix == ".zip":
            return True
        return kind_of(self.tree.read(name, 1 << 16)) is not None

    def _user(self, stem: str) -> str:
        """A user's name without the digits that INCEpTION glues to it."""
        users = {*self.users, CURATOR, NOBODY}
        known = [u for u in users if stem.startswith(u) and stem[len(u) :].isdecimal()]
        if stem in users or not known:
            return stem if stem in users else re.sub(r"(?<=\D)\d{8,}$", "", stem)
        return max(known, key=len)

    def _note_unread(self, found: dict[tuple[str, str], _File]) -> None:
        have = {(file.document, file.annotator) for file in found.values()}
        for name in self.tree:
            pure = PurePosixPath(name)
            annotator = self._user(pure.stem)
            serial = name.endswith(".ser") and pure.parts[-3:-2] in (
                ("annotation_ser",),
                ("curation_ser",),
            )
            if serial and annotator != NOBODY and (pure.parent.name, annotator) not in have:
                self.notes.left_out(
                    "annotator's work in Java's own format only (.ser)", self.tree.where(name)
                )

    def survey(self, files: list[_File], layer: str | None, feature: str | None) -> Layer | None:
        """Choose the layer from all files, and tell folders of documents from folders of annotators."""
        layers = Layers()
        texts: dict[str, set[int]] = {}
        for file in files:
            cas = self.cas(file, Notes())
            layers.add(cas)
            folder = str(PurePosixPath(file.name).parent)
            texts.setdefault(folder, set()).add(hash("".join(cas.text.split())))
        by_annotator = any(len(different) > 1 for different in texts.values())
        if 1 < len(files) == len(texts):  # a file in each folder: one text by several annotators?
            stems = {PurePosixPath(file.name).stem for file in files}
            by_annotator |= len(stems) == len(set().union(*texts.values())) == 1
        if (
            len(files) == 1
        ):  # a folder or zip of one file is a document only if it is called like one
            by_annotator = not PurePosixPath(files[0].document).suffix
        if not self.exported and by_annotator:
            for file in files:
                file.document, file.annotator = PurePosixPath(file.name).stem, file.document
        return layers.choose(layer, feature, str(self.tree.path))

    def cas(self, file: _File, notes: Notes) -> Cas:
        data, where = self.tree.read(file.name), self.tree.where(file.name)
        if file.name.endswith(".zip"):
            data = _nested(data, where)
        return read_cas(data, where, notes)

    def add_source(self, gathered: Gathered, document: str, text: str) -> None:
        """The text as it was imported, where it is that of the annotations but for blanks."""
        source = self.source(document)
        if source is not None and same_but_blanks(source, text):
            gathered.add(source, None, self.tree.where(self.sources[document]))

    def source(self, document: str) -> str | None:
        """The text that was imported, where it is text."""
        if document not in self.sources:
            return None
        data = self.tree.read(self.sources[document])
        try:
            return None if b"\0" in data else data.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError:
            return None


def _part(name: str) -> bool:
    """Whether a file stands in the part of a project export that holds annotations."""
    parts = PurePosixPath(name).parts
    return len(parts) >= 3 and parts[-3] in ("annotation", "curation")


def _nested(data: bytes, where: str) -> bytes:
    """The one file of annotations in a zip inside the export."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [
                m for m in archive.infolist() if m.filename.endswith((".xmi", ".json", ".tsv"))
            ]
            if len(members) != 1 or members[0].file_size > min(_MAX_NESTED, 1000 * len(data)):
                raise InputError("not one file of annotations of a sound size", where=where)
            return archive.read(members[0])
    except InputError:
        raise
    except Exception as error:  # zlib.error and its kin, which share no base class
        raise InputError("the archive is damaged", where=where, got=str(error)[:100]) from None
