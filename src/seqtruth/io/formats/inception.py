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
where the texts differ, the folder is the annotator and the files are documents. So it is where a
folder or zip has one file only, unless its name has an ending, as documents' names have.

Written is a folder of the same shape; the files can be imported one by one (for TSV, into the
layer that ``layer=`` and ``feature=`` name, by default that which was read, or the built-in named entities).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Notes
from seqtruth.io.files import atomic_path
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.cas import NAMED_ENTITY
from seqtruth.io.formats.cas_xmi import type_system
from seqtruth.io.formats.file_names import file_name
from seqtruth.io.formats.gathered import gold_named, note_lost
from seqtruth.io.formats.inception_files import (
    CURATOR,
    how,
    kind_of,
    lines_of,
    read_file,
    write_file,
)
from seqtruth.io.formats.inception_project import read_project


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
    rest = iter(documents)
    first = list(islice(rest, 1))
    kind, layer = how(options, first[0] if first else None)
    documents = chain(first, rest)
    with atomic_path(path) as folder:
        (folder / "source").mkdir(parents=True)
        if kind == "xmi":
            (folder / "TypeSystem.xml").write_text(
                type_system(layer), encoding="utf-8", newline="\n"
            )
        for document in (gold_named(each, CURATOR, (CURATOR,), notes) for each in documents):
            note_lost(document, notes, gold=True)
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
    "layer": f"the layer to write to (default: that which was read, or {NAMED_ENTITY})",
    "feature": "its feature for the label (default: that which was read, or value)",
}
_LOST = (
    "scores",
    "gaps of discontinuous marks",
    "roles but one gold opinion (CURATION_USER)",
    "which parts of a text were seen",
)
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
