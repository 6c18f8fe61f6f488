"""Whether a dotted name leads to something."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import get_type_hints

import seqtruth as st
from seqtruth.errors import MissingExtraError


@cache
def modules() -> tuple[str, ...]:
    """Full names of all modules."""
    inside = (found.name for found in pkgutil.walk_packages(st.__path__, "seqtruth."))
    return ("seqtruth", *(name for name in inside if not name.endswith("__main__")))


def of_module(dotted: str) -> ModuleType | None:
    """The module of this name; None where there is none, or where an extra it needs is missing."""
    try:
        return importlib.import_module(dotted)
    except (ModuleNotFoundError, MissingExtraError):
        return None


def needs_extra(dotted: str) -> bool:
    """Whether the name is in a module that is there and cannot be imported for want of an extra."""
    words = dotted.split(".")
    for n in range(len(words), 1, -1):
        module = ".".join(words[:n])
        try:
            there = importlib.util.find_spec(module) is not None
        except (ModuleNotFoundError, MissingExtraError):
            continue
        if there:
            return of_module(module) is None
    return False


def has(owner: object, names: list[str]) -> bool:
    """Whether these names lead on from an object, fields without a default included."""
    for name in names:
        if not hasattr(owner, name) and name not in _fields(owner):
            return False
        owner = getattr(owner, name, _fields(owner).get(name))
    return True


def _fields(owner: object) -> dict[str, object]:
    """Annotated fields of a class, with their types where these can be told."""
    if not isinstance(owner, type):
        return {}
    try:
        return get_type_hints(owner)
    except NameError:  # a type that is imported for type checking only
        return {
            name: None for kind in owner.__mro__ for name in vars(kind).get("__annotations__", ())
        }


def resolves(dotted: str) -> bool:
    """Whether a name that starts with a module's leads to something."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        if (found := of_module(".".join(parts[:cut]))) is not None:
            return has(found, parts[cut:])
    return False


def classes(module: ModuleType) -> Iterator[type]:
    """Classes that a module defines."""
    for found in vars(module).values():
        if isinstance(found, type) and found.__module__ == module.__name__:
            yield found
