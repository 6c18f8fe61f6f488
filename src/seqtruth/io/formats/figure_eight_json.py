"""Figure Eight's JSON report: a unit a line, with its data and all judgments in ``results``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Extents, Mark, Notes, Opinion
from seqtruth.io.formats.checked_values import list_at, mapping_at, name_of, text_at, whole_of
from seqtruth.io.formats.column_names import TEXTS
from seqtruth.io.formats.quotes import locate
from seqtruth.io.formats.token_tags import align, join
from seqtruth.io.json_records import json_records

_TOKENS = ("tokens", "words")


class AnswerOptions(NamedTuple):
    """What the user said about a report."""

    text: str | None = None
    label: str | None = None
    ambiguous: str = "first"
    keep_tainted: bool = False
    answers: tuple[str, ...] = ()


def read_units(path: Path, notes: Notes, chosen: AnswerOptions) -> Iterator[Document]:
    """Documents of a report, unit by unit."""
    seen: set[str] = set()
    for number, (value, where) in enumerate(json_records(path)):
        unit = mapping_at(value, "a unit", where)
        name = name_of(unit.get("id")) or str(number)
        if name in seen:
            raise InputError(f"the unit {name!r} is there twice", where=where)
        seen.add(name)
        data = mapping_at(unit.get("data"), "data", where)
        text, tokens = _text(data, chosen, where)
        results = mapping_at(unit.get("results"), "results", where)
        opinions = []
        for one in list_at(results.get("judgments"), "judgments", where):
            judgment = mapping_at(one, "a judgment", where)
            if not chosen.keep_tainted and (judgment.get("tainted") or judgment.get("rejected")):
                notes.left_out("tainted judgment", where)
                continue
            opinions.append(_opinion(judgment, text, tokens, chosen, notes, where))
        yield Document(name, text, tuple(opinions), tokens, where=where)


def _text(data: dict[str, Any], chosen: AnswerOptions, where: str) -> tuple[str, Extents | None]:
    """The text, and its tokens where the unit has them; as the tokens give it, if they do not fit."""
    keys = (
        [chosen.text] if chosen.text else [key for key in TEXTS if isinstance(data.get(key), str)]
    )
    text = text_at(data.get(keys[0]), "the text", where) if keys else None
    found = next((data[key] for key in _TOKENS if isinstance(data.get(key), list)), None)
    if found is None or not all(isinstance(word, str) and word for word in found):
        if text is None:
            raise InputError(
                "the unit has neither a text nor tokens", where=where,
                got=f"keys {', '.join(map(str, data))}"[:120], fix="name the text with text=",
            )  # fmt: skip
        return text, None
    words = [text_at(word, "a token", where) for word in found]
    borders = align(words, text) if text is not None else None
    return (text or "", borders) if borders is not None else join(words)


def _opinion(
    judgment: dict[str, Any], text: str, tokens: Extents | None, chosen: AnswerOptions,
    notes: Notes, where: str,
) -> Opinion:  # fmt: skip
    worker, time = name_of(judgment.get("worker_id")), judgment.get("created_at")
    if worker is None:
        raise InputError("a judgment has no worker_id", where=where)
    marks: list[Mark] = []
    for key, value in mapping_at(judgment.get("data"), "data", where).items():
        if key.startswith("_") or (chosen.answers and key not in chosen.answers):
            continue
        if not isinstance(value, list):
            notes.left_out(f"answer {key} (not a list of marks)", where)
            continue
        label = chosen.label or name_of(key) or "span"
        places = _places(value, text, tokens, chosen, notes, where)
        marks += [Mark(start, end, label) for start, end in places]
    return Opinion(worker, tuple(marks), time=time if name_of(time) == time else None)


def _places(
    value: list[Any], text: str, tokens: Extents | None, chosen: AnswerOptions,
    notes: Notes, where: str,
) -> list[tuple[int, int]]:  # fmt: skip
    """Token numbers, or quoted words, as stretches of text."""
    numbers = [whole_of(one) for one in value]
    if tokens is None or None in numbers:
        quotes = [one for one in value if isinstance(one, str)]
        return locate(quotes, text, notes, where, chosen.ambiguous)
    inside = sorted({n for n in numbers if n is not None and 0 <= n < len(tokens)})
    if len(inside) < len(set(numbers)):
        notes.left_out("mark outside the text", where, len(set(numbers)) - len(inside))
    breaks = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(inside)) if b > a + 1), len(inside)]
    return [(tokens[inside[i]][0], tokens[inside[j - 1]][1]) for i, j in pairwise(breaks) if i < j]
