"""LightTag exports: a JSON object with ``examples``, each with its text, who saw it, and all marks.

A mark (``start``, ``end``, ``tag``, ``value``) is there once, with everybody who made it in
``annotated_by``; who saw an example and is not among them marked nothing there (``seen_by``). Offsets
that do not fit ``value`` as code points are tried as UTF-16 units. A review is read as gold, named
``review``: the marks that are ``correct``, where all marks of an example were ``reviewed``.

Also read are a list of examples alone, and ``annotations_and_examples`` of older exports. Left out:
``classifications`` of whole examples, ``relations``, reviews of a part of an example's marks. LightTag
takes no labels back but through its own interface, so nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.checked_values import (
    first_of,
    list_at,
    mapping_at,
    mark_of,
    name_of,
    text_at,
    whole_of,
)
from seqtruth.io.formats.offsets import utf16_to_points
from seqtruth.io.formats.quoted_offsets import fitted
from seqtruth.io.json_records import json_records

_LISTS = ("examples", "annotations_and_examples")


def tell(glimpse: Glimpse) -> float:
    """By examples with ``content`` and marks that are ``annotated_by`` somebody."""
    head = glimpse.head
    if head.lstrip()[:1] not in (b"[", b"{"):
        return 0.0
    known = b'"example_id"' in head and re.search(rb'"content"\s*:\s*"', head)
    if known and (b'"annotated_by"' in head or b'"seen_by"' in head):
        return 0.95
    if known and b'"examples"' in head:
        return 0.8  # the rest stands after a long text
    return 0.5 if b'"tagged_token_id"' in head else 0.0


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    """Documents of an export."""
    if options:
        raise ParameterError("there is no such option here", got=", ".join(options))
    seen: set[str] = set()
    for value, where in json_records(path):
        record = mapping_at(value, "an export", where)
        examples = first_of(record, _LISTS)
        if examples is None and "content" not in record:
            raise InputError(
                "there are no examples", where=where, fix="export the task from LightTag"
            )
        if record.get("relations"):
            count = len(record["relations"]) if isinstance(record["relations"], list) else 1
            notes.left_out("relation", where, count)
        for one in [record] if examples is None else list_at(examples, "examples", where):
            document = _document(mapping_at(one, "an example", where), len(seen), notes, where)
            if document.id in seen:
                raise InputError(f"the example {document.id!r} is there twice", where=where)
            seen.add(document.id)
            yield document


def _document(example: dict[str, Any], number: int, notes: Notes, where: str) -> Document:
    name = name_of(first_of(example, ("example_id", "id"))) or str(number)
    where = f"{where}, example {name}"
    text = text_at(example.get("content"), "content", where)
    to_points = utf16_to_points(text)
    marks: dict[str, list[Mark]] = {
        who: [] for who, _ in _people(example.get("seen_by"), "seen_by", where)
    }
    times: dict[str, str] = {}
    reviews: list[tuple[Mark | None, bool | None]] = []
    for one in list_at(example.get("annotations"), "annotations", where):
        annotation = mapping_at(one, "an annotation", where)
        mark = _mark(annotation, text, to_points, notes, where)
        people = _people(annotation.get("annotated_by"), "annotated_by", where)
        for who, time in people or _people([annotation], "annotator", where):
            marks.setdefault(who, [])
            if mark is not None:
                marks[who].append(mark)
            times[who] = max(times.get(who, ""), time)
        reviews.append((mark, annotation.get("correct") if annotation.get("reviewed") else None))
    if example.get("classifications"):
        notes.left_out("label of the whole document", where)
    opinions = [Opinion(who, tuple(m), time=times.get(who) or None) for who, m in marks.items()]
    return Document(name, text, tuple(opinions + _review(reviews, notes, where)), where=where)


def _people(value: Any, what: str, where: str) -> list[tuple[str, str]]:
    """Names with the times of their labels."""
    found = []
    for one in list_at(value, what, where):
        person = one if isinstance(one, dict) else {"annotator": one}
        who = name_of(first_of(person, ("annotator", "annotator_id", "username")))
        time = person.get("timestamp")
        if who is not None:
            found.append((who, time if isinstance(time, str) and name_of(time) else ""))
    return found


def _mark(
    annotation: dict[str, Any], text: str, to_points: Any, notes: Notes, where: str
) -> Mark | None:
    start, end = whole_of(annotation.get("start")), whole_of(annotation.get("end"))
    value, tag = annotation.get("value"), first_of(annotation, ("tag", "tag_name", "label"))
    if start is None or end is None:
        notes.left_out("mark without offsets", where)
        return None
    place = fitted(text, start, end, value if isinstance(value, str) and value else None, to_points)
    if place is None:
        notes.left_out("mark whose words do not stand where it says", where)
        return None
    return mark_of(text, *place, tag, notes, where)


def _review(
    reviews: list[tuple[Mark | None, bool | None]], notes: Notes, where: str
) -> list[Opinion]:
    judged = [(mark, correct) for mark, correct in reviews if isinstance(correct, bool)]
    if not judged:
        return []
    if len(judged) < len(reviews):
        notes.left_out("review of a part of a document's marks", where)
        return []
    kept = tuple(mark for mark, correct in judged if correct and mark is not None)
    return [Opinion("review", kept, "gold")]


FORMAT = DocumentFormat("lighttag", "LightTag", tell, read)
