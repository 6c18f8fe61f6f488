"""GATE's XML documents: annotation sets are the annotators.

::

    <GateDocument version="3">
      <TextWithNodes><Node id="0"/>Alice<Node id="5"/> slept.</TextWithNodes>
      <AnnotationSet Name="anna">
        <Annotation Id="1" Type="Person" StartNode="0" EndNode="5"> <Feature>...</Feature> </Annotation>

A node's id is its offset in UTF-16 units, but only where the nodes stand in the text is used
here. The label is the annotation's type, or one of its features (``feature=``). The set
``Original markups`` is nobody's; the unnamed set is called ``default`` and counts only where it
holds something; ``Key`` and ``consensus`` are gold. Types that programs make (Token, SpaceToken,
Sentence, Split, Lookup and the like) are no marks unless asked for (``types=``); Token and
Sentence give the document's tokens and sentences.

Left out: document features, other features of annotations, a mark's pieces (its whole stretch is
written).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path, PurePosixPath

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Extents, Mark, Notes, Opinion
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.file_names import name_of, told_apart
from seqtruth.io.formats.gathered import checked_mark, gold_named, note_lost
from seqtruth.io.formats.offsets import points_to_utf16
from seqtruth.io.formats.safe_xml import Element, xml_safe, xml_tag, xml_text
from seqtruth.io.formats.xml_files import (
    documents_by_id,
    stem,
    tell_xml,
    write_xml_files,
    xml_files,
)
from seqtruth.io.merge import owned

GOLD = frozenset({"Key", "key", "consensus"})
NOBODY = "Original markups"
DEFAULT = "default"
MACHINE_MADE = frozenset(
    {"Token", "SpaceToken", "Sentence", "Split", "Lookup", "Text", "DEFAULT_TOKEN", "paragraph"}
)


def tell(glimpse: Glimpse) -> float:
    return tell_xml(glimpse, lambda head: 1.0 if b"<GateDocument" in head else 0.0)


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    types = options.get("types")
    wanted = {part.strip() for part in str(types).split(",")} if types else None
    feature = str(options["feature"]) if options.get("feature") else None
    owners = told_apart(PurePosixPath(name) for name in Glimpse(path).tree or ())
    for name, root, where in xml_files(path, lambda root: root.tag == "GateDocument", "GATE"):
        found = _document(name_of(stem(name)), root, where, notes, wanted, feature)
        yield owned(found, owners.get(PurePosixPath(name), DEFAULT), {DEFAULT})


def _document(
    id: str, root: Element, where: str, notes: Notes, wanted: set[str] | None, feature: str | None
) -> Document:
    text, nodes = _text(root, where)
    opinions, found = [], {"Token": set[tuple[int, int]](), "Sentence": set[tuple[int, int]]()}
    for group in root.all("AnnotationSet"):
        name = group.attributes.get("Name", "")
        marks: list[Mark] = []
        for element in group.all("Annotation"):
            kind = element.attributes.get("Type", "")
            place = f"{where}:{element.line}"
            mark = _mark(element, text, nodes, place)
            if kind in found and isinstance(mark, Mark):
                found[kind].add((mark.start, mark.end))
            if name == NOBODY or (kind not in wanted if wanted else kind in MACHINE_MADE):
                continue
            if isinstance(mark, str):
                notes.left_out(mark, place)
                continue
            marks.append(_labelled(mark, _features(element), feature, notes, place))
        if name != NOBODY and (name or marks):
            role = "gold" if name in GOLD else "annotator"
            opinions.append(Opinion(name or DEFAULT, tuple(marks), role=role))  # type: ignore[arg-type]
    tokens, sentences = _ordered(found["Token"]), _ordered(found["Sentence"])
    return Document(id, text, tuple(opinions), tokens, sentences, where)


def _text(root: Element, where: str) -> tuple[str, dict[str, int]]:
    """The text, and where each node stands in it."""
    element = root.first("TextWithNodes")
    if element is None:
        raise InputError("the document has no text", where=where, fix="<TextWithNodes> is missing")
    pieces, nodes, length = [element.text], {}, len(element.text)
    for node in element.children:
        nodes[node.attributes.get("id", "")] = length
        pieces.append(node.tail)
        length += len(node.tail)
    return "".join(pieces), nodes


def _mark(element: Element, text: str, nodes: dict[str, int], where: str) -> Mark | str:
    ends = [element.attributes.get(name, "") for name in ("StartNode", "EndNode")]
    if not all(end in nodes for end in ends):
        raise InputError(
            "the annotation is at a node that is not in the text", where=where, got=repr(ends)
        )
    return checked_mark(text, nodes[ends[0]], nodes[ends[1]], element.attributes.get("Type", ""))


def _features(element: Element) -> dict[str, str]:
    found = {}
    for part in element.all("Feature"):
        name, value = part.first("Name"), part.first("Value")
        if name is not None and value is not None:
            found[name.content()] = value.content()
    return found


def _labelled(
    mark: Mark, features: dict[str, str], feature: str | None, notes: Notes, where: str
) -> Mark:
    if feature is not None:
        if feature in features:
            mark = mark._replace(label=features[feature])
        else:
            notes.left_out(f"feature {feature!r} missing (the type is the label)", where)
    try:
        score = float(features["seqtruth.score"]) if "seqtruth.score" in features else None
    except ValueError:
        score = None
    return mark._replace(score=score)


def _ordered(extents: set[tuple[int, int]]) -> Extents | None:
    """Borders that can serve as tokens: in order and without overlap."""
    ordered = sorted(extents)
    overlap = any(a[1] > b[0] for a, b in pairwise(ordered))
    return tuple(ordered) if ordered and not overlap else None


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    """A file a document; a set an annotator."""
    write_xml_files(((d.id, "".join(_written(d, notes))) for d in documents_by_id(documents)), path)


def _written(document: Document, notes: Notes) -> Iterator[str]:
    note_lost(document, notes, gold=True)
    document = gold_named(document, "Key", GOLD, notes)
    text = xml_safe(document.text, notes, document.where)
    units = points_to_utf16(text)
    marks = [mark for opinion in document.opinions for mark in opinion.marks]
    extents = [
        *(document.tokens or ()),
        *(document.sentences or ()),
        *((m.start, m.end) for m in marks),
    ]
    places = sorted({0, len(text), *(place for extent in extents for place in extent)})
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<GateDocument version="3">\n'
    yield "<GateDocumentFeatures>\n</GateDocumentFeatures>\n<TextWithNodes>"
    for place, after in zip(places, [*places[1:], len(text)], strict=True):
        yield f'<Node id="{units(place)}"/>{xml_text(text[place:after])}'
    yield "</TextWithNodes>\n<AnnotationSet>\n"
    machine = [("Token", e) for e in document.tokens or ()]
    machine += [("Sentence", e) for e in document.sentences or ()]
    number = 0
    for kind, (start, end) in machine:
        yield (
            _annotation(number, Mark(units(start) or 0, units(end) or 0, kind)) + "</Annotation>\n"
        )
        number += 1
    yield "</AnnotationSet>\n"
    for opinion in document.opinions:
        yield (
            xml_tag("AnnotationSet", {"Name": xml_safe(opinion.annotator, notes, document.where)})
            + ">\n"
        )
        for mark in opinion.marks:
            if mark.pieces:
                notes.left_out("gaps of a discontinuous mark (written whole)", document.where)
            label = xml_safe(mark.label, notes, document.where)
            unit = mark._replace(
                start=units(mark.start) or 0, end=units(mark.end) or 0, label=label
            )
            yield _annotation(number, unit) + _score(mark) + "</Annotation>\n"
            number += 1
        yield "</AnnotationSet>\n"
    yield "</GateDocument>\n"


def _annotation(number: int, mark: Mark) -> str:
    nodes = {"StartNode": str(mark.start), "EndNode": str(mark.end)}
    return xml_tag("Annotation", {"Id": str(number), "Type": mark.label, **nodes}) + ">\n"


def _score(mark: Mark) -> str:
    if mark.score is None:
        return ""
    return (
        '<Feature>\n<Name className="java.lang.String">seqtruth.score</Name>\n'
        f'<Value className="java.lang.Double">{mark.score!r}</Value>\n</Feature>\n'
    )


FORMAT = DocumentFormat(
    name="gate",
    title="GATE XML",
    tell=tell,
    read=read,
    write=write,
    read_options={
        "types": "annotation types that are labels, divided by commas (default: all but Token etc.)",
        "feature": "take the label from this feature instead of the type",
    },
    cannot_carry=(
        "gaps of discontinuous marks",
        "roles but one gold opinion (the set Key)",
        "which parts of a text were seen",
        "control characters",
    ),
)
