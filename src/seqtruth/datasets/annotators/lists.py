"""Word lists of our own, in ``lists.txt``: a line ``# name`` opens one, commas part its entries."""

from __future__ import annotations

from functools import cache
from importlib import resources


def entries(name: str) -> tuple[str, ...]:
    """The entries of a list, as written."""
    return _lists()[name]


@cache
def words_of(name: str) -> frozenset[str]:
    """The entries of a list in lower case."""
    return frozenset(entry.lower() for entry in entries(name))


@cache
def _lists() -> dict[str, tuple[str, ...]]:
    text = resources.files(__package__).joinpath("lists.txt").read_text(encoding="utf-8")
    lists: dict[str, tuple[str, ...]] = {}
    for part in text.split("\n# ")[1:]:
        name, _, body = part.partition("\n")
        lists[name] = tuple(entry for line in body.splitlines() for entry in _split(line))
    return lists


def _split(line: str) -> list[str]:
    return [entry.strip() for entry in line.split(",") if entry.strip()]
