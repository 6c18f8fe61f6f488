"""Tasks that Label Studio imports: with predictions, annotations or ground truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from seqtruth.errors import ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.files import write_chunks
from seqtruth.io.formats.label_studio_rendered import Rendered, rendered
from seqtruth.io.formats.label_studio_results import TAXONOMY
from seqtruth.io.formats.plain_marks import contiguous, note_borders, note_score_and_time
from seqtruth.io.json_records import json_array

WRITE_OPTIONS = {
    "opinions": "'predictions' (default): all as predictions, which import anywhere; 'annotations':"
    " people as annotations, gold as ground truth, models as predictions; 'ground_truth': all as"
    " ground truth",
    "text_key": "the key of data that holds the text; 'text' by default, or where it stood",
    "control": "the name of the <Labels> tag; that which the label was read from, or 'label'",
    "to_name": "the name of the <Text> tag; that which the label was read from, or 'text'",
}
_KINDS_SHOWN = {"html": "hypertextlabels", "paragraphs": "paragraphlabels"}
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
    controls = _Controls(options)
    task: dict[str, Any] | None = None
    last: object = None
    for number, document in enumerate(documents, 1):
        source = document.source or {}
        if task is None or "key" not in source or last != (source.get("id"), source.get("data")):
            if task is not None:
                yield task
            task = _task(document, number, options)
            last = (source.get("id"), source.get("data")) if "key" in source else None
        controls.learn(document)
        _add(task, document, controls, notes, options)
    if task is not None:
        yield task


def _task(document: Document, number: int, options: dict[str, str]) -> dict[str, Any]:
    source = document.source or {}
    data, _ = _data(document, options.get("text_key"))
    # the texts of a task with several are documents of their own
    name = document.id.removesuffix(f"/{source['key']}") if "key" in source else document.id
    if not _is_number(name):
        data["seqtruth_id"] = name
    id_ = int(name) if _is_number(name) else number
    return {"id": id_, "data": data, "annotations": [], "predictions": []}


def _add(
    task: dict[str, Any],
    document: Document,
    controls: _Controls,
    notes: Notes,
    options: dict[str, str],
) -> None:
    """Put a document's opinions into its task."""
    where = document.where or document.id
    note_borders(document, notes)
    _, page = _data(document, options.get("text_key"))
    # those of the task's other texts, which are there already
    known = {_identity(entry): entry for kind in _ENTRIES for entry in task[kind]}
    if document.remarks:  # shown by <Text value="$review"/>
        earlier = [task["data"]["review"]] if known and "review" in task["data"] else []
        task["data"]["review"] = "\n".join([*earlier, *document.remarks])
    for opinion in document.opinions:
        kind, entry = _entry(opinion, options["opinions"])
        if kind == "predictions" and opinion.role != "model":
            notes.left_out(f"role of an opinion ({opinion.role}; written as a prediction)", where)
        if kind == "annotations":
            note_score_and_time(opinion, notes, where, time=False)
        held = known.get(_identity(entry))
        if held is None:
            held = {**entry, "result": []}
            task[kind].append(held)
        elif "score" in entry:
            held["score"] = min(entry["score"], held.get("score", 1.0))
        place = f"{kind[0]}{next(n for n, one in enumerate(task[kind]) if one is held)}"
        first = len(held["result"])
        held["result"] += [
            controls.result(document, mark, f"{place}-{first + index}", page)
            for index, mark in enumerate(contiguous(opinion, notes, where))
        ]


_ENTRIES = ("annotations", "predictions")


def _identity(entry: dict[str, Any]) -> tuple[str, ...]:
    """Whose an annotation or prediction of a task is."""
    return tuple(str(entry.get(key)) for key in ("model_version", "completed_by", "ground_truth"))


class _Controls:
    """The control tags that labels belong to, as far as they were read from Label Studio."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options
        self._known: dict[str, tuple[str, str, str]] = {}
        self._objects: dict[str, str] = {}

    def learn(self, document: Document) -> None:
        found = (document.source or {}).get("controls")
        for label, names in found.items() if isinstance(found, dict) else ():
            if isinstance(names, list) and len(names) == 3 and all(map(_is_name, names)):
                self._known[label] = (names[0], names[1], names[2])
                self._objects[str((document.source or {}).get("key"))] = names[1]

    def result(
        self, document: Document, mark: Mark, name: str, page: Rendered | None
    ) -> dict[str, Any]:
        """A mark as a result."""
        usual = "labels" if page is None else _KINDS_SHOWN[page.kind]
        first = next(iter(self._known.values()), ("label", "text", usual))
        control, object_, kind = self._known.get(mark.label, first)
        if "key" in (document.source or {}):  # one of several texts
            object_ = self._objects.get(str((document.source or {})["key"]), object_)
        kind = kind if kind in ("labels", TAXONOMY, usual) else usual
        if page is None:
            text = document.text[mark.start : mark.end]
            place = {"start": mark.start, "end": mark.end, "text": text}
        else:
            place = page.value(mark.start, mark.end)
        label = mark.label.split("/") if kind == TAXONOMY else mark.label
        result: dict[str, Any] = {
            "id": name, "type": kind,
            "from_name": self.options.get("control", control),
            "to_name": self.options.get("to_name", object_),
            "value": {**place, kind: [label]},
        }  # fmt: skip
        if mark.score is not None:
            result["score"] = mark.score
        return result


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name)


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) < 18 and str(int(name)) == name


def _data(document: Document, key: str | None) -> tuple[dict[str, Any], Rendered | None]:
    """The task's data as it was read from Label Studio, or the text alone; and the page that it shows."""
    source = (document.source or {}).get("data")
    if isinstance(source, dict):
        keys = list(source) if key is None else [key]
        for name in keys:
            if source.get(name) == document.text:
                return dict(source), None
        for name in keys:
            held = source.get(name)
            if isinstance(held, list) or (isinstance(held, str) and "<" in held):
                page = rendered(held)
                if page is not None and page.text == document.text:
                    return dict(source), page
    return {key or "text": document.text}, None


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
