"""Leaving a file or folder behind whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seqtruth.errors import InputError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends well.

    The block may make a file or a folder there. When it fails, nothing is left behind and what
    stood at ``path`` is untouched. A folder can only take the place of nothing or of an empty
    folder. Devices such as ``/dev/stdout`` are written directly.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "out.txt"
    >>> with atomic_path(target) as temporary:
    ...     _ = temporary.write_text("whole or not at all")
    >>> [found.name for found in target.parent.iterdir()]
    ['out.txt']
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        yield target
        return
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        yield temporary
        _flush(temporary)
        os.replace(temporary, target)
        _sync(target.parent)
    except BaseException as error:
        _remove(temporary)
        if isinstance(error, OSError):
            raise InputError(
                "cannot write",
                where=str(path),
                got=error.strerror or type(error).__name__,
                fix=_remedy(target),
            ) from None
        raise


def _flush(path: Path) -> None:
    for part in path.iterdir() if path.is_dir() else [path]:
        _sync(part)


def _sync(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        if path.is_dir():  # some systems cannot open folders
            return
        raise
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():
            raise
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _remedy(target: Path) -> str | None:
    if not target.parent.is_dir():
        return f"make the folder {target.parent} first"
    if target.is_dir():
        return "the folder is there already: choose a new name, or empty it"
    return None
