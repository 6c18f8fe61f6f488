"""MAE's XML files, one a document and annotator.

::

    <TaskName>
      <TEXT><![CDATA[Alice slept.]]></TEXT>
      <TAGS>
        <PERSON id="P0" spans="0~5" text="Alice" type="real" />

``spans`` holds one stretch or several, ``0~5,8~11`` (UTF-16 units, as Java counts); MAE 1 wrote
``start`` and ``end``. ``-1~-1`` marks no text at all: such tags, and links between tags, are
counted and left out. The label is the name of the tag, or one of its attributes (``attribute=``).

The annotator is the end of the file's name, after the last ``_``: ``doc1_a1.xml``. Where that
makes no sense (no two files share a beginning or an end) the annotator is the folder, of files of one
name in several folders that in which they differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.file_names import name_of, told_apart
from seqtruth.io.formats.gathered import Gathered, checked_pieces, note_lost
from seqtruth.io.formats.offsets import points_to_utf16, utf16_to_points
from seqtruth.io.formats.plain_marks import note_borders
from seqtruth.io.formats.safe_xml import Element, xml_safe, xml_tag, xml_text
from seqtruth.io.formats.xml_files import (
    documents_by_id,
    stem,
    tell_xml,
    write_xml_files,
    xml_files,
)

_SPANS = re.compile(r"\s*-?\d{1,12}~-?\d{1,12}(?:\s*,\s*-?\d{1,12}~-?\d{1,12})*\s*")
_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)


def tell(glimpse: Glimpse) -> float:
    return tell_xml(glimpse, _sure)


def _sure(head: bytes) -> float:
    if b"<TEXT>" not in head:
        return 0.0
    return 0.95 if re.search(rb'\sspans="-?\d+~-?\d+', head) or b"<TAGS>" in head else 0.3


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    given = options.get("annotator")
    attribute = str(options["attribute"]) if options.get("attribute") else None
    files = list(xml_files(path, lambda root: root.first("TEXT") is not None, "MAE"))
    split = _by_name([stem(name) for name, _, _ in files])
    owners = told_apart(PurePosixPath(name) for name, _, _ in files)
    documents: dict[str, Gathered] = {}
    tasks: dict[str, str] = {}
    for name, root, where in files:
        owner = owners.get(PurePosixPath(name))  # a folder for each annotator
        id, annotator = split.get(stem(name)) or (stem(name), owner or path.resolve().name)
        text = (root.first("TEXT") or root).content()
        marks = tuple(_marks(root, text, attribute, notes, where))
        opinion = Opinion(str(given) if given else name_of(annotator), marks)
        documents.setdefault(id, Gathered(name_of(id), notes)).add(text, opinion, where)
        tasks.setdefault(id, root.tag)
    for id, gathered in documents.items():
        yield replace(gathered.document(), source={"mae": tasks[id]})


def _by_name(stems: list[str]) -> dict[str, tuple[str, str]]:
    """Document and annotator of each name, where the names can be cut."""
    parts = {name: name.rpartition("_")[::2] for name in stems if "_" in name.strip("_")}
    documents, annotators = (
        Counter(p[0] for p in parts.values()),
        Counter(p[1] for p in parts.values()),
    )
    if len(stems) == 1 or any(count > 1 for count in (*documents.values(), *annotators.values())):
        return parts
    return {}


def _marks(
    root: Element, text: str, attribute: str | None, notes: Notes, where: str
) -> Iterator[Mark]:
    convert = utf16_to_points(text)
    tags = root.first("TAGS")
    for element in tags.children if tags is not None else ():
        place = f"{where}:{element.line}"
        stretches = _stretches(element, place)
        if stretches is None:
            notes.left_out("link between tags (relation)", place)
            continue
        if all(pair == (-1, -1) for pair in stretches):
            notes.left_out("tag without text", place)
            continue
        label = element.attributes.get(attribute, element.tag) if attribute else element.tag
        mark = checked_pieces(
            text, [(convert(start), convert(end)) for start, end in stretches], label
        )
        if isinstance(mark, str):
            notes.left_out(mark, place)
        else:
            yield mark


def _stretches(element: Element, where: str) -> list[tuple[int, int]] | None:
    """The stretches of a tag; None for a link."""
    spans = element.attributes.get("spans")
    if spans is None and {"start", "end"} <= element.attributes.keys():
        spans = f"{element.attributes['start']}~{element.attributes['end']}"
    if spans is None:
        return None
    if not _SPANS.fullmatch(spans):
        raise InputError(
            "not a span", where=where, got=repr(spans[:60]), fix="expected '3~8' or '3~8,10~12'"
        )
    pairs = (pair.split("~") for pair in spans.split(","))
    return [(int(start), int(end)) for start, end in pairs]


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    """A file a document and annotator, ``<document>_<annotator>.xml``."""
    write_xml_files(_files(documents, notes), path)


def _files(documents: Iterable[Document], notes: Notes) -> Iterator[tuple[str, str]]:
    for document in documents_by_id(documents):
        note_lost(document, notes)
        note_borders(document, notes)
        if not document.opinions:
            notes.left_out("document that nobody annotated", document.where)
        latest = {opinion.annotator: opinion for opinion in document.opinions}
        for opinion in latest.values():
            name = opinion.annotator.replace("_", "-")
            if name != opinion.annotator:
                notes.left_out("_ in an annotator's name (written as -)", document.where)
            yield f"{document.id}_{name}", "".join(_written(document, opinion, notes))


def _written(document: Document, opinion: Opinion, notes: Notes) -> Iterator[str]:
    text = xml_safe(document.text, notes, document.where)
    units = points_to_utf16(text)
    plain = "\r" not in text and "]]>" not in text
    # MAE opens files of the task that it has loaded
    task = str((document.source or {}).get("mae") or "")
    task = task if _NAME.fullmatch(task) else "SeqTruth"
    yield f'<?xml version="1.0" encoding="UTF-8" ?>\n\n<{task}>\n'
    yield f"<TEXT>{f'<![CDATA[{text}]]>' if plain else xml_text(text)}</TEXT>\n<TAGS>\n"
    for number, mark in enumerate(opinion.marks):
        tag = mark.label
        if not _NAME.fullmatch(tag):
            tag = re.sub(r"[^\w.-]", "_", f"_{tag}", flags=re.ASCII)
            notes.left_out("label that is no XML name (other letters written as _)", document.where)
        if mark.score is not None:
            notes.left_out("score", document.where)
        pieces = mark.pieces or ((mark.start, mark.end),)
        attributes = {
            "id": f"{tag[:1].upper()}{number}",
            "spans": ",".join(f"{units(start)}~{units(end)}" for start, end in pieces),
            "text": " ... ".join(text[start:end] for start, end in pieces),
        }
        yield xml_tag(tag, attributes) + " />\n"
    yield f"</TAGS>\n</{task}>\n"


FORMAT = DocumentFormat(
    name="mae",
    title="MAE",
    tell=tell,
    read=read,
    write=write,
    read_options={
        "annotator": "name of the annotator, instead of the end of the file's name",
        "attribute": "take the label from this attribute, where a tag has it",
    },
    cannot_carry=(
        "scores", "roles (gold, model)", "which parts of a text were seen", "borders of tokens and sentences",
        "labels that are no XML names", "documents nobody annotated",
        "_ in annotators' names", "control characters",
    ),
)  # fmt: skip
