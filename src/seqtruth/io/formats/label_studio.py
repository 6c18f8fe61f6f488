"""Label Studio: JSON, JSON-MIN, CSV and TSV exports, and tasks to import.

**JSON** is a list of tasks::

    {"id": 1, "data": {"text": "..."},
     "annotations": [{"completed_by": 7, "was_cancelled": false, "ground_truth": false, "result": [
        {"from_name": "label", "to_name": "text", "type": "labels",
         "value": {"start": 0, "end": 4, "text": "Jane", "labels": ["PER"]}}]}],
     "predictions": [{"model_version": "m", "score": 0.9, "result": [...]}]}

- ``completed_by`` is an id, an object (its e-mail address is the name) or absent (``unknown``,
  ``unknown-2`` ... by place in the task). Two annotations by one annotator: both come, the later last.
- ``was_cancelled`` is "never saw it"; an empty ``result`` is "saw it and marked nothing".
- ``predictions`` are models, named by ``model_version``. ``ground_truth`` is an annotation like any
  other, or with ``ground_truth="gold"`` one more opinion that is gold.
- A span with several labels is a mark for each; a taxonomy that labels stretches itself gives paths
  (``Agent/Person``). Several texts in a task are a document each, and a
  document's id is then ``task/key``.
- Tasks of versions before 1.0 (``completions``, ``honeypot``) are read, and files of a target storage,
  which hold one annotation with its ``task``.
- Marks in hypertext and paragraphs are placed in what is shown
  (:mod:`~seqtruth.io.formats.label_studio_rendered`), which is then the text.

**JSON-MIN, CSV and TSV** have a row per annotation, see :mod:`~seqtruth.io.formats.label_studio_rows`.

Written are tasks to import, with the control tags that the labels were read from. As predictions (the
default) they need nothing; annotations need members of the project with the annotators' names as e-mail
addresses, and ground truth goes to whoever imports it.

Left out and noted: relations, document-level results, attributes of marks, drafts, reviews, results
known only by their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.checked_values import list_at, name_of, number_of, shown
from seqtruth.io.formats.label_studio_plain import plain_task
from seqtruth.io.formats.label_studio_results import (
    Asked,
    Placer,
    Region,
    TextKeys,
    controls_of,
    span_of,
    with_taxonomies,
)
from seqtruth.io.formats.label_studio_rows import is_row, read_rows, read_table, tell_table
from seqtruth.io.formats.label_studio_writing import WRITE_OPTIONS, write
from seqtruth.io.formats.plain_marks import UniqueIds
from seqtruth.io.json_records import JsonRecord, json_records

READ_OPTIONS = {
    "text_key": "the key of a task's data that holds the text, where it cannot be told",
    "control": "only results of this control tag (from_name); several are separated by commas",
    "ground_truth": "'gold': annotations marked as ground truth are gold as well; 'ignore' (default)",
    "offsets": "'points', 'utf16', or 'auto' (default): what the quoted texts say",
}


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    asked, keys = _asked(options)
    if tell_table(Glimpse(path)):
        yield from read_table(path, notes, keys, asked)
        return
    records = json_records(path)
    first = next(records, None)
    if first is not None and is_row(first.value):
        yield from read_rows(_chain(first, records), notes, keys, asked)
        return
    ids = UniqueIds(notes)
    reader = _Tasks(notes, keys, asked)
    for number, record in enumerate(_chain(first, records), 1):
        for task in _tasks(record):
            for document in reader.documents(task, number, record.where):
                id_ = ids.take(document.id, document.where)
                yield document if id_ == document.id else replace(document, id=id_)
    reader.check_found(path)


def _asked(options: dict[str, object]) -> tuple[Asked, TextKeys]:
    for name in options:
        if name not in READ_OPTIONS:
            raise ParameterError(
                f"Label Studio files have no option {name!r}",
                fix=f"one of {', '.join(READ_OPTIONS)}",
            )
    gold = options.get("ground_truth") or "ignore"
    units = options.get("offsets") or "auto"
    if gold not in ("gold", "ignore"):
        raise ParameterError("ground_truth must be 'gold' or 'ignore'", got=repr(gold))
    if units not in ("points", "utf16", "auto"):
        raise ParameterError("offsets must be 'points', 'utf16' or 'auto'", got=repr(units))
    control = options.get("control")
    names = frozenset(name.strip() for name in str(control).split(",")) if control else None
    key = options.get("text_key")
    return Asked(names, gold == "gold", str(units)), TextKeys(str(key) if key else None)


def _chain(first: JsonRecord | None, rest: Iterator[JsonRecord]) -> Iterator[JsonRecord]:
    if first is not None:
        yield first
    yield from rest


def _tasks(record: JsonRecord) -> Iterator[dict[str, Any]]:
    value = record.value
    if isinstance(value, dict) and isinstance(value.get("tasks"), list) and "data" not in value:
        yield from (_task(task, record.where) for task in value["tasks"])
    elif isinstance(value, dict) and isinstance(value.get("task"), dict) and "result" in value:
        yield {**value["task"], "annotations": [value]}  # a file of a target storage
    elif isinstance(value, dict) and isinstance(value.get("annotation"), dict) and "task" in value:
        yield {
            **_task(value["task"], record.where),
            "annotations": [value["annotation"]],
        }  # a webhook's
    else:
        yield _task(value, record.where)


def _task(value: object, where: str) -> dict[str, Any]:
    if isinstance(value, dict):
        if isinstance(value.get("data"), dict):
            return value
        if isinstance(value.get("text"), str):  # what the tool imports: data without a wrapper
            said = ("annotations", "completions", "predictions")
            data = {key: one for key, one in value.items() if key not in said}
            return {**{key: value[key] for key in ("id", *said) if key in value}, "data": data}
    raise InputError(
        "not a Label Studio task: it has no 'data' object", where=where, got=shown(value),
        fix="export the project as JSON, JSON-MIN, CSV or TSV",
    )  # fmt: skip


class _Tasks:
    """Turns tasks into documents, and knows at the end what kinds of results there were."""

    def __init__(self, notes: Notes, keys: TextKeys, asked: Asked) -> None:
        self.notes, self.keys, self.asked = notes, keys, asked
        self.spans = self.documents_made = self.results = 0

    def documents(self, task: dict[str, Any], number: int, where: str) -> Iterator[Document]:
        data = task["data"]
        if (plain := self._plain(task, number, where)) is not None:
            yield plain
            return
        opinions = list(self._opinions(task, where))
        spans: dict[str, list[Region]] = {}
        for _, found in opinions:
            for span in found:
                spans.setdefault(span.object, []).append(span)
        keys = {name: self.keys.find(data, group, where) for name, group in spans.items()}
        if not keys:
            keys = {"": self.keys.find(data, [], where)}
        wanted = list(dict.fromkeys(key for key in keys.values() if key is not None))
        if not wanted:
            self.notes.left_out("task without text", where)
        name = _task_name(task, number)
        source = {"id": task.get("id"), "data": data}
        for key in wanted:
            page = key in self.keys.pages
            placer = Placer(data[key], self.notes, where, self.asked.units, page)
            made = tuple(
                replace(opinion, marks=_marks(placer, found, keys, key))
                for opinion, found in opinions
            )
            self.documents_made += 1
            marked = (s for name, group in spans.items() if keys[name] == key for s in group)
            record = {**source, "controls": controls_of(marked)}
            if len(wanted) == 1:
                yield Document(name, placer.text, made, where=where, source=record)
            else:
                record["key"] = key
                yield Document(f"{name}/{key}", placer.text, made, where=where, source=record)

    def _plain(self, task: dict[str, Any], number: int, where: str) -> Document | None:
        """The document of a task that is as most are, once it is known where their text is."""
        known, data = {name: key for name, key in self.keys.known.items() if name}, task["data"]
        if len(known) != 1 or self.keys.pages or self.asked.control or self.asked.units == "utf16":
            return None
        ((object_, key),) = known.items()
        text = data.get(key)
        if type(text) is not str:
            return None
        found = plain_task(task, object_, text)
        if found is None or not found.n_results:
            return None
        self.results += found.n_results
        self.spans += found.n_results
        self.documents_made += 1
        source = {"id": task.get("id"), "data": data, "controls": found.controls}
        name = _task_name(task, number)
        return Document(name, text, found.opinions, where=where, source=source)

    def _opinions(self, task: dict[str, Any], where: str) -> Iterator[tuple[Opinion, list[Region]]]:
        annotations = task.get("annotations", task.get("completions"))
        persons = []
        for index, annotation in enumerate(list_at(annotations, "annotations", where), 1):
            if not isinstance(annotation, dict):
                self.notes.left_out("annotation known only by its number", where)
            elif annotation.get("was_cancelled") is True or annotation.get("skipped") is True:
                self.notes.left_out("cancelled annotation", where)
            else:
                nobody = "unknown" if index == 1 else f"unknown-{index}"
                persons.append((_annotator(annotation) or nobody, annotation))
        persons.sort(key=lambda person: _time(person[1]) or "")
        self._note_beside(task, persons, where)
        for name, annotation in persons:
            opinion = Opinion(name, time=_time(annotation))
            found = self._spans(annotation, where)
            gold = annotation.get("ground_truth") is True or annotation.get("honeypot") is True
            if not (gold and self.asked.gold and _annotator(annotation) is None):
                yield opinion, found
            if gold and self.asked.gold:
                yield replace(opinion, annotator="ground truth", role="gold"), found
        yield from self._predictions(task, where)

    def _predictions(
        self, task: dict[str, Any], where: str
    ) -> Iterator[tuple[Opinion, list[Region]]]:
        for prediction in list_at(task.get("predictions"), "predictions", where):
            if not isinstance(prediction, dict):
                self.notes.left_out("prediction known only by its number", where)
                continue
            name = name_of(prediction.get("model_version")) or "model"
            score = number_of(prediction.get("score"))
            opinion = Opinion(name, role="model", score=score, time=_time(prediction))
            yield opinion, self._spans(prediction, where)

    def _spans(self, annotation: dict[str, Any], where: str) -> list[Region]:
        results = list_at(annotation.get("result"), "result", where)
        self.results += len(results)
        spans = []
        for result in with_taxonomies(results):
            control = result.get("from_name") if isinstance(result, dict) else None
            if self.asked.control is not None and control not in self.asked.control:
                self.notes.left_out("result of another control tag", where)
            elif (span := span_of(result, self.notes, where)) is not None:
                spans.append(span)
        self.spans += len(spans)
        return spans

    def _note_beside(
        self, task: dict[str, Any], persons: list[tuple[str, dict[str, Any]]], where: str
    ) -> None:
        for kind in ("drafts", "reviews"):
            for holder in (task, *(annotation for _, annotation in persons)):
                if isinstance(holder.get(kind), list) and holder[kind]:
                    self.notes.left_out(kind[:-1], where, len(holder[kind]))
        twice = len(persons) - len({name for name, _ in persons})
        if twice:
            self.notes.left_out("earlier annotation by the same annotator", where, twice)

    def check_found(self, path: Path) -> None:
        """Refuse a file that is not about text spans at all."""
        if self.results and not self.spans:
            kinds = "; ".join(self.notes.lines())[:300]
            raise InputError(
                "the Label Studio file holds no spans of text", where=str(path), got=kinds,
                fix="SeqTruth needs a project with a <Text> and <Labels>",
            )  # fmt: skip
        if not self.documents_made:
            raise InputError("the Label Studio file holds no text", where=str(path))


def _marks(
    placer: Placer, spans: list[Region], keys: dict[str, str | None], key: str
) -> tuple[Mark, ...]:
    return tuple(mark for span in spans if keys[span.object] == key for mark in placer.marks(span))


def _task_name(task: dict[str, Any], number: int) -> str:
    return name_of(task["data"].get("seqtruth_id")) or name_of(task.get("id")) or str(number)


def _annotator(annotation: dict[str, Any]) -> str | None:
    person = annotation.get("completed_by")
    if isinstance(person, dict):
        person = next(
            (person[k] for k in ("email", "username", "id") if name_of(person.get(k))), None
        )
    return name_of(person) or name_of(annotation.get("created_username"))


def _time(annotation: dict[str, Any]) -> str | None:
    for key in ("updated_at", "created_at"):
        if isinstance(annotation.get(key), str) and annotation[key]:
            return str(annotation[key])
    return None


def tell(glimpse: Glimpse) -> float:
    head = glimpse.head
    if head.lstrip()[:1] not in (b"[", b"{"):
        return tell_table(glimpse)
    results = b'"from_name"' in head or b'"result"' in head
    if b'"data"' in head and results and (b'"annotations"' in head or b'"predictions"' in head):
        return 0.98
    if b'"data"' in head and b'"completions"' in head and results:
        return 0.95
    if b'"annotator"' in head and b'"annotation_id"' in head and b'"lead_time"' in head:
        return 0.97
    if b'"from_name"' in head and b'"to_name"' in head:
        return 0.9
    if b'"completed_by"' in head and b'"was_cancelled"' in head:
        return 0.9
    wrapped = b'"data"' in head and (b'"annotations"' in head or b'"predictions"' in head)
    return 0.6 if wrapped else 0.0


FORMAT = DocumentFormat(
    name="label-studio",
    title="Label Studio",
    tell=tell,
    read=read,
    write=write,
    read_options=READ_OPTIONS,
    write_options=WRITE_OPTIONS,
    cannot_carry=(
        "the pieces of a discontinuous mark as one mark",
        "which part of a text was seen",
        "borders of tokens and sentences",
        "who is an annotator, a model or gold, unless written as annotations",
        "the name of a gold opinion",
        "scores of annotators",
    ),
    suffixes=(".label-studio.json",),
)
