"""tagtog: ``<document>.ann.json`` beside the text, with ``annotations-legend.json`` for the classes.

An ``ann.json`` holds ``annatable.parts`` and ``entities``: ``classId``, ``part``, ``offsets`` with a
``start`` in that part and the ``text``, and ``confidence`` with ``who`` made it and how sure. The text
is not in it. It is looked for in the export's folder or zip: ``<document>.plain.html``, whose elements
carry the parts as their ids, or ``<document>.txt`` for texts of one part; in the document that is made
parts follow each other with a line end between. Offsets are checked by their words, as code points and
as UTF-16 units.

In an export, ``ann.json/master`` is what the team agreed on, and ``ann.json/members/<user>`` is each
user's own; master is read as gold where there are members, too. Elsewhere an entity belongs to those
in ``who`` (``user:ann``, ``ml:model``, whose role is model). A user whose file has no entities saw the
text and marked nothing. Left out: relations, fields, normalisations, labels of the whole document
(``metas``), entities in pieces of several parts. Class ids without a legend stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion, Role
from seqtruth.io.files import check_text
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.checked_values import list_at, mapping_at, name_of, number_of, whole_of
from seqtruth.io.formats.offsets import Converter, utf16_to_points
from seqtruth.io.formats.quoted_offsets import fitted
from seqtruth.io.json_records import parse_json
from seqtruth.io.tree import Tree

_ANN = ".ann.json"
_LEGEND = "annotations-legend.json"
_MEMBER = re.compile(r"(?:.*/)?members/([^/]+)/.*")
_MASTER = re.compile(r"(?:.*/)?master/.*")


def tell(glimpse: Glimpse) -> float:
    """By ``annotatable`` and ``anncomplete``, or a folder or zip with such files."""
    if glimpse.tree is not None:
        names = list(glimpse.tree)
        if any(PurePosixPath(name).name == _LEGEND for name in names):
            return 0.95
        return 0.9 if any(name.endswith(_ANN) for name in names) else 0.0
    head = glimpse.head
    return 0.95 if b'"annotatable"' in head and b'"anncomplete"' in head else 0.0


class _Parts(NamedTuple):
    """A text, and where each of its parts begins and ends."""

    text: str
    places: dict[str, tuple[int, int]]


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    """Documents of one ``ann.json`` with the text beside it, or of an export's folder or zip."""
    if options:
        raise ParameterError("there is no such option here", got=", ".join(options))
    packed = path.is_dir() or Glimpse(path).tree is not None
    tree = Tree(path if packed else path.parent)
    if packed:
        files = [name for name in tree if name.endswith(_ANN)]
    else:
        files = [path.name]
    if not files:
        raise InputError("there are no .ann.json files", where=str(path))
    legend = _legend(tree)
    by_document: dict[str, list[str]] = {}
    for name in files:
        by_document.setdefault(PurePosixPath(name).name.removesuffix(_ANN), []).append(name)
    texts = _texts(tree)
    for document, versions in by_document.items():
        yield _document(tree, document, versions, texts, legend, notes)


def _texts(tree: Tree) -> dict[str, str]:
    """Files with texts by document."""
    found: dict[str, str] = {}
    for name in tree:
        base = PurePosixPath(name).name
        for ending in (".plain.html", ".html", ".txt"):
            if base.endswith(ending):
                found.setdefault(base.removesuffix(ending), name)
                break
    return found


def _json(tree: Tree, name: str) -> dict[str, Any]:
    data = tree.read(name)
    check_text(data, Path(tree.where(name)))
    try:
        return mapping_at(parse_json(data), "the file", tree.where(name))
    except (ValueError, RecursionError) as error:
        raise InputError("not JSON", where=tree.where(name), got=str(error)[:80]) from None


def _legend(tree: Tree) -> dict[str, str]:
    name = next((name for name in tree if PurePosixPath(name).name == _LEGEND), None)
    content = {} if name is None else _json(tree, name)
    return {key: title for key, value in content.items() if (title := name_of(value))}


def _document(
    tree: Tree, document: str, versions: list[str], texts: dict[str, str],
    legend: dict[str, str], notes: Notes,
) -> Document:  # fmt: skip
    where = tree.where(versions[0])
    contents = {name: _json(tree, name) for name in versions}
    source = texts.get(document) or texts.get(document.rpartition(".")[0])
    if source is None:
        raise InputError(
            "the text is not in an .ann.json file, and there is none beside it", where=where,
            got=f"no {document}.plain.html or {document}.txt",
            fix="give the whole export, with its plain.html folder",
        )  # fmt: skip
    parts = _parts(tree, source, next(iter(contents.values())), where)
    to_points = utf16_to_points(parts.text) if len(parts.places) == 1 else None
    opinions: list[Opinion] = []
    for name, content in contents.items():
        member, master = _MEMBER.fullmatch(name), _MASTER.fullmatch(name)
        owner = member[1] if member else "master" if master and len(versions) > 1 else None
        page = _Page(parts, legend, to_points, notes, tree.where(name))
        opinions += _opinions(content, owner, page)
    return Document(document, parts.text, tuple(opinions), where=where)


class _Page(NamedTuple):
    parts: _Parts
    legend: dict[str, str]
    to_points: Converter | None
    notes: Notes
    where: str


def _opinions(content: dict[str, Any], owner: str | None, page: _Page) -> list[Opinion]:
    notes, where = page.notes, page.where
    marks: dict[tuple[str, Role], list[Mark]] = {}
    for one in list_at(content.get("entities"), "entities", where):
        entity = mapping_at(one, "an entity", where)
        confidence = entity.get("confidence")
        confidence = confidence if isinstance(confidence, dict) else {}
        mark = _mark(entity, page)
        if confidence.get("state") == "rejected":
            notes.left_out("rejected mark", where)
            continue
        voices = [(owner, _role(owner))] if owner else _voices(confidence.get("who"))
        for voice in voices:
            said = marks.setdefault(voice, [])
            if mark is not None:
                said.append(mark._replace(score=_probability(confidence.get("prob"))))
        for key in ("fields", "normalizations"):
            if entity.get(key):
                notes.left_out(key.removesuffix("s"), where)
    for key in ("relations", "metas"):
        if content.get(key):
            notes.left_out(
                "relation" if key == "relations" else "label of the whole document", where
            )
    if owner:
        marks.setdefault((owner, _role(owner)), [])
    return [Opinion(who, tuple(said), role) for (who, role), said in marks.items()]


def _role(owner: str) -> Role:
    return "gold" if owner == "master" else "annotator"


def _probability(value: Any) -> float | None:
    """How sure a mark is; 1 is what people's marks have, and no score."""
    found = number_of(value)
    return None if found == 1 else found


def _voices(value: Any) -> list[tuple[str, Role]]:
    found: list[tuple[str, Role]] = []
    for one in value if isinstance(value, list) else []:
        kind, _, name = str(one).partition(":")
        if name_of(name or kind):
            found.append((name or kind, "model" if kind in ("ml", "dict") else "annotator"))
    return found or [("tagtog", "annotator")]


def _mark(entity: dict[str, Any], page: _Page) -> Mark | None:
    notes, where = page.notes, page.where
    label = name_of(entity.get("classId"))
    stretch = page.parts.places.get(str(entity.get("part")))
    pieces = []
    for one in list_at(entity.get("offsets"), "offsets", where):
        offset = mapping_at(one, "an offset", where)
        start, quote = whole_of(offset.get("start")), offset.get("text")
        if (
            start is None
            or not isinstance(quote, str)
            or not quote
            or label is None
            or stretch is None
        ):
            notes.left_out("mark without offsets", where)
            return None
        part = page.parts.text[stretch[0] : stretch[1]]
        place = fitted(part, start, None, quote, page.to_points or utf16_to_points(part))
        if place is None:
            notes.left_out("mark whose words do not stand where it says", where)
            return None
        pieces.append((stretch[0] + place[0], stretch[0] + place[1]))
    if not pieces or label is None:
        notes.left_out("mark without offsets", where)
        return None
    pieces.sort()
    name = page.legend.get(label, label)
    several = tuple(pieces) if len(pieces) > 1 else ()
    return Mark(pieces[0][0], pieces[-1][1], name, several)


def _parts(tree: Tree, source: str, content: dict[str, Any], where: str) -> _Parts:
    data = tree.read(source)
    check_text(data, Path(tree.where(source)))
    text = data.decode().removeprefix("\ufeff")
    if not source.endswith(".html"):
        whole = text.replace("\r\n", "\n")
        annotatable = content.get("annotatable")
        names = annotatable.get("parts") if isinstance(annotatable, dict) else None
        listed = [str(name) for name in names] if isinstance(names, list) else ["s1v1"]
        return _cut(whole, listed, where)
    page = _PlainHtml()
    page.feed(text)
    page.close()
    return _joined(page.parts)


def _cut(text: str, names: list[str], where: str) -> _Parts:
    """A plain text as parts: one, or its paragraphs where there are as many."""
    if len(names) == 1:
        return _Parts(text, {names[0]: (0, len(text))})
    lines = [match.span() for match in re.finditer(r"[^\n]*\S[^\n]*", text)]
    if len(lines) != len(names):
        raise InputError(
            "the text cannot be cut into the parts that the annotations name", where=where,
            got=f"{len(lines)} lines for {len(names)} parts", fix="give the plain.html file instead",
        )  # fmt: skip
    return _Parts(text, dict(zip(names, lines, strict=True)))


def _joined(parts: dict[str, str]) -> _Parts:
    places, place = {}, 0
    for name, text in parts.items():
        places[name] = (place, place + len(text))
        place += len(text) + 1
    return _Parts("\n".join(parts.values()), places)


class _PlainHtml(HTMLParser):
    """Texts of the elements that have a part's id (``s1p1``, ``s1h1``, ``s1v1``), in their order."""

    _PART = re.compile(r"s\d+(?:s\d+)*[a-z]+\d+")

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: dict[str, str] = {}
        self._open: str | None = None
        self._tag, self._depth = "", 0
        self._pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._open is not None:
            self._depth += tag == self._tag
            return
        name = dict(attrs).get("id")
        if name and self._PART.fullmatch(name):
            self._open, self._tag, self._depth, self._pieces = name, tag, 1, []

    def handle_endtag(self, tag: str) -> None:
        if self._open is not None and tag == self._tag:
            self._depth -= 1
            if self._depth == 0:
                self._close_part()

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._pieces.append(data)

    def close(self) -> None:
        super().close()
        self._close_part()

    def _close_part(self) -> None:
        if self._open is not None:
            self.parts.setdefault(self._open, "".join(self._pieces))
            self._open = None


FORMAT = DocumentFormat("tagtog", "tagtog", tell, read)
