"""UIMA's CAS as XMI, of INCEpTION, WebAnno, DKPro, Apache cTAKES and others.

::

    <xmi:XMI xmlns:type="http:///de/tudarmstadt/.../ner/type.ecore" ...>
      <type:NamedEntity xmi:id="9" sofa="1" begin="0" end="5" value="PER"/>
      <cas:Sofa xmi:id="1" sofaID="_InitialView" sofaString="Alice slept."/>
      <cas:View sofa="1" members="9"/>

An element is an annotation, its name with the namespace its type, its attributes the features;
offsets are UTF-16 units. Only members of the view count (what was deleted in the tool may still
stand in the file). The type system is not needed, so it is not read; dkpro-cassis would need it,
and passes over all annotations of a type it is not told of. Other views than the first, relations
and links are counted and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Notes, Opinion
from seqtruth.io.formats.cas import SENTENCE, TOKEN, Cas, CasAnnotation, in_order
from seqtruth.io.formats.offsets import points_to_utf16, utf16_to_points
from seqtruth.io.formats.safe_xml import Element, parse_xml, xml_safe, xml_tag

_XMI = "http://www.omg.org/XMI}"
_CAS = "http:///uima/cas.ecore}"
_INITIAL = "_InitialView"
_CONTROL = re.compile(rb"&#(?:0*(?:[0-8]|1[124-9]|2\d|3[01])|x0*(?:[0-8bcefBCEF]|1[0-9a-fA-F]));")


def read_xmi(data: bytes, where: str, notes: Notes) -> Cas:
    """The first view of a CAS."""
    if b'version="1.1"' in data[:100]:  # control characters, which expat does not know
        data = _CONTROL.sub(b"&#xFFFD;", data)
    root = parse_xml(data, where, namespaces=True)
    if root.tag != f"{_XMI}XMI":
        raise InputError("not a UIMA CAS", where=where, got=f"<{root.tag[-60:]}>")
    sofa = _sofa(root, where, notes)
    id, text = sofa.attributes.get(f"{_XMI}id", ""), sofa.attributes["sofaString"]
    convert = utf16_to_points(text)
    members = _members(root, id)
    cas = Cas(text)
    found: dict[str, list[tuple[int | None, int | None]]] = {TOKEN: [], SENTENCE: []}
    for element in root.children:
        given = element.attributes
        if given.get("sofa") != id or element.tag.startswith(_CAS) or "begin" not in given:
            continue
        if members is not None and given.get(f"{_XMI}id") not in members:
            continue
        layer, place = _type(element.tag), f"{where}:{element.line}"
        if _relation(given):
            notes.left_out("relation", place)
            continue
        start, end = convert(_number(given, "begin", place)), convert(_number(given, "end", place))
        features = {
            k: v for k, v in given.items() if k not in ("sofa", "begin", "end") and "}" not in k
        }
        features |= {child.tag: child.content() for child in element.children}
        if layer in found:
            found[layer].append((start, end))
        cas.annotations.append(CasAnnotation(layer, start, end, features, place))
    cas.tokens = in_order(found[TOKEN], len(text))
    cas.sentences = in_order(found[SENTENCE], len(text))
    return cas


def _sofa(root: Element, where: str, notes: Notes) -> Element:
    sofas = [e for e in root.children if e.tag == f"{_CAS}Sofa" and "sofaString" in e.attributes]
    if not sofas:
        raise InputError(
            "the CAS has no text", where=where, fix="export a document with text (sofaString)"
        )
    first = [sofa for sofa in sofas if sofa.attributes.get("sofaID") == _INITIAL]
    if len(sofas) > 1:
        notes.left_out("further view of a document", where, len(sofas) - 1)
    return (first or sofas)[0]


def _members(root: Element, sofa: str) -> set[str] | None:
    views = [
        e for e in root.children if e.tag == f"{_CAS}View" and e.attributes.get("sofa") == sofa
    ]
    return (
        {m for view in views for m in view.attributes.get("members", "").split()} if views else None
    )


def _type(tag: str) -> str:
    """``http:///webanno/custom.ecore}Span`` is ``webanno.custom.Span``."""
    namespace, _, name = tag.rpartition("}")
    package = namespace.removeprefix("http:///").removesuffix(".ecore").replace("/", ".")
    return name if package in ("", "uima.noNamespace") else f"{package}.{name}"


def _relation(given: dict[str, str]) -> bool:
    return {"Governor", "Dependent"} <= given.keys() or {"source", "target"} <= given.keys()


def _features(element: Element) -> dict[str, str]:
    """Attributes and child elements, but for lists of other annotations (``links="76 79"``)."""
    features = {child.tag: child.content() for child in element.children}
    for name, value in element.attributes.items():
        if name in ("sofa", "begin", "end") or "}" in name:
            continue
        if " " in value and value.replace(" ", "").isdecimal():
            continue
        features[name] = value
    return features


def _number(given: dict[str, str], name: str, where: str) -> int:
    text = given.get(name, "")
    if not text.removeprefix("-").isdecimal() or len(text) > 12:
        raise InputError(f"{name!r} is no offset", where=where, got=repr(text[:40]))
    return int(text)


def xmi_text(
    document: Document, opinion: Opinion, layer: tuple[str, str], notes: Notes
) -> Iterator[str]:
    """One annotator's marks as XMI 1.0; ``layer`` is the layer and the feature of the label."""
    text = xml_safe(document.text, notes, document.where)
    units = points_to_utf16(text)
    extents = [(TOKEN, e, "") for e in document.tokens or ()]
    extents += [(SENTENCE, e, "") for e in document.sentences or ()]
    extents += [
        (layer[0], (m.start, m.end), xml_safe(m.label, notes, document.where))
        for m in opinion.marks
    ]
    packages = sorted({name.rpartition(".")[0] for name, _, _ in extents})
    spaces = {package: f"p{i}" for i, package in enumerate(packages)}
    declared = {f"xmlns:{short}": _namespace(package) for package, short in spaces.items()}
    declared |= {"xmlns:xmi": "http://www.omg.org/XMI", "xmlns:cas": "http:///uima/cas.ecore"}
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield xml_tag("xmi:XMI", {**declared, "xmi:version": "2.0"}) + '>\n<cas:NULL xmi:id="0"/>\n'
    for number, (name, (start, end), label) in enumerate(extents, start=2):
        package, _, short = name.rpartition(".")
        given = {
            "xmi:id": str(number),
            "sofa": "1",
            "begin": str(units(start)),
            "end": str(units(end)),
        }
        if label:
            given[layer[1]] = label
        yield xml_tag(f"{spaces[package]}:{short}", given) + "/>\n"
    sofa = {
        "xmi:id": "1",
        "sofaNum": "1",
        "sofaID": _INITIAL,
        "mimeType": "text",
        "sofaString": text,
    }
    yield xml_tag("cas:Sofa", sofa) + "/>\n"
    members = " ".join(str(number) for number in range(2, len(extents) + 2))
    yield xml_tag("cas:View", {"sofa": "1", "members": members}) + "/>\n</xmi:XMI>\n"


def _namespace(package: str) -> str:
    return f"http:///{package.replace('.', '/') or 'uima/noNamespace'}.ecore"


def type_system(layer: tuple[str, str]) -> str:
    """The types of what :func:`xmi_text` writes, as UIMA wants them beside the files."""
    feature = (
        f"<featureDescription>\n<name>{layer[1]}</name>\n"
        "<rangeTypeName>uima.cas.String</rangeTypeName>\n</featureDescription>\n"
    )
    types = "".join(
        f"<typeDescription>\n<name>{name}</name>\n<supertypeName>uima.tcas.Annotation</supertypeName>\n"
        f"<features>\n{feature if name == layer[0] else ''}</features>\n</typeDescription>\n"
        for name in (TOKEN, SENTENCE, layer[0])
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<typeSystemDescription xmlns="http://uima.apache.org/resourceSpecifier">\n'
        f"<types>\n{types}</types>\n</typeSystemDescription>\n"
    )
