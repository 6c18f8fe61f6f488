"""CATMA's projects (folder or zip, versions 6 and 7) and its TEI export of annotation collections, read.

A project, as CATMA's GitLab hands it out::

    documents/D_1/D_1.txt                 the text
    documents/D_1/header.json             {"gitContentInfoSet": {"title": "The Metamorphosis"}}
    collections/C_1/header.json           {"responsibleUser": "anna", "sourceDocumentId": "D_1"}
    collections/C_1/annotations/u_0.json  [{"body": {"tag": ".../CATMA_2", ...}, "target": {...}}, ...]
    tagsets/T_1/CATMA_2/propertydefs.json {"name": "event"}

The TEI export has ``<seg ana="#CATMA_7"><ptr target="D_1#char=0,5"/></seg>``, the annotations as
``<fs>`` and the names of tags as ``<fsDescr>``; its text is the one ``.txt`` in the same folder
or the one above, or stands in the file itself.

Offsets are UTF-16 units. The annotator is the author of each annotation (``by=collections`` takes
the name of the collection instead); a collection without annotations is its responsible user's
"nothing found". Properties of annotations are left out. The JSON of CATMA's export API holds no
text and is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.files import check_text
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.gathered import checked_pieces
from seqtruth.io.formats.offsets import utf16_to_points
from seqtruth.io.formats.safe_xml import Element, parse_xml
from seqtruth.io.tree import Tree

#: The property that names an annotation's author has the same id in all projects.
_AUTHOR = "CATMA_AB27F1D4-303A-3622-BB2C-72C310D0C1BF"
_COLLECTION = re.compile(r"(.*/)?collections/([^/]+)/header\.json")
_TARGET = re.compile(r"(.*)#char=(\d{1,12}),(\d{1,12})")
_SIGN = re.compile(rb"""<ab\s[^>]*type=["']catma["']""")


class _Found(NamedTuple):
    """An annotation before it meets its text."""

    annotator: str
    label: str
    stretches: list[tuple[int, int]]
    where: str


def tell(glimpse: Glimpse) -> float:
    if glimpse.tree is not None:
        names = list(glimpse.tree)
        if any(_COLLECTION.fullmatch(name) for name in names):
            return 0.95
        heads = (glimpse.tree.read(name, 1 << 16) for name in names if name.endswith(".xml"))
        return (
            0.95
            if any(_SIGN.search(head) for head, _ in zip(heads, range(10), strict=False))
            else 0.0
        )
    if b'"annotationCollectionId"' in glimpse.head and b'"phrases"' in glimpse.head:
        return 0.9
    return 0.95 if _SIGN.search(glimpse.head) else 0.0


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    by_collection = options.get("by") == "collections"
    if path.is_file() and Glimpse(path).tree is None:
        if path.suffix != ".xml":
            raise InputError(
                "CATMA's JSON export holds no text", where=str(path),
                fix="give the project's folder (from CATMA's GitLab) or the TEI export with its text",
            )  # fmt: skip
        yield from _read_tei(Tree(path.parent), [path.name], by_collection, notes)
        return
    tree = Tree(path)
    if any(_COLLECTION.fullmatch(name) for name in tree):
        yield from _read_project(tree, by_collection, notes)
    else:
        yield from _read_tei(tree, [n for n in tree if n.endswith(".xml")], by_collection, notes)


# --- projects


def _read_project(tree: Tree, by_collection: bool, notes: Notes) -> Iterator[Document]:
    names = _tag_names(tree)
    files: dict[str, list[str]] = {}
    for name in tree:
        if name.endswith(".json"):
            files.setdefault(str(PurePosixPath(name).parent), []).append(name)
    opinions: dict[str, dict[str, list[_Found]]] = {}
    for name in tree:
        match = _COLLECTION.fullmatch(name)
        if match is None:
            continue
        header = _json(tree, name)
        document = str(header.get("sourceDocumentId")) if isinstance(header, dict) else ""
        user = header.get("responsibleUser") if isinstance(header, dict) else None
        title = str(header.get("name") or match[2]) if isinstance(header, dict) else match[2]
        theirs = opinions.setdefault(document, {})
        if user or by_collection:
            theirs.setdefault(title if by_collection else str(user), [])
        for file in files.get(name.removesuffix("header.json") + "annotations", ()):
            for found in _annotations(tree, file, names, str(user or title)):
                theirs.setdefault(title if by_collection else found.annotator, []).append(found)
    for document, by_annotator in opinions.items():
        yield _project_document(tree, document, by_annotator, notes)


def _json(tree: Tree, name: str) -> Any:
    try:
        return json.loads(tree.read(name))
    except (ValueError, RecursionError) as error:
        raise InputError("not JSON", where=tree.where(name), got=str(error)[:100]) from None


def _tag_names(tree: Tree) -> dict[str, str]:
    names = {}
    for name in tree:
        if "tagsets/" in name and name.endswith("/propertydefs.json"):
            content = _json(tree, name)
            if isinstance(content, dict) and isinstance(content.get("name"), str):
                names[PurePosixPath(name).parent.name] = content["name"]
    return names


def _annotations(tree: Tree, file: str, names: dict[str, str], user: str) -> Iterator[_Found]:
    content = _json(tree, file)
    where = tree.where(file)
    for number, annotation in enumerate(
        content if isinstance(content, list) else [content], start=1
    ):
        try:
            body, items = annotation["body"], annotation["target"]["items"]
            tag = str(body["tag"]).rstrip("/").rpartition("/")[2]
            selectors = [item["selector"] for item in items]
            stretches = [(int(s["start"]), int(s["end"])) for s in selectors]
            author = body["properties"]["system"].get(_AUTHOR) or [user]
            yield _Found(
                str(author[0]), names.get(tag, tag), stretches, f"{where}, annotation {number}"
            )
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
            IndexError,
        ) as error:
            raise InputError(
                "not an annotation of CATMA's",
                where=f"{where}, annotation {number}",
                got=repr(error)[:80],
            ) from None


def _project_document(
    tree: Tree, id: str, by_annotator: dict[str, list[_Found]], notes: Notes
) -> Document:
    files = [name for name in tree if name.endswith(f"documents/{id}/{id}.txt")]
    if not files:
        raise InputError(f"no text for the document {id!r}", where=str(tree.path))
    header = next((n for n in tree if n.endswith(f"documents/{id}/header.json")), None)
    content = _json(tree, header) if header else {}
    info = content.get("gitContentInfoSet") if isinstance(content, dict) else None
    title = info.get("title") if isinstance(info, dict) else None
    name = f"{title} ({id})" if title else id
    return _document(name, _text(tree, files[0]), by_annotator, tree.where(files[0]), notes)


def _text(tree: Tree, name: str) -> str:
    data = tree.read(name)
    check_text(data, Path(tree.where(name)))
    return data.decode().removeprefix("\ufeff")


def _document(
    id: str, text: str, by_annotator: dict[str, list[_Found]], where: str, notes: Notes
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


# --- TEI


def _read_tei(
    tree: Tree, files: Iterable[str], by_collection: bool, notes: Notes
) -> Iterator[Document]:
    documents: dict[str, tuple[str, dict[str, list[_Found]]]] = {}
    for file in files:
        where = tree.where(file)
        root = parse_xml(tree.read(file), where)
        blocks = [e for e in _below(root) if e.tag == "ab" and e.attributes.get("type") == "catma"]
        if not blocks:
            continue
        collection = PurePosixPath(file).stem
        pointers = any(element.tag == "ptr" for element in _below(blocks[0]))
        text_file = _text_beside(tree, file) if pointers else file
        text = _text(tree, text_file) if pointers else blocks[0].content()
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
        yield _document(PurePosixPath(name).stem, text, by_annotator, tree.where(name), notes)


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


def _tei_annotations(
    root: Element, block: Element, collection: str, where: str
) -> Iterator[_Found]:
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
        yield _Found(author, tags.get(tag, tag or "?"), pairs, f"{where}:{places[reference]}")


def _units(text: str) -> int:
    return len(text) + sum(letter > "\uffff" for letter in text)


FORMAT = DocumentFormat(
    name="catma",
    title="CATMA",
    tell=tell,
    read=read,
    read_options={"by": "'collections' takes each annotation collection for an annotator"},
)
