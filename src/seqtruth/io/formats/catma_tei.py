"""CATMA's TEI export of annotation collections, read; see :mod:`.catma`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.files import check_text
from seqtruth.io.formats.gathered import checked_pieces
from seqtruth.io.formats.offsets import utf16_to_points
from seqtruth.io.formats.safe_xml import Element, parse_xml
from seqtruth.io.tree import Tree

_TARGET = re.compile(r"(.*)#char=(\d{1,12}),(\d{1,12})")


class Found(NamedTuple):
    """An annotation before it meets its text."""

    annotator: str
    label: str
    stretches: list[tuple[int, int]]
    where: str


def text_of(tree: Tree, name: str) -> str:
    data = tree.read(name)
    check_text(data, Path(tree.where(name)))
    return data.decode().removeprefix("\ufeff")


def document_of(
    id: str, text: str, by_annotator: dict[str, list[Found]], where: str, notes: Notes
) -> Document:
    convert = utf16_to_points(text)
    opinions = []
    for annotator, theirs in by_annotator.items():
        marks: list[Mark] = []
        for found in theirs:
            stretches = [(convert(start), convert(end)) for start, end in found.stretches]
            mark = checked_pieces(text, stretches, found.label)
            if isinstance(mark, str):
                notes.left_out(mark, found.where)
            else:
                marks.append(mark)
        opinions.append(Opinion(annotator, tuple(marks)))
    return Document(id, text, tuple(opinions), where=where)


def read_tei(
    tree: Tree, files: Iterable[str], by_collection: bool, notes: Notes
) -> Iterator[Document]:
    documents: dict[str, tuple[str, dict[str, list[Found]]]] = {}
    for file in files:
        where = tree.where(file)
        root = parse_xml(tree.read(file), where)
        blocks = [e for e in _below(root) if e.tag == "ab" and e.attributes.get("type") == "catma"]
        if not blocks:
            continue
        collection = PurePosixPath(file).stem
        pointers = any(element.tag == "ptr" for element in _below(blocks[0]))
        text_file = _text_beside(tree, file) if pointers else file
        text = text_of(tree, text_file) if pointers else blocks[0].content()
        _, by_annotator = documents.setdefault(text_file, (text, {}))
        if by_collection:
            by_annotator.setdefault(collection, [])
        for found in _tei_annotations(root, blocks[0], collection, where):
            by_annotator.setdefault(collection if by_collection else found.annotator, []).append(
                found
            )
    if not documents:
        raise InputError("no annotations of CATMA's", where=str(tree.path))
    for name, (text, by_annotator) in documents.items():
        yield document_of(PurePosixPath(name).stem, text, by_annotator, tree.where(name), notes)


def _below(element: Element) -> Iterator[Element]:
    waiting = [element]
    while waiting:
        inner = waiting.pop()
        yield inner
        waiting.extend(reversed(inner.children))


def _text_beside(tree: Tree, file: str) -> str:
    folder = PurePosixPath(file).parent
    for place in (folder, folder.parent):
        texts = [n for n in tree if n.endswith(".txt") and PurePosixPath(n).parent == place]
        if len(texts) == 1:
            return texts[0]
    raise InputError(
        "the text is not in this file, nor one .txt beside it", where=tree.where(file),
        fix="put the document's .txt in the same folder or the one above",
    )  # fmt: skip


def _tei_annotations(root: Element, block: Element, collection: str, where: str) -> Iterator[Found]:
    tags: dict[str, str] = {}
    instances: dict[str, tuple[str, str]] = {}
    for element in _below(root):
        id = element.attributes.get("xml:id", "")
        described = element.first("fsDescr")
        if element.tag == "fsDecl" and described is not None:
            tags[id] = described.content().strip()
        if element.tag == "fs":
            authors = [
                f.content().strip()
                for f in element.all("f")
                if f.attributes.get("name") == "catma_markupauthor"
            ]
            instances[id] = (
                element.attributes.get("type", ""),
                authors[0] if authors else collection,
            )
    stretches: dict[str, list[tuple[int, int]]] = {}
    places: dict[str, int] = {}
    length = _units(block.text)
    for segment in block.children:
        extents = [_TARGET.fullmatch(p.attributes.get("target", "")) for p in segment.all("ptr")]
        inside = segment.content()
        pairs = [(int(m[2]), int(m[3])) for m in extents if m] or [
            (length, length + _units(inside))
        ]
        length += _units(inside) + _units(segment.tail)
        if segment.tag == "seg":
            for reference in segment.attributes.get("ana", "").replace("#", " ").split():
                stretches.setdefault(reference, []).extend(pairs)
                places.setdefault(reference, segment.line)
    for reference, pairs in stretches.items():
        tag, author = instances.get(reference, ("", collection))
        yield Found(author, tags.get(tag, tag or "?"), pairs, f"{where}:{places[reference]}")


def _units(text: str) -> int:
    return len(text) + sum(letter > "\uffff" for letter in text)
