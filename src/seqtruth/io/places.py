"""Which files are meant: one, several, a pattern, a folder of them, or standard input."""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from seqtruth.errors import InputError, ParameterError

#: What names files: a path or pattern, or several; ``-`` is standard input.
Places = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
STDIN = "-"


def is_place(source: object) -> bool:
    """Whether this names files (and is no frame)."""
    if isinstance(source, str | os.PathLike):
        return True
    return isinstance(source, list | tuple) and all(
        isinstance(one, str | os.PathLike) for one in source
    )


@contextmanager
def opened(source: Places) -> Iterator[list[Path]]:
    """The paths, in the order given, patterns spelled out; standard input is kept in a file meanwhile.

    Examples
    --------
    >>> with opened(["a.json", "b.json"]) as paths:
    ...     [path.name for path in paths]
    ['a.json', 'b.json']
    """
    names = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not names:
        raise ParameterError("no files to read")
    paths: list[Path] = []
    with ExitStack() as stack:
        for name in names:
            text = os.fspath(name)
            if text == STDIN:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="seqtruth-"))
                paths.append(_standard_input(Path(folder)))
            else:
                paths += _spelled_out(text)
        yield paths


def _spelled_out(text: str) -> list[Path]:
    try:
        if os.path.lexists(text) or not glob.has_magic(text):
            return [Path(text)]
    except ValueError as error:  # a NUL byte in the name
        raise InputError("not a file name", got=repr(text), fix=str(error)) from None
    found = sorted(Path(name) for name in glob.glob(text, recursive=True))
    if not found:
        raise InputError("no file fits the pattern", where=text)
    return found


def _standard_input(folder: Path) -> Path:
    path = folder / "standard input"
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def members(folder: Path) -> list[Path]:
    """The files of a folder that is no format of its own, hidden ones left out."""
    found = sorted(
        path for path in folder.iterdir() if path.is_file() and path.name[:1] not in "._"
    )
    if not found:
        raise InputError("the folder has no files", where=str(folder))
    return found
