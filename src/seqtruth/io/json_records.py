"""The objects of a JSON file, one by one, whatever its shape: an array, a line each, or one object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.files import read_text


class JsonRecord(NamedTuple):
    """A value with its place."""

    value: Any
    where: str


def json_records(path: Path) -> Iterator[JsonRecord]:
    """The elements of a top-level array, the lines of JSON Lines, or the one value that is there."""
    text = read_text(path).decode()
    decoder = json.JSONDecoder()
    place = _skip(text, 0)
    array = text[place : place + 1] == "["
    place = _skip(text, place + 1) if array else place
    while place < len(text) and not (array and text[place] == "]"):
        where = f"{path}:{text.count(chr(10), 0, place) + 1}"
        try:
            value, place = decoder.raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError("not JSON", where=where, got=str(error)[:100]) from None
        yield JsonRecord(value, where)
        place = _skip(text, place)
        if array and text[place : place + 1] == ",":
            place = _skip(text, place + 1)


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place
