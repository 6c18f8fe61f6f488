"""INCEpTION and WebAnno: single files, folders of them, and project exports (zip or unpacked).

Three kinds of file, each one annotator's annotations of one document: WebAnno TSV
(:mod:`.webanno_tsv`, :mod:`.webanno_old`), CAS XMI (:mod:`.cas_xmi`) and CAS JSON
(:mod:`.cas_json`). Layer and feature of the marks are given or found as :mod:`.cas` says. Alone,
a file's annotator is its name.

In a project export, files stand as ``annotation/<document>/<user>.tsv`` and
``curation/<document>/CURATION_USER.tsv``; XMI may be packed once more, with its type system
(``<user>.zip``). ``INITIAL_CAS`` is nobody, ``CURATION_USER`` is gold, digits that INCEpTION
glues to a user's name are taken off. ``exportedproject*.json`` says who began what: documents
that a user did not begin or has locked are not seen by them. Files in Java's own format
(``.ser``) and plain text hold nothing to read. The text is that of ``source/`` where it differs
from the annotated ones in blanks only; texts that nobody annotated are documents without
opinions.

In any other folder, files of one folder with the same text are the annotators of one document;
where the texts differ, the folder is the annotator and the files are documents.

Written is a folder of the same shape; the files can be imported one by one (for TSV, into the
layer that ``layer=`` and ``feature=`` name, by default the built-in named entities).
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Notes, Opinion
from seqtruth.io.files import atomic_path
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.cas import NAMED_ENTITY, Cas, Layer, Layers, marks_of, option
from seqtruth.io.formats.cas_xmi import type_system
from seqtruth.io.formats.file_names import file_name, name_of
from seqtruth.io.formats.gathered import Gathered, gold_named, same_but_blanks
from seqtruth.io.formats.inception_files import (
    CURATOR,
    how,
    kind_of,
    lines_of,
    read_cas,
    read_file,
    write_file,
)
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
    gathered = Gathered(name_of(id))
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
    return gathered.document()


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
            content = json.loads(self.tree.read(name))
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
        known = [u for u in self.users if stem.startswith(u) and stem[len(u) :].isdecimal()]
        if stem in self.users or not known:
            return stem if stem in self.users else re.sub(r"(?<=\D)\d{8,}$", "", stem)
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
        if not self.exported and any(len(different) > 1 for different in texts.values()):
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


def tell_project(glimpse: Glimpse) -> float:
    if glimpse.tree is None:
        return 0.0
    names = list(glimpse.tree)
    if any(re.fullmatch(r"(?:.*/)?exportedproject\d*\.json", name) for name in names):
        return 1.0
    candidates = [name for name in names if name.endswith((".tsv", ".xmi", ".json"))][:10]
    heads = (glimpse.tree.read(name, 1 << 14) for name in candidates)
    return 0.9 if any(kind_of(head) for head in heads) else 0.0


def write_project(
    documents: Iterable[Document], path: Path, notes: Notes, **options: object
) -> None:
    kind, layer = how(options)
    with atomic_path(path) as folder:
        (folder / "source").mkdir(parents=True)
        if kind == "xmi":
            (folder / "TypeSystem.xml").write_text(
                type_system(layer), encoding="utf-8", newline="\n"
            )
        for document in (gold_named(each, CURATOR, (CURATOR,), notes) for each in documents):
            name = file_name(document.id)
            source = folder / "source" / name
            if source.exists():
                raise InputError(
                    "two documents have the same name", where=document.where, got=repr(document.id)
                )
            source.write_bytes(document.text.encode())
            for opinion in {opinion.annotator: opinion for opinion in document.opinions}.values():
                gold = opinion.annotator == CURATOR
                inside = folder / ("curation" if gold else "annotation") / name
                inside.mkdir(parents=True, exist_ok=True)
                target = inside / f"{file_name(opinion.annotator)}.{kind}"
                target.write_bytes(
                    "".join(lines_of(document, opinion, kind, layer, notes)).encode()
                )


_READ = {
    "layer": "the layer that holds the marks, by full or short name",
    "feature": "the feature of that layer that is the label",
}
_WRITE = {
    "layer": f"the layer to write to (default: {NAMED_ENTITY})",
    "feature": "its feature for the label (default: value)",
}
_LOST = ("scores", "gaps of discontinuous marks", "roles but one gold opinion (CURATION_USER)")
_TSV_LOST = (
    "blanks at the edges of marks",
    "line breaks before the first word",
    "texts without words",
)


def _single(
    kind: str, name: str, title: str, lost: tuple[str, ...], suffixes: tuple[str, ...] = ()
) -> DocumentFormat:
    def tell(glimpse: Glimpse) -> float:
        return 1.0 if glimpse.tree is None and kind_of(glimpse.head) == kind else 0.0

    def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
        write_file(documents, path, notes, **{**options, "kind": kind})

    return DocumentFormat(
        name=name, title=title, tell=tell, read=read_file, write=write,
        read_options={**_READ, "annotator": "name of the annotator, instead of the file's"},
        write_options=_WRITE, cannot_carry=(*_LOST, *lost, "more than one document and annotator"),
        suffixes=suffixes,
    )  # fmt: skip


FORMATS = (
    DocumentFormat(
        name="inception",
        title="INCEpTION or WebAnno (folder or project export)",
        tell=tell_project,
        read=read_project,
        write=write_project,
        read_options=_READ,
        write_options={"kind": "tsv, xmi or json (default: tsv)", **_WRITE},
        cannot_carry=(*_LOST, *_TSV_LOST[:1]),
    ),
    _single("tsv", "webanno-tsv", "WebAnno TSV", _TSV_LOST),
    _single("xmi", "cas-xmi", "UIMA CAS XMI", ("control characters",), (".xmi",)),
    _single("json", "cas-json", "UIMA CAS JSON", ()),
)
