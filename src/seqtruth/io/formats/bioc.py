"""BioC, in XML and JSON, as PubTator, TeamTat and ezTag write it.

::

    <collection> <document> <id>1</id>
      <passage> <offset>0</offset> <text>Cystic fibrosis.</text>
        <annotation id="1"> <infon key="type">Disease</infon> <infon key="annotator">anna</infon>
          <location offset="0" length="15"/> <text>Cystic fibrosis</text>

The label is the ``infon`` ``type``; the annotator the ``infon`` ``annotator`` where there is one,
and otherwise the file's name. A document is its passages (or sentences) at their offsets, blanks
between. Offsets count code points, or UTF-16 units where only they find the annotated words.
Several locations are the pieces of one mark. Relations, nodes and annotations without place are
left out.

Written is XML with one passage a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.files import read_bytes, write_chunks
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.gathered import checked_pieces, note_lost
from seqtruth.io.formats.offsets import Converter, utf16_to_points
from seqtruth.io.formats.plain_marks import note_borders
from seqtruth.io.formats.safe_xml import Element, parse_xml, xml_safe, xml_tag, xml_text
from seqtruth.io.json_records import parse_json

_MAX_GAP = 1_000_000


@dataclass
class _Annotation:
    label: str
    annotator: str | None
    stretches: list[tuple[int, int]]
    words: str | None
    where: str


@dataclass
class _Record:
    """A document of either kind of file."""

    id: str
    where: str
    passages: list[tuple[int, str]] = field(default_factory=list)
    annotations: list[_Annotation] = field(default_factory=list)


def tell(glimpse: Glimpse) -> float:
    head = glimpse.head
    if glimpse.tree is not None:
        return 0.0
    if head.lstrip()[:1] == b"<":
        return 0.95 if b"<collection" in head and b"<passage" in head else 0.0
    json_like = b'"passages"' in head and b'"infons"' in head
    return 0.9 if json_like and head.lstrip()[:1] == b"{" else 0.0


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    name = str(options.get("annotator") or path.stem)
    data = read_bytes(path)
    records = _from_xml if data.lstrip()[:1] == b"<" else _from_json
    for record in records(data, str(path), notes):
        text = _text(record)
        convert = _counting(text, record)
        by_annotator: dict[str, list[Mark]] = {}
        if not any(annotation.annotator for annotation in record.annotations):
            by_annotator[name] = []
        for annotation in record.annotations:
            stretches = [(convert(start), convert(end)) for start, end in annotation.stretches]
            mark = checked_pieces(text, stretches, annotation.label)
            if isinstance(mark, str):
                notes.left_out(mark, annotation.where)
            else:
                by_annotator.setdefault(annotation.annotator or name, []).append(mark)
        opinions = tuple(Opinion(who, tuple(marks)) for who, marks in by_annotator.items())
        yield Document(record.id, text, opinions, where=record.where)


def _text(record: _Record) -> str:
    pieces, length = [], 0
    for offset, text in sorted(record.passages, key=lambda passage: passage[0]):
        gap = offset - length
        if gap > _MAX_GAP:
            raise InputError(
                "a million blanks between passages", where=record.where, got=f"offset {offset}"
            )
        # passages whose offsets overlap (other units, careless files) follow each other
        pieces += [" " * max(0, gap), text]
        length += max(0, gap) + len(text)
    whole = "".join(pieces)
    if any("\ud800" <= letter <= "\udfff" for letter in whole):
        raise InputError("the text holds half a character (a lone surrogate)", where=record.where)
    return whole


def _counting(text: str, record: _Record) -> Converter:
    points: Converter = lambda place: place if 0 <= place <= len(text) else None  # noqa: E731
    if all(letter <= "\uffff" for letter in text):
        return points
    units = utf16_to_points(text)

    def fits(way: Converter) -> int:
        count = 0
        for annotation in record.annotations:
            if len(annotation.stretches) == 1:
                start, end = (way(place) for place in annotation.stretches[0])
                count += (
                    start is not None and end is not None and text[start:end] == annotation.words
                )
        return count

    return units if fits(units) > fits(points) else points


def _number(value: object, where: str) -> int:
    try:
        number = int(value) if isinstance(value, str | int) and len(str(value)) < 15 else None
    except ValueError:
        number = None
    if number is None:
        raise InputError("not an offset", where=where, got=repr(value)[:40])
    return number


def _from_xml(data: bytes, where: str, notes: Notes) -> Iterator[_Record]:
    root = parse_xml(data, where)
    if root.tag != "collection":
        raise InputError("not a BioC collection", where=where, got=f"<{root.tag[:60]}>")
    for element in root.all("document"):
        record = _Record(_content(element, "id"), f"{where}:{element.line}")
        _gather_xml(element, record, where, notes)
        yield record


def _content(element: Element, tag: str) -> str:
    found = element.first(tag)
    return found.content() if found is not None else ""


def _gather_xml(element: Element, record: _Record, where: str, notes: Notes) -> None:
    """Passages, sentences and annotations below an element."""
    for child in element.children:
        place = f"{where}:{child.line}"
        if child.tag in ("passage", "sentence"):
            text = child.first("text")
            if text is not None:
                record.passages.append(
                    (_number(_content(child, "offset").strip(), place), text.content())
                )
            _gather_xml(child, record, where, notes)
        elif child.tag == "annotation":
            infons = {i.attributes.get("key", ""): i.content() for i in child.all("infon")}
            text = child.first("text")
            locations = [
                (
                    _number(e.attributes.get("offset"), place),
                    _number(e.attributes.get("length"), place),
                )
                for e in child.all("location")
            ]
            record.annotations.append(
                _annotation(infons, locations, text.content() if text else None, place)
            )
        elif child.tag == "relation":
            notes.left_out("relation", place)


def _annotation(
    infons: dict[str, Any], locations: list[tuple[int, int]], words: str | None, where: str
) -> _Annotation:
    stretches = [(offset, offset + length) for offset, length in locations]
    annotator = infons.get("annotator")
    return _Annotation(
        str(infons.get("type") or "?"),
        str(annotator) if annotator else None,
        stretches,
        words,
        where,
    )


def _from_json(data: bytes, where: str, notes: Notes) -> Iterator[_Record]:
    try:
        content = parse_json(data.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise InputError("not JSON", where=where, got=str(error)[:100]) from None
    documents = content.get("documents", [content]) if isinstance(content, dict) else content
    for number, document in enumerate(_list(documents), start=1):
        place = f"{where}, document {number}"
        record = _Record(str(document.get("id", number)), place)
        for passage in [document, *_list(document.get("passages"))]:
            for part in [passage, *_list(passage.get("sentences"))]:
                _gather_json(part, record, place, notes)
        yield record


def _list(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _gather_json(part: dict[str, Any], record: _Record, where: str, notes: Notes) -> None:
    if isinstance(part.get("text"), str):
        record.passages.append((_number(part.get("offset", 0), where), part["text"]))
    for annotation in _list(part.get("annotations")):
        infons, words = annotation.get("infons"), annotation.get("text")
        locations = [
            (_number(each.get("offset"), where), _number(each.get("length"), where))
            for each in _list(annotation.get("locations"))
        ]
        record.annotations.append(
            _annotation(
                infons if isinstance(infons, dict) else {}, locations,
                words if isinstance(words, str) else None, where,
            )
        )  # fmt: skip
    notes_count = len(_list(part.get("relations")))
    if notes_count:
        notes.left_out("relation", where, notes_count)


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    write_chunks(path, (line.encode() for line in _lines(documents, notes)))


def _lines(documents: Iterable[Document], notes: Notes) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n'
    yield "<collection>\n<source>seqtruth</source>\n<date></date>\n<key></key>\n"
    for document in documents:
        note_lost(document, notes)
        note_borders(document, notes)
        text = xml_safe(document.text, notes, document.where)
        yield f"<document>\n<id>{xml_text(xml_safe(document.id, notes, document.where))}</id>\n"
        yield f"<passage>\n<offset>0</offset>\n<text>{xml_text(text)}</text>\n"
        number = 0
        for opinion in document.opinions:
            if not opinion.marks:
                notes.left_out("annotator who found nothing", document.where)
            for mark in opinion.marks:
                number += 1
                if mark.score is not None:
                    notes.left_out("score", document.where)
                yield from _written(number, mark, opinion.annotator, text, document, notes)
        yield "</passage>\n</document>\n"
    yield "</collection>\n"


def _written(
    number: int, mark: Mark, annotator: str, text: str, document: Document, notes: Notes
) -> Iterator[str]:
    label, name = (xml_safe(part, notes, document.where) for part in (mark.label, annotator))
    pieces = mark.pieces or ((mark.start, mark.end),)
    yield f'<annotation id="{number}">\n<infon key="type">{xml_text(label)}</infon>\n'
    yield f'<infon key="annotator">{xml_text(name)}</infon>\n'
    for start, end in pieces:
        yield xml_tag("location", {"offset": str(start), "length": str(end - start)}) + "/>\n"
    yield f"<text>{xml_text(' '.join(text[start:end] for start, end in pieces))}</text>\n</annotation>\n"


FORMAT = DocumentFormat(
    name="bioc",
    title="BioC",
    tell=tell,
    read=read,
    write=write,
    read_options={"annotator": "name of the annotator where the file names none"},
    cannot_carry=(
        "scores",
        "roles (gold, model)",
        "which parts of a text were seen",
        "borders of tokens and sentences",
        "annotators who found nothing",
        "control characters",
    ),
)
