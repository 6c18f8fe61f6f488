"""Answers of Amazon's ``crowd-entity-annotation``, which MTurk and SageMaker both save.

``{"<name of the element>": {"entities": [{"startOffset": 3, "endOffset": 9, "label": "PER"}]}}``,
alone or in a list, sometimes inside ``annotatedResult`` or as JSON in a string. A page in the browser
makes the offsets, so they count UTF-16 units.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seqtruth.io.documents import Mark, Notes
from seqtruth.io.formats.checked_values import mark_of, number_of, whole_of
from seqtruth.io.formats.offsets import points_to_utf16, utf16_to_points
from seqtruth.io.json_records import parse_json

_DEEP = 8


def entity_lists(answer: Any, depth: int = 0) -> Iterator[list[Any]]:
    """All lists of entities in an answer, however it is wrapped."""
    if depth > _DEEP:
        return
    if isinstance(answer, str) and answer.lstrip()[:1] in ("{", "["):
        try:
            answer = parse_json(answer)
        except (ValueError, RecursionError):
            return
    if isinstance(answer, list):
        if answer and all(isinstance(one, dict) and "startOffset" in one for one in answer):
            yield answer  # a column of its own for the list
            return
        for one in answer:
            if isinstance(one, dict | str):
                yield from entity_lists(one, depth + 1)
    elif isinstance(answer, dict):
        entities = answer.get("entities")
        if isinstance(entities, list):
            yield entities
            return
        for one in answer.values():
            if isinstance(one, dict | list | str):
                yield from entity_lists(one, depth + 1)


def marks_of(entities: list[Any], text: str, notes: Notes, where: str) -> list[Mark]:
    """The marks that entities mean."""
    to_points = utf16_to_points(text)
    found = []
    for entity in entities:
        if not isinstance(entity, dict):
            notes.left_out("mark without offsets", where)
            continue
        a, b = whole_of(entity.get("startOffset")), whole_of(entity.get("endOffset"))
        start = to_points(a) if a is not None else None
        end = to_points(b) if b is not None else None
        if a is not None and b is not None and (start is None or end is None):
            notes.left_out("mark outside the text", where)
            continue
        mark = mark_of(text, start, end, entity.get("label"), notes, where)
        if mark is not None:
            found.append(mark._replace(score=number_of(entity.get("confidence")) or None))
    return found


def entities_of(marks: tuple[Mark, ...], text: str) -> list[dict[str, Any]]:
    """Marks as entities, in their order."""
    to_units = points_to_utf16(text)
    return [
        {"startOffset": to_units(mark.start), "endOffset": to_units(mark.end), "label": mark.label}
        for mark in marks
    ]
