"""One record of JSON lines: parsed, its fields checked, every fault with its place."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from seqtruth.data.scheme import KINDS
from seqtruth.errors import InputError
from seqtruth.io import json_codec
from seqtruth.io.text_spans import TextSpan

_KEY = re.compile(rb'"[ \t\r\n]*:')


def parse_record(line: bytes, where: str) -> dict[str, Any]:
    """The object on one line; a key that stands twice in it is a fault."""
    record = _parsed_fast(line)
    return _parsed_slowly(line, where) if record is None else record


def _parsed_fast(line: bytes) -> dict[str, Any] | None:
    """The object, where no key can stand twice, since there are as many keys as signs of one."""
    try:
        record = json_codec.loads(line)
    except json.JSONDecodeError:
        return None
    if type(record) is not dict or type(record.get("id")) is float:
        return None
    keys, annotations = len(record), record.get("annotations")
    if type(annotations) is dict:
        keys += len(annotations)
        for spans in annotations.values():
            if type(spans) is list:
                keys += sum([len(span) for span in spans if type(span) is dict])
    return record if keys == len(_KEY.findall(line)) else None


def _parsed_slowly(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_no_repeats, parse_constant=_no_constant)
        if b"\\u" in line:  # a lone surrogate is not text
            json.dumps(record, ensure_ascii=False).encode()
    except _RepeatError as error:
        raise InputError(
            f"the key {str(error)!r:.60} stands twice in one object",
            where=where,
            fix="an annotator may label a sentence once; give a second pass a name of its own",
        ) from None
    except UnicodeEncodeError:
        raise InputError(
            "text holds half a surrogate pair", where=where, fix="write characters, not halves"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            "not valid JSON",
            where=where,
            got=str(error)[:80],
            fix="write one JSON object a line",
        ) from None
    if not isinstance(record, dict):
        raise InputError(
            "a line must hold one JSON object",
            where=where,
            got=kind_of(record),
            fix="write one JSON object a line",
        )
    return record


class _RepeatError(Exception):
    pass


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise _RepeatError(next(name for name, _ in pairs if counts[name] > 1))
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def kind_of(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return names.get(type(value), "null" if value is None else "a number")


def field_in(record: dict[str, Any], name: str, kind: type, where: str) -> Any:
    value = record.get(name)
    if not isinstance(value, kind):
        wanted = kind_of(kind())
        fix = None
        if name == "annotations" and name not in record:
            fix = 'write "annotations": {} for a sentence that nobody labelled'
        got = kind_of(value) if name in record else "nothing"
        raise InputError(f'"{name}" must be {wanted}', where=where, got=got, fix=fix)
    return value


def names_in(record: dict[str, Any], number: int, where: str) -> tuple[str, str]:
    """Id (the number, where there is none) and document of a record."""
    name = record.get("id", str(number))
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise InputError('"id" must be a string or a whole number', where=where, got=kind_of(name))
    return str(name), field_in(record, "doc", str, where) if "doc" in record else ""


def scheme_in(record: dict[str, Any], where: str) -> str | None:
    """The scheme that a record names."""
    kind: str | None = record.get("scheme")
    if "scheme" in record and kind not in KINDS:
        fix = f"known are {', '.join(KINDS)}"
        raise InputError('"scheme" names no scheme', where=where, got=f"{kind!r:.40}", fix=fix)
    return kind


def neither(record: dict[str, Any], where: str) -> InputError:
    return InputError(
        'a record needs "tokens" or "text"',
        where=where,
        got=", ".join(f'"{key}"' for key in record)[:80] or "no fields",
    )


def spans_in(annotator: str, spans: Any, where: str) -> list[TextSpan]:
    if not isinstance(spans, list):
        raise InputError(
            f"annotator {annotator!r} must have a list of spans, or null",
            where=where,
            got=kind_of(spans),
        )
    found = []
    for span in spans:
        if isinstance(span, list) and len(span) == 3:  # start, end, label
            span = dict(zip(("start", "end", "label"), span, strict=True))
        if not isinstance(span, dict) or not {"start", "end", "label"} <= span.keys():
            raise InputError(
                f'annotator {annotator!r}: a span needs "start", "end" and "label"',
                where=where,
                got=f"{span!r:.60}",
            )
        start, end, label = span["start"], span["end"], span["label"]
        whole = type(start) is int and type(end) is int  # a bool is no offset
        if not whole or not isinstance(label, str) or not label:
            raise InputError(
                f"annotator {annotator!r}: a span's start and end must be whole numbers and its label "
                "a string",
                where=where,
                got=f"{span!r:.60}",
            )
        found.append(TextSpan(start, end, label))
    return found
