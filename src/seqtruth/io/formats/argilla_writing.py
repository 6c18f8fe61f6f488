"""Records that Argilla 2 loads: responses of users, and the suggestion of a model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from seqtruth.errors import ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.files import write_chunks
from seqtruth.io.formats.plain_marks import contiguous, note_borders, note_score_and_time
from seqtruth.io.json_records import json_array

WRITE_OPTIONS = {
    "question": "the name of the span question; that which was read, or 'spans'",
    "field": "the name of the text field; that which was read, or 'text'",
    "opinions": "'roles' (default): models as suggestions, all others as responses; 'suggestions': all",
}


def check_options(options: dict[str, object], known: dict[str, str]) -> None:
    for name in options:
        if name not in known:
            raise ParameterError(f"Argilla files have no option {name!r}", fix=", ".join(known))


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    check_options(options, WRITE_OPTIONS)
    opinions = options.get("opinions") or "roles"
    if opinions not in ("roles", "suggestions"):
        raise ParameterError("opinions must be 'roles' or 'suggestions'", got=repr(opinions))
    records = (_written(one, _names(one, options), opinions == "roles", notes) for one in documents)
    write_chunks(path, json_array(records))


def _names(document: Document, options: dict[str, object]) -> tuple[str, str, dict[str, Any]]:
    """The question, the text's field and the other fields: as asked, or as they were read."""
    read = (document.source or {}).get("argilla")
    read = read if isinstance(read, dict) else {}
    others = read.get("others")
    return (
        str(options.get("question") or read.get("question") or "spans"),
        str(options.get("field") or read.get("field") or "text"),
        others if isinstance(others, dict) else {},
    )


def _written(
    document: Document, names: tuple[str, str, dict[str, Any]], roles: bool, notes: Notes
) -> dict[str, Any]:
    question, field, others = names
    where = document.where or document.id
    note_borders(document, notes)
    responses: list[dict[str, Any]] = []
    suggestion: dict[str, Any] | None = None
    for opinion in document.opinions:
        marks = list(contiguous(opinion, notes, where))
        note_score_and_time(opinion, notes, where, score=False)
        value = [{"start": mark.start, "end": mark.end, "label": mark.label} for mark in marks]
        if opinion.role == "model" or not roles:
            if suggestion is not None:
                notes.left_out("earlier of two suggestions", where)
            suggestion = {
                "value": value,
                "score": _score(opinion, marks),
                "agent": opinion.annotator,
            }
        else:
            if opinion.role == "gold":
                notes.left_out("role of an opinion (gold)", where)
            if opinion.score is not None or any(mark.score is not None for mark in marks):
                notes.left_out("scores of a response", where)
            user = _user(opinion.annotator, notes, where)
            responses.append({"value": value, "user_id": user, "status": "submitted"})
    return {
        "id": document.id, "fields": {**others, field: document.text}, "metadata": _remarks(document),
        "suggestions": {question: suggestion} if suggestion else {},
        "responses": {question: responses} if responses else {},
        "vectors": {}, "status": "completed" if responses else "pending", "_server_id": None,
    }  # fmt: skip


def _score(opinion: Opinion, marks: list[Mark]) -> list[float] | float | None:
    scores = [mark.score for mark in marks if mark.score is not None]
    return scores if marks and len(scores) == len(marks) else opinion.score


def _user(name: str, notes: Notes, where: str) -> str:
    try:
        if str(UUID(name)) == name:
            return name
    except ValueError:
        pass
    notes.left_out("name of an annotator (Argilla knows users by UUID)", where)
    return str(uuid5(NAMESPACE_URL, f"seqtruth:{name}"))


def _remarks(document: Document) -> dict[str, str]:
    """What to tell whoever looks at it, as metadata."""
    return {"review": "; ".join(document.remarks)} if document.remarks else {}
