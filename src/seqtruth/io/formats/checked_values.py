"""Taking values out of somebody's records, where anything may stand in place of anything.

JSON, CSV cells and Arrow rows give whatever was put in. The functions ``..._of`` give None for what is
not of that kind; the others raise an :class:`InputError` with the place.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable
from typing import Any

from seqtruth.errors import InputError
from seqtruth.io.documents import Mark, Notes

_SURROGATE = re.compile("[\ud800-\udfff]")
_WHOLE = re.compile(r"\s*[+-]?\d{1,15}(?:\.0+)?\s*")
_show = reprlib.Repr()
_show.maxstring = _show.maxother = 60


def shown(value: object) -> str:
    """A value for a message: short, however large or deep it is."""
    return _show.repr(value)[:80]


def whole_of(value: object) -> int | None:
    r"""A whole number, also one written as text or as 3.0.

    >>> whole_of("12"), whole_of(3.0), whole_of(True), whole_of("1.5"), whole_of("\x1f0")
    (12, 3, None, None, 0)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value == int(value) else None
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value.strip().partition(".")[0])  # int() itself knows fewer blanks
    return None


def number_of(value: object) -> float | None:
    """A finite number, also one written as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float) or (isinstance(value, str) and len(value) < 40):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return None
        return number if math.isfinite(number) else None
    return None


def name_of(value: object) -> str | None:
    """A name or id: text as it is, whole numbers as written; None where there is none."""
    if isinstance(value, str):
        return value if value and (value.isascii() or not _SURROGATE.search(value)) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**40 else None
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return None


def text_at(value: object, what: str, where: str) -> str:
    """A text, which must be one that can be written down."""
    if not isinstance(value, str):
        raise InputError(f"{what} must be a text", where=where, got=shown(value))
    odd = _SURROGATE.search(value)
    if odd:
        raise InputError(
            f"{what} holds half of a surrogate pair, which is no character", where=where,
            got=f"\\u{ord(odd[0]):04x} at {odd.start()}", fix="export the file again as UTF-8",
        )  # fmt: skip
    return value


def words_at(value: object, what: str, where: str) -> list[str]:
    """A list of texts."""
    if not isinstance(value, list):
        raise InputError(f"{what} must be a list of texts", where=where, got=shown(value))
    return [text_at(word, f"each of {what}", where) for word in value]


def mapping_at(value: object, what: str, where: str) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise InputError(f"{what} must be an object", where=where, got=shown(value))
    return value


def list_at(value: object, what: str, where: str) -> list[Any]:
    """A JSON array; null is none."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError(f"{what} must be a list", where=where, got=shown(value))
    return value


def first_of(record: dict[str, Any], names: Iterable[str]) -> Any:
    """The value under the first of these names that is there and not null."""
    for name in names:
        if record.get(name) is not None:
            return record[name]
    return None


def mark_of(
    text: str, start: object, end: object, label: object, notes: Notes, where: str
) -> Mark | None:
    """A mark, if it is one; noted where it is outside the text, empty or without a label."""
    a, b, name = whole_of(start), whole_of(end), name_of(label)
    if a is None or b is None:
        notes.left_out("mark without offsets", where)
    elif name is None:
        notes.left_out("mark without a label", where)
    elif a == b and 0 <= a <= len(text):
        notes.left_out("zero-width mark", where)
    elif not 0 <= a < b <= len(text):
        notes.left_out("mark outside the text", where)
    else:
        return Mark(a, b, name)
    return None
