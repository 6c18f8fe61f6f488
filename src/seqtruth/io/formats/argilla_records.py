"""The shapes in which Argilla's records are saved, brought to one.

========================  ==============================================================================
Argilla 2                 ``records.to_json``, ``to_dict``, ``to_list``: ``fields``, and by question
                          ``responses: {"q": [{"value": [spans], "user_id": uuid}]}`` and
                          ``suggestions: {"q": {"value", "score", "agent"}}``
the same, flattened       ``q.responses``, ``q.responses.users``, ``q.responses.status`` in parallel,
                          ``q.suggestion``, ``q.suggestion.score``, ``q.suggestion.agent``
the server, feedback      ``responses: [{"user_id", "status", "values": {"q": {"value"}}}]``,
datasets of Argilla 1     ``suggestions: [{"question_name", "value", "score", "agent"}]``
those as Hugging Face     ``q: [{"user_id", "value", "status"}]`` or ``q: {"user_id": [], "value": [],
data sets                 "status": []}``, ``q-suggestion``, ``q-suggestion-metadata``
Argilla 1, Rubrix         ``text``, ``tokens``, ``annotation``, ``annotation_agent``, ``prediction``,
                          ``prediction_agent``, ``status``
========================  ==============================================================================

A file may hold a list of records, one a line, an object of columns (``to_dict``), or an object of
records by id (``to_dict(orient="index")``), or be an answer of the server (``items``). Parquet has the
same columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from seqtruth.errors import InputError
from seqtruth.io.documents import Role
from seqtruth.io.formats.checked_values import first_of, list_at, name_of, shown
from seqtruth.io.json_records import JsonRecord

_USERS, _STATUS, _RESPONSES, _SUGGESTION = (
    ".responses.users",
    ".responses.status",
    ".responses",
    ".suggestion",
)

#: How names of columns end that only Argilla has.
SIGNS = (
    _USERS, f"{_SUGGESTION}.agent", "-suggestion-metadata", "annotation_agent", "prediction_agent",
)  # fmt: skip


@dataclass
class Answer:
    """What a user or a model answered to a question."""

    question: str
    value: Any
    annotator: str | None
    role: Role = "annotator"
    score: Any = None
    status: str | None = None


@dataclass
class Record:
    """A record, whatever shape it came in."""

    id: str | None
    fields: dict[str, Any]
    where: str
    answers: list[Answer] = field(default_factory=list)
    tokens: list[Any] | None = None
    time: str | None = None


def records_of(found: JsonRecord) -> Iterator[Record]:
    """The records of a JSON value: one, or those of an object of columns or of ids."""
    value, where = found
    if not isinstance(value, dict):
        raise InputError("an Argilla record must be an object", where=where, got=shown(value))
    if (
        isinstance(value.get("items"), list) and "fields" not in value
    ):  # a page of the server's answer
        for one in value["items"]:
            yield from records_of(JsonRecord(one, where))
        return
    columns = [name for name, column in value.items() if isinstance(column, list)]
    if isinstance(value.get("id"), list) and len(columns) == len(value):
        rows = len(value["id"])
        if any(len(column) != rows for column in value.values()):
            raise InputError("columns of different lengths", where=where)
        for row in range(rows):
            yield _record({name: column[row] for name, column in value.items()}, where)
    elif value and all(isinstance(one, dict) and "fields" in one for one in value.values()):
        for name, one in value.items():
            yield _record({"id": name, **one}, where)
    else:
        yield _record(value, where)


def _record(value: dict[str, Any], where: str) -> Record:
    name = name_of(value.get("id")) or name_of(value.get("external_id"))
    if isinstance(value.get("fields"), dict):
        record = Record(name, value["fields"], where)
        record.answers = [*_responses(value, where), *_suggestions(value, where)]
    elif "annotation_agent" in value or "prediction_agent" in value or "annotation" in value:
        record = _first_generation(name, value, where)
    else:
        record = Record(name, value, where)
        record.answers = [*_flattened(value, where), *_feedback(value)]
    time = first_of(value, ("updated_at", "event_timestamp"))
    record.time = time if isinstance(time, str) else None
    return record


def _responses(value: dict[str, Any], where: str) -> Iterator[Answer]:
    responses = value.get("responses")
    if isinstance(responses, dict):
        for question, given in responses.items():
            for one in list_at(given, "responses", where):
                if isinstance(one, dict):
                    yield _response(question, one)
    else:
        for one in list_at(responses, "responses", where):
            values = one.get("values") if isinstance(one, dict) else None
            if isinstance(values, dict):
                for question, inner in values.items():
                    if isinstance(inner, dict):
                        yield _response(question, {**one, "value": inner.get("value")})
            elif isinstance(one, dict) and isinstance(one.get("status"), str):
                yield _response("", one)


def _response(question: str, one: dict[str, Any]) -> Answer:
    status = one.get("status")
    return Answer(
        question, one.get("value"), name_of(first_of(one, ("user_id", "user", "username"))),
        status=status if isinstance(status, str) else None,
    )  # fmt: skip


def _suggestions(value: dict[str, Any], where: str) -> Iterator[Answer]:
    suggestions = value.get("suggestions")
    pairs: list[tuple[Any, Any]]
    if isinstance(suggestions, dict):
        pairs = list(suggestions.items())
    else:
        given = list_at(suggestions, "suggestions", where)
        pairs = [(one.get("question_name"), one) for one in given if isinstance(one, dict)]
    for question, one in pairs:
        if isinstance(one, dict):
            yield _suggestion(name_of(question) or "", one)


def _suggestion(question: str, one: dict[str, Any]) -> Answer:
    return Answer(
        question, one.get("value"), name_of(one.get("agent")), role="model", score=one.get("score")
    )


def _flattened(value: dict[str, Any], where: str) -> Iterator[Answer]:
    for key, given in value.items():
        if key.endswith(_RESPONSES) and given is not None:
            question = key.removesuffix(_RESPONSES)
            answers = list_at(given, key, where)
            users = list_at(value.get(question + _USERS), "users", where)
            statuses = list_at(value.get(question + _STATUS), "status", where)
            for place, one in enumerate(answers):
                user = users[place] if place < len(users) else None
                status = statuses[place] if place < len(statuses) else None
                yield _response(question, {"value": one, "user_id": user, "status": status})
        elif key.endswith(_SUGGESTION) and given is not None:
            more = {name: value.get(f"{key}.{name}") for name in ("score", "agent")}
            yield _suggestion(key.removesuffix(_SUGGESTION), {"value": given, **more})


def _feedback(value: dict[str, Any]) -> Iterator[Answer]:
    """Questions as columns, as Argilla 1 gave its feedback data sets to Hugging Face."""
    for key, given in value.items():
        if key.endswith("-suggestion") and given is not None:
            more = value.get(f"{key}-metadata")
            named = more if isinstance(more, dict) else {}
            yield _suggestion(key.removesuffix("-suggestion"), {**named, "value": given})
        elif f"{key}-suggestion" in value:
            if isinstance(given, dict) and all(isinstance(one, list) for one in given.values()):
                rows = zip(*given.values(), strict=False)  # how datasets keeps a sequence
                given = [dict(zip(given, row, strict=True)) for row in rows]
            for one in given if isinstance(given, list) else ():
                if isinstance(one, dict) and "user_id" in one:
                    yield _response(key, one)


def _first_generation(name: str | None, value: dict[str, Any], where: str) -> Record:
    """A token classification record of Argilla 1: one annotation, one prediction."""
    tokens = value.get("tokens")
    record = Record(
        name,
        {"text": value.get("text")},
        where,
        tokens=tokens if isinstance(tokens, list) else None,
    )
    status = value.get("status")
    status = status.lower() if isinstance(status, str) else None
    if value.get("annotation") is not None or status == "discarded":
        agent = name_of(value.get("annotation_agent"))
        record.answers.append(Answer("", value.get("annotation"), agent, status=status))
    if value.get("prediction") is not None:
        agent = name_of(value.get("prediction_agent"))
        record.answers.append(Answer("", value["prediction"], agent, role="model"))
    return record
