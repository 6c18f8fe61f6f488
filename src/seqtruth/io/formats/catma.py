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

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Notes
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.catma_tei import Found, document_of, read_tei, text_of
from seqtruth.io.json_records import parse_json
from seqtruth.io.tree import Tree

#: The property that names an annotation's author has the same id in all projects.
_AUTHOR = "CATMA_AB27F1D4-303A-3622-BB2C-72C310D0C1BF"
_COLLECTION = re.compile(r"(.*/)?collections/([^/]+)/header\.json")
_SIGN = re.compile(rb"""<ab\s[^>]*type=["']catma["']""")


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
        yield from read_tei(Tree(path.parent), [path.name], by_collection, notes)
        return
    tree = Tree(path)
    if any(_COLLECTION.fullmatch(name) for name in tree):
        yield from _read_project(tree, by_collection, notes)
    else:
        yield from read_tei(tree, [n for n in tree if n.endswith(".xml")], by_collection, notes)


def _read_project(tree: Tree, by_collection: bool, notes: Notes) -> Iterator[Document]:
    names = _tag_names(tree)
    files: dict[str, list[str]] = {}
    for name in tree:
        if name.endswith(".json"):
            files.setdefault(str(PurePosixPath(name).parent), []).append(name)
    opinions: dict[str, dict[str, list[Found]]] = {}
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
        return parse_json(tree.read(name))
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


def _annotations(tree: Tree, file: str, names: dict[str, str], user: str) -> Iterator[Found]:
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
            yield Found(
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
    tree: Tree, id: str, by_annotator: dict[str, list[Found]], notes: Notes
) -> Document:
    files = [name for name in tree if name.endswith(f"documents/{id}/{id}.txt")]
    if not files:
        raise InputError(f"no text for the document {id!r}", where=str(tree.path))
    header = next((n for n in tree if n.endswith(f"documents/{id}/header.json")), None)
    content = _json(tree, header) if header else {}
    info = content.get("gitContentInfoSet") if isinstance(content, dict) else None
    title = info.get("title") if isinstance(info, dict) else None
    name = f"{title} ({id})" if title else id
    return document_of(name, text_of(tree, files[0]), by_annotator, tree.where(files[0]), notes)


FORMAT = DocumentFormat(
    name="catma",
    title="CATMA",
    tell=tell,
    read=read,
    read_options={"by": "'collections' takes each annotation collection for an annotator"},
)
