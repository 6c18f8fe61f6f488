"""UIMA's CAS as JSON (version 0.4 of the format; INCEpTION's "UIMA CAS JSON").

::

    {"%TYPES": {...},
     "%FEATURE_STRUCTURES": [
       {"%ID": 1, "%TYPE": "uima.cas.Sofa", "sofaID": "_InitialView", "sofaString": "Alice slept."},
       {"%ID": 2, "%TYPE": "...NamedEntity", "@sofa": 1, "begin": 0, "end": 5, "value": "PER"}],
     "%VIEWS": {"_InitialView": {"%SOFA": 1, "%MEMBERS": [2]}}}

Features that begin with ``@`` refer to other structures. Offsets are UTF-16 units. The types are
not needed for reading and may be missing. The older JSON of UIMA 2 (``_context``, ``_views``) is
recognised and refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Notes, Opinion
from seqtruth.io.formats.cas import SENTENCE, TOKEN, Cas, CasAnnotation, in_order, without_chains
from seqtruth.io.formats.offsets import points_to_utf16, utf16_to_points
from seqtruth.io.json_records import parse_json

_INITIAL = "_InitialView"


def read_cas_json(data: bytes, where: str, notes: Notes) -> Cas:
    """The first view of a CAS."""
    content = _content(data, where)
    structures = [fs for fs in content["%FEATURE_STRUCTURES"] if isinstance(fs, dict)]
    sofa = _sofa(structures, where, notes)
    id, text = sofa.get("%ID"), sofa["sofaString"]
    convert = utf16_to_points(text)
    members = _members(content, id)
    cas = Cas(text)
    found: dict[str, list[tuple[int | None, int | None]]] = {TOKEN: [], SENTENCE: []}
    for number, fs in enumerate(structures, start=1):
        layer, place = str(fs.get("%TYPE", "")), f"{where}, structure {number}"
        if fs.get("@sofa") != id or "begin" not in fs or "end" not in fs:
            continue
        if members is not None and isinstance(fs.get("%ID"), int) and fs["%ID"] not in members:
            continue
        if {"@Governor", "@Dependent"} <= fs.keys() or {"@source", "@target"} <= fs.keys():
            notes.left_out("relation", place)
            continue
        start, end = (convert(_offset(fs[name], place)) for name in ("begin", "end"))
        if layer in found:
            found[layer].append((start, end))
        cas.annotations.append(CasAnnotation(layer, start, end, _features(fs), place))
    cas.annotations = without_chains(cas.annotations, notes)
    cas.tokens = in_order(found[TOKEN], len(text))
    cas.sentences = in_order(found[SENTENCE], len(text))
    return cas


def _content(data: bytes, where: str) -> dict[str, Any]:
    try:
        content = parse_json(data.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise InputError("not JSON", where=where, got=str(error)[:100]) from None
    if isinstance(content, dict) and "_views" in content and "%FEATURE_STRUCTURES" not in content:
        raise InputError(
            "the JSON of UIMA 2, which is not read", where=where,
            fix="export as 'UIMA CAS JSON 0.4.0', as XMI or as WebAnno TSV",
        )  # fmt: skip
    if not isinstance(content, dict) or not isinstance(content.get("%FEATURE_STRUCTURES"), list):
        raise InputError("not a UIMA CAS", where=where, fix="'%FEATURE_STRUCTURES' is missing")
    return content


def _sofa(structures: list[dict[str, Any]], where: str, notes: Notes) -> dict[str, Any]:
    sofas = [fs for fs in structures if isinstance(fs.get("sofaString"), str)]
    if not sofas:
        raise InputError(
            "the CAS has no text", where=where, fix="export a document with text (sofaString)"
        )
    if len(sofas) > 1:
        notes.left_out("further view of a document", where, len(sofas) - 1)
    chosen = ([sofa for sofa in sofas if sofa.get("sofaID") == _INITIAL] or sofas)[0]
    if any("\ud800" <= letter <= "\udfff" for letter in chosen["sofaString"]):
        raise InputError("the text holds half a character (a lone surrogate)", where=where)
    return chosen


def _members(content: dict[str, Any], sofa: object) -> set[int] | None:
    views = content.get("%VIEWS")
    for view in views.values() if isinstance(views, dict) else ():
        if isinstance(view, dict) and view.get("%SOFA") == sofa:
            members = view.get("%MEMBERS")
            if isinstance(members, list):
                return {member for member in members if isinstance(member, int)}
    return None


def _offset(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError("not an offset", where=where, got=repr(value)[:40])
    return value


def _features(fs: dict[str, Any]) -> dict[str, str]:
    """Features with plain values, as text."""
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in fs.items()
        if name[:1] not in "%@^"
        and name not in ("begin", "end")
        and isinstance(value, str | int | float)
    }


def cas_json_text(document: Document, opinion: Opinion, layer: tuple[str, str]) -> Iterator[str]:
    """One annotator's marks; ``layer`` is the layer and the feature of the label."""
    units = points_to_utf16(document.text)
    extents = [(TOKEN, e, "") for e in document.tokens or ()]
    extents += [(SENTENCE, e, "") for e in document.sentences or ()]
    extents += [(layer[0], (m.start, m.end), m.label) for m in opinion.marks]
    structures: list[dict[str, Any]] = [
        {
            "%ID": 1, "%TYPE": "uima.cas.Sofa", "sofaNum": 1, "sofaID": _INITIAL, "mimeType": "text",
            "sofaString": document.text,
        }
    ]  # fmt: skip
    for number, (name, (start, end), label) in enumerate(extents, start=2):
        fs = {"%ID": number, "%TYPE": name, "@sofa": 1, "begin": units(start), "end": units(end)}
        structures.append({**fs, layer[1]: label} if label else fs)
    view = {"%SOFA": 1, "%MEMBERS": list(range(2, len(extents) + 2))}
    content = {
        "%TYPES": _types(layer),
        "%FEATURE_STRUCTURES": structures,
        "%VIEWS": {_INITIAL: view},
    }
    yield json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _types(layer: tuple[str, str]) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for name in dict.fromkeys((TOKEN, SENTENCE, layer[0])):
        types[name] = {"%NAME": name, "%SUPER_TYPE": "uima.tcas.Annotation"}
    types[layer[0]][layer[1]] = {"%NAME": layer[1], "%RANGE": "uima.cas.String"}
    return types
