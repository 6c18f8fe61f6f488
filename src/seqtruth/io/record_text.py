"""A tool's record as a corpus remembers it: JSON text without the document's text, which the corpus has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from seqtruth.io import json_codec

#: Under this key stands where the text belongs: the names that lead to it.
TEXT_AT = "seqtruth_text_at"


def kept_record(record: Mapping[str, Any], text: str) -> str:
    """The record as JSON text.

    >>> kept_record({"id": 7, "data": {"text": "Ada ran.", "n": 1}}, "Ada ran.")
    '{"id":7,"data":{"n":1},"seqtruth_text_at":["data","text"]}'
    """
    where = _text_at(record, text) if text else None
    if where is not None:
        inner = shorter = dict(record)
        for name in where[:-1]:
            inner[name] = dict(inner[name])
            inner = inner[name]
        del inner[where[-1]]
        record = shorter | {TEXT_AT: where}
    return json_codec.line(record)[:-1].decode()


def _text_at(record: Mapping[str, Any], text: str) -> list[str] | None:
    for name, value in record.items():
        if value is text or value == text:
            return [name]
        if isinstance(value, dict):
            for inner, held in value.items():
                if held is text or held == text:
                    return [name, inner]
    return None


def whole_record(kept: str, text: str) -> dict[str, Any]:
    """The record with its text again.

    >>> whole_record('{"data": {"n": 1}, "seqtruth_text_at": ["data", "text"]}', "Ada ran.")
    {'data': {'n': 1, 'text': 'Ada ran.'}}
    """
    record: dict[str, Any] = json.loads(kept)
    where = record.pop(TEXT_AT, None)
    if where:
        inner = record
        for name in where[:-1]:
            inner = inner[name]
        inner[where[-1]] = text
    return record
