"""One JSON value from bytes and back: by orjson, or slower by the standard library where it is missing."""

from __future__ import annotations

import importlib
import json
from typing import Any

orjson: Any
try:
    orjson = importlib.import_module("orjson")
except ImportError:  # a dependency; where there is no wheel of it we are slow, not broken
    orjson = None


def loads(data: bytes | memoryview | str) -> Any:
    """A value by the letter of the standard; anything else is :class:`json.JSONDecodeError`."""
    if orjson is not None:
        return orjson.loads(data)
    text = data if isinstance(data, str) else bytes(data)
    try:
        value = json.loads(text, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is not text
        return value
    except UnicodeError as error:
        raise json.JSONDecodeError(str(error)[:80], "", 0) from None
    except RecursionError:
        raise json.JSONDecodeError("the depth of nesting is beyond the limit", "", 0) from None


def _no_constant(name: str) -> Any:
    raise json.JSONDecodeError(f"{name} is not JSON", "", 0)


def line(value: Any) -> bytes:
    """A value as one line of JSON, with line end."""
    if orjson is not None:
        try:
            return bytes(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))
        except orjson.JSONEncodeError:  # numbers beyond 64 bits, halves of surrogate pairs
            pass
    else:
        try:
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
            return text.encode() + b"\n"
        except ValueError:
            pass
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
