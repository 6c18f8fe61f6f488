"""Tasks that Label Studio imports: with predictions, annotations or ground truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from seqtruth.errors import ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.files import write_chunks
from seqtruth.io.formats.plain_marks import contiguous, note_borders
from seqtruth.io.json_records import json_array

WRITE_OPTIONS = {
    "opinions": "'predictions' (default): all as predictions, which import anywhere; 'annotations':"
    " people as annotations, gold as ground truth, models as predictions; 'ground_truth': all as"
    " ground truth",
    "text_key": "the key of data that holds the text; 'text' by default, or where it stood",
    "control": "the name of the <Labels> tag; 'label' by default",
    "to_name": "the name of the <Text> tag; 'text' by default",
}
_KINDS = ("predictions", "annotations", "ground_truth")


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    for name in options:
        if name not in WRITE_OPTIONS:
            raise ParameterError(
                f"Label Studio files have no option {name!r}",
                fix=f"one of {', '.join(WRITE_OPTIONS)}",
            )
    chosen = {name: str(value) for name, value in options.items() if value is not None}
    if chosen.setdefault("opinions", "predictions") not in _KINDS:
        raise ParameterError(f"opinions must be one of {_KINDS}", got=repr(chosen["opinions"]))
    write_chunks(path, json_array(_tasks(documents, notes, chosen)))


def _tasks(
    documents: Iterable[Document], notes: Notes, options: dict[str, str]
) -> Iterator[dict[str, Any]]:
    for number, document in enumerate(documents, 1):
        where = document.where or document.id
        note_borders(document, notes)
        data = _data(document, options.get("text_key"))
        task: dict[str, Any] = {
            "id": int(document.id) if _is_number(document.id) else number, "data": data,
            "annotations": [], "predictions": [],
        }  # fmt: skip
        if not _is_number(document.id):
            data["seqtruth_id"] = document.id
        for opinion in document.opinions:
            kind, entry = _entry(opinion, options["opinions"])
            entry["result"] = [
                _result(document.text, mark, f"{kind[0]}{len(task[kind])}-{index}", options)
                for index, mark in enumerate(contiguous(opinion, notes, where))
            ]
            task[kind].append(entry)
        yield task


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) < 18 and str(int(name)) == name


def _data(document: Document, key: str | None) -> dict[str, Any]:
    """The task's data as it was read from Label Studio, or the text alone."""
    source = (document.source or {}).get("data")
    if isinstance(source, dict):
        if key is None and document.text in (found := list(source.values())):
            key = list(source)[found.index(document.text)]
        if key is not None and source.get(key) == document.text:
            return dict(source)
    return {key or "text": document.text}


def _result(text: str, mark: Mark, name: str, options: dict[str, str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "id": name, "type": "labels",
        "from_name": options.get("control", "label"), "to_name": options.get("to_name", "text"),
        "value": {
            "start": mark.start, "end": mark.end, "text": text[mark.start : mark.end],
            "labels": [mark.label],
        },
    }  # fmt: skip
    if mark.score is not None:
        result["score"] = mark.score
    return result


def _entry(opinion: Opinion, kind: str) -> tuple[str, dict[str, Any]]:
    if kind == "predictions" or (kind == "annotations" and opinion.role == "model"):
        entry: dict[str, Any] = {"model_version": opinion.annotator}
        if opinion.score is not None:
            entry["score"] = opinion.score
        if opinion.time is not None:
            entry["created_at"] = opinion.time
        return "predictions", entry
    truth = kind == "ground_truth" or opinion.role == "gold"
    entry = {"was_cancelled": False, "ground_truth": truth}
    if not truth:  # ground truth is nobody's: it goes to whoever imports it
        entry["completed_by"] = {"email": opinion.annotator}
    if opinion.time is not None:
        entry["updated_at"] = opinion.time
    return "annotations", entry
