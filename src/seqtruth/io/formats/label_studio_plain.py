"""Label Studio tasks that are as most are, read without a closer look.

One text, under a key that is known from the tasks before; annotations with spans of that text, each with one
label and quoted as it stands there; nothing beside them. Whatever is otherwise is left to
:mod:`~seqtruth.io.formats.label_studio`, which knows every case and says what it leaves out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from seqtruth.io.documents import Mark, Opinion

#: Makes a mark without looking at the fields' names, of which there are millions.
_made = tuple.__new__
_VALUE = {"start", "end", "text", "labels"}
_SPECIAL = ("source", "score", "from_id", "meta")


class PlainTask(NamedTuple):
    """The opinions on one text, the control tags of the labels, and how many results there were."""

    opinions: tuple[Opinion, ...]
    controls: dict[str, list[str]]
    n_results: int


def plain_task(task: dict[str, Any], object_: str, text: str) -> PlainTask | None:
    """A task's annotations, all of them on this object and its text; None where one has to look closer."""
    annotations = task.get("annotations")
    if type(annotations) is not list or task.get("predictions") or "completions" in task:
        return None
    if task.get("drafts") or task.get("reviews"):
        return None
    opinions: list[tuple[str, str, Opinion]] = []
    controls: dict[str, list[str]] = {}
    n_results = 0
    for annotation in annotations:
        if type(annotation) is not dict or not _is_simple(annotation):
            return None
        who, results = _name(annotation), annotation.get("result")
        if who is None or type(results) is not list:
            return None
        marks = _marks(results, object_, text, controls)
        if marks is None:
            return None
        n_results += len(marks)
        time = annotation.get("updated_at") or annotation.get("created_at")
        if time is not None and type(time) is not str:
            return None
        opinions.append((time or "", who, Opinion(who, tuple(marks), time=time)))
    opinions.sort(key=lambda one: one[0])
    if len({who for _, who, _ in opinions}) < len(opinions):
        return None
    return PlainTask(tuple(one for _, _, one in opinions), controls, n_results)


def _is_simple(annotation: dict[str, Any]) -> bool:
    return not (
        annotation.get("was_cancelled")
        or annotation.get("skipped")
        or annotation.get("ground_truth")
        or annotation.get("honeypot")
        or annotation.get("drafts")
        or annotation.get("reviews")
    )


def _name(annotation: dict[str, Any]) -> str | None:
    person = annotation.get("completed_by")
    if type(person) is dict:
        person = person.get("email")
    if type(person) is int:
        return str(person)
    return person if type(person) is str and person and person == person.strip() else None


def _marks(
    results: list[Any], object_: str, text: str, controls: dict[str, list[str]]
) -> list[Mark] | None:
    marks: list[Mark] = []
    try:
        for result in results:
            value = result["value"]
            start, end, quoted = value["start"], value["end"], value["text"]
            (label,) = value["labels"]
            if (
                result["type"] != "labels" or result["to_name"] != object_
                or type(start) is not int or type(end) is not int or not 0 <= start < end
                or type(label) is not str or not label or text[start:end] != quoted
                or end - start != len(quoted) or len(value) != 4
            ):  # fmt: skip
                return None
            for name in _SPECIAL:
                if name in result:
                    return None
            if label not in controls:
                control = result["from_name"]
                if type(control) is not str:
                    return None
                controls[label] = [control, object_, "labels"]
            elif controls[label][0] != result["from_name"]:
                return None
            marks.append(_made(Mark, (start, end, label, (), None)))
    except (KeyError, TypeError, ValueError):
        return None
    return marks
