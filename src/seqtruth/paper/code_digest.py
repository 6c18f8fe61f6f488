"""A digest of the code a method runs on, so that labels made by other code are not taken for its own."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import seqtruth

_HOME = Path(seqtruth.__file__).parent
#: Rooms that labels do not depend on.
_OUTSIDE = ("cli", "testing", "datasets", "io", "metrics", "report", "paper", "simulation")


def code_digest(*modules: str) -> str:
    """SHA-256 over ``modules`` and everything of this package that they import.

    Comments, docstrings and layout do not count.
    """
    seen: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in seen and _file(name) is not None:
            seen.add(name)
            waiting += _code(name)[1]
    parts = [f"{name} {_code(name)[0]}" for name in sorted(seen)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def _code(name: str) -> tuple[str, tuple[str, ...]]:
    """Digest of a module's code, and the modules it imports."""
    path = _file(name)
    assert path is not None
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = tuple(_imports(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imported


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{one.name}" for one in node.names]
            inner = [name for name in names if _file(name) is not None]
            yield from inner
            if len(inner) < len(names):
                yield node.module


def _file(name: str) -> Path | None:
    """Where a module of ours that matters lies; a package's own file only gathers names."""
    first, *rest = name.split(".")
    if first != "seqtruth" or not rest or rest[0] in _OUTSIDE:
        return None
    path = _HOME.joinpath(*rest).with_suffix(".py")
    return path if path.is_file() else None
