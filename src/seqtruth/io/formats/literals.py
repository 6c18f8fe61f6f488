"""Lists in a table's cell: JSON, or what Python prints, read without running anything."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from seqtruth.errors import InputError
from seqtruth.io.formats.checked_values import shown
from seqtruth.io.json_records import parse_json

#: Python's own parser takes some hundred bytes a character; JSON does not.
MAX_PRINTED = 1 << 18
_DEEP = 50
_JOINED = re.compile(r"""['"]\s+['"]""")


def literal(cell: str, where: str) -> Any:
    """The value that a cell spells.

    >>> literal("[{'a': True, 'b': (1, None)}]", "")
    [{'a': True, 'b': [1, None]}]
    """
    try:
        return parse_json(cell)
    except (ValueError, RecursionError):
        pass
    try:
        _check(cell)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd backslashes
            return _as_json(ast.literal_eval(cell.strip()), 0)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise InputError(
            "the cell is neither JSON nor a printed Python list", where=where, got=shown(cell),
            fix=str(error)[:60] or None,
        ) from None  # fmt: skip


def _check(cell: str) -> None:
    if len(cell) > MAX_PRINTED:
        raise ValueError("too long to be read as Python; write it as JSON")
    deep = most = 0
    for sign in re.findall(r"[\[\](){}]", cell):
        deep += 1 if sign in "[({" else -1
        most = max(most, deep)
    if most > _DEEP or "-" * _DEEP in cell or "+" * _DEEP in cell or "~" in cell[:1]:
        raise ValueError("nested too deeply")
    if "array(" in cell or (_JOINED.search(cell) and not re.search(r"""['"]\s*,""", cell)):
        raise ValueError(
            "a printed NumPy array has no commas; save lists, or write Parquet or JSON"
        )


def _as_json(value: Any, depth: int) -> Any:
    if depth > _DEEP:
        raise ValueError("nested too deeply")
    if isinstance(value, list | tuple):
        return [_as_json(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {str(key): _as_json(one, depth + 1) for key, one in value.items()}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError(f"{type(value).__name__} has no place in a list of labels")
