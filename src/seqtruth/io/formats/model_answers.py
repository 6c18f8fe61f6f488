"""The shapes in which language models answer: lists, objects by type, JSON in prose or code fences.

JSON that is not quite JSON is mended where there is one way to: commas before a closing bracket,
typographic quotation marks around names and texts, and what Python prints (``'text'``, ``None``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from seqtruth.errors import InputError
from seqtruth.io.formats.checked_values import name_of, number_of, whole_of
from seqtruth.io.formats.literals import literal
from seqtruth.io.json_records import parse_json

QUOTE = (
    "text", "quote", "span", "entity", "mention", "extraction_text", "word", "value", "name", "phrase",
    "surface", "substring",
)  # fmt: skip
LABEL = (
    "label", "type", "class", "category", "tag", "entity_type", "entity_group", "extraction_class",
    "entity_label", "ner_tag", "kind",
)  # fmt: skip
SCORE = ("score", "confidence", "probability")
CONTEXT = ("context", "sentence", "snippet")
#: Names of what an answer is wrapped in.
WRAPPERS = (
    "entities", "extractions", "spans", "annotations", "answer", "answers", "results", "result",
    "items", "labels", "mentions", "named_entities", "output", "data", "ner",
)  # fmt: skip
_THOUGHTS = ("</think>", "</thinking>")
_LANGUAGE = re.compile(r"[\w+-]{0,20}[ \t]*\r?\n")
_EXTRA_COMMA = re.compile(r",(\s*[\]}])")
_CURLY = str.maketrans("“”„‟", '""""')
MAX_DEPTH = 8


@dataclass
class Item:
    """One quote of an answer."""

    quote: str | None
    label: str | None
    start: int | None = None
    end: int | None = None
    context: str | None = None
    score: float | None = None
    #: Whether the offsets come from a program that looked for the quote, not from the model.
    aligned: bool = False


class Unreadable(ValueError):
    """An answer that has no JSON, or JSON of no known shape."""


def items_of(answer: Any) -> list[Item] | None:
    """The quotes of an answer; None where there is no answer at all."""
    answer = _said(answer)
    if isinstance(answer, str):
        if not answer.strip():
            return None
        answer = _json_in(answer)
    return None if answer is None else list(_items(answer, None, 0))


def _said(answer: Any) -> Any:
    """What a model said, out of the object in which a service answers (OpenAI's, Anthropic's)."""
    for _ in range(MAX_DEPTH):
        if not isinstance(answer, dict):
            break
        choices, content = answer.get("choices"), answer.get("content")
        inside = next(
            (answer[k] for k in ("body", "message") if isinstance(answer.get(k), dict)), None
        )
        if isinstance(choices, list) and choices:
            answer = choices[0]
        elif "role" in answer and isinstance(content, list):
            answer = "".join(str(one.get("text", "")) for one in content if isinstance(one, dict))
        elif "role" in answer and isinstance(content, str):
            answer = content
        elif inside is not None:
            answer = inside
        else:
            break
    return answer


def _json_in(answer: str) -> Any:
    """The JSON in what a model said: in a code fence, or from the first bracket to the last."""
    said = answer
    for tag in _THOUGHTS:
        said = said.rpartition(tag)[2]
    said = said.strip()
    fenced = [_LANGUAGE.sub("", part, count=1) for part in said.split("```")[1::2]]
    tries = [said, *(part.removeprefix("json") for part in fenced)]
    starts = [place for place in (said.find("["), said.find("{")) if place >= 0]
    end = max(said.rfind("]"), said.rfind("}"))
    if starts and end > min(starts):
        tries.append(said[min(starts) : end + 1])
    for text in tries:
        try:
            value = parse_json(text.strip())
        except ValueError:
            continue
        if isinstance(value, dict | list):
            return value
    for text in reversed(tries):
        with suppress(InputError):
            value = literal(_EXTRA_COMMA.sub(r"\1", text.translate(_CURLY)).strip(), "")
            if isinstance(value, dict | list):
                return value
    for text in tries[1:2] or tries:
        lines = [line.strip().rstrip(",") for line in text.splitlines() if line.strip()]
        try:
            return [parse_json(line) for line in lines]
        except ValueError:
            continue
    raise Unreadable("JSON that is damaged or breaks off" if starts else "no JSON in it")


def _items(value: Any, label: str | None, depth: int) -> Iterator[Item]:
    if depth > MAX_DEPTH:
        raise Unreadable("nested too deeply")
    if isinstance(value, str):
        yield Item(value, label)
    elif isinstance(value, list):
        if (
            label is None
            and len(value) == 2
            and depth
            and all(isinstance(one, str) for one in value)
        ):
            yield Item(value[0], value[1])
        else:
            for one in value:
                yield from _items(one, label, depth + 1)
    elif isinstance(value, dict):
        yield from _object(value, label, depth)
    elif value is not None:
        yield Item(None, label)


def _object(value: dict[str, Any], label: str | None, depth: int) -> Iterator[Item]:
    quote = next((value[key] for key in QUOTE if isinstance(value.get(key), str)), None)
    named = next((name for key in LABEL if (name := name_of(value.get(key))) is not None), None)
    if quote is not None and (named is not None or label is not None) and not _is_by_type(value):
        yield _item(value, quote, named or label)
        return
    if named is not None and quote is None and not any(isinstance(v, list) for v in value.values()):
        yield _item(value, None, named)
        return
    if depth and label is None and any(isinstance(value.get(key), str) for key in QUOTE[:3]):
        yield _item(value, quote, None)
        return
    wrapped = next((key for key in WRAPPERS if isinstance(value.get(key), list | dict)), None)
    if wrapped is not None and label is None:
        for one in value[wrapped] if _strings(value[wrapped]) else ():
            yield Item(one, None)
        if not _strings(value[wrapped]):
            yield from _items(value[wrapped], None, depth + 1)
        return
    for key, given in value.items():  # by type: {"PER": ["Jane"], "LOC": []}
        yield from _items(given, key, depth + 1)


def _is_by_type(value: dict[str, Any]) -> bool:
    """Whether an object lists quotes under types, one of which happens to be called like a field."""
    return all(isinstance(given, list) for given in value.values())


def _strings(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)


def _item(value: dict[str, Any], quote: str | None, label: str | None) -> Item:
    interval = value.get("char_interval")
    hints = interval if isinstance(interval, dict) else value
    context = next((value[key] for key in CONTEXT if isinstance(value.get(key), str)), None)
    start = next((hints[key] for key in ("start", "start_pos", "start_char") if key in hints), None)
    end = next((hints[key] for key in ("end", "end_pos", "end_char") if key in hints), None)
    score = next((value[key] for key in SCORE if key in value), None)
    aligned = isinstance(interval, dict)
    return Item(quote, label, whole_of(start), whole_of(end), context, number_of(score), aligned)
