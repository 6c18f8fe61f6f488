"""Tools that keep one XML file a document: a file, a folder or a zip of them, read and written alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

from seqtruth.errors import InputError
from seqtruth.io.documents import Document
from seqtruth.io.files import atomic_path, read_bytes, write_chunks
from seqtruth.io.format import Glimpse
from seqtruth.io.formats.file_names import file_name
from seqtruth.io.formats.safe_xml import Element, parse_xml
from seqtruth.io.tree import Tree


def tell_xml(glimpse: Glimpse, sure: Callable[[bytes], float]) -> float:
    """How sure one can be of a file, or of the first few XML files of a folder or zip."""
    if glimpse.tree is None:
        return sure(glimpse.head) if glimpse.head.lstrip()[:1] == b"<" else 0.0
    names = [name for name in glimpse.tree if name.lower().endswith(".xml")]
    heads = (glimpse.tree.read(name, 1 << 14) for name in names[:10])
    return max((sure(head) for head in heads), default=0.0) * 0.95


def xml_files(
    path: Path, root: Callable[[Element], bool], tool: str
) -> Iterator[tuple[str, Element, str]]:
    """Name, content and place of every file of the tool's; others of a folder are passed over."""
    if path.is_file() and read_bytes(path)[:2] != b"PK":
        element = parse_xml(read_bytes(path), str(path))
        if not root(element):
            raise InputError(f"not a {tool} file", where=str(path), got=f"<{element.tag[:60]}>")
        yield path.name, element, str(path)
        return
    tree, found = Tree(path), False
    for name in tree:
        if name.lower().endswith(".xml"):
            element = parse_xml(tree.read(name), tree.where(name))
            if root(element):
                found = True
                yield name, element, tree.where(name)
    if not found:
        raise InputError(f"no {tool} files", where=str(path))


def stem(name: str) -> str:
    """A file's name without folder and ``.xml``."""
    file = PurePosixPath(name).name
    return file[:-4] if file.lower().endswith(".xml") else file


def write_xml_files(files: Iterable[tuple[str, str]], path: Path) -> None:
    """Names and contents: one file where the path ends in ``.xml``, a folder otherwise."""
    everything = list(files)
    if path.suffix.lower() == ".xml":
        if len(everything) != 1:
            raise InputError(
                f"one file holds one document and there are {len(everything):,}", where=str(path),
                fix="give a folder, without .xml",
            )  # fmt: skip
        write_chunks(path, [everything[0][1].encode()])
        return
    names = {file_name(name) for name, _ in everything}
    if len(names) < len(everything):
        raise InputError(
            "two documents have the same name", where=str(path), fix="give them ids that differ"
        )
    with atomic_path(path) as folder:
        folder.mkdir()
        for name, content in everything:
            (folder / f"{file_name(name)}.xml").write_bytes(content.encode())


def documents_by_id(documents: Iterable[Document]) -> Iterator[Document]:
    """Documents, refused where an id comes twice."""
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise InputError(
                "two documents have the same id", where=document.where, got=repr(document.id)
            )
        seen.add(document.id)
        yield document
