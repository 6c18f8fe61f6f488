"""Leaving files and folders behind whole or not at all, alone or several together."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import islice
from pathlib import Path

from seqtruth.errors import InputError

#: What is written is at ``.NAME.HOST-PID-RANDOM.tmp`` until it is whole.
_TEMPORARY = re.compile(r"\..*\.([0-9a-f]{8})-(\d+)-[0-9a-f]{12}\.tmp", re.DOTALL)
#: Seconds after which what another machine left behind is taken for dead.
_LONG_AGO = 7 * 24 * 3600
#: Entries of a folder that are looked at for what killed runs left behind.
_LOOKED_AT = 10_000
#: What waits to take its place, inside :func:`together`.
_WAITING: ContextVar[list[tuple[Path, Path]] | None] = ContextVar("_WAITING", default=None)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends well.

    The block may make a file or a folder there. When it fails, nothing is left behind and what
    stood at ``path`` is untouched. A file keeps the mode of the one whose place it takes. A folder can
    only take the place of nothing or of an empty folder. Devices such as ``/dev/stdout`` are written
    directly. What a run that was killed left beside ``path`` is removed.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "out.txt"
    >>> with atomic_path(target) as temporary:
    ...     _ = temporary.write_text("whole or not at all")
    >>> [found.name for found in target.parent.iterdir()]
    ['out.txt']
    """
    given = Path(path)  # the real path of a pipe is none that can be opened
    if given.exists() and not given.is_file() and not given.is_dir():
        yield given
        return
    target = Path(os.path.realpath(path))
    mark = f"{_machine()}-{os.getpid()}-{secrets.token_hex(6)}"
    temporary = target.with_name(f".{target.name[:100]}.{mark}.tmp")
    try:
        _remove_dead(target.parent)
        _like(target, temporary)
        token = _WAITING.set(None)  # what the block writes on the way is there at once
        try:
            yield temporary
        finally:
            _WAITING.reset(token)
        _flush(temporary)
        waiting = _WAITING.get()
        if waiting is not None:
            waiting.append((temporary, target))
        else:
            _place(temporary, target)
    except BaseException as error:
        _remove(temporary)
        if isinstance(error, OSError):
            raise _cannot(path, target, error) from None
        raise


@contextmanager
def together() -> Iterator[None]:
    """Everything written by :func:`atomic_path` inside takes its place at the end: all of it, or nothing.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with contextlib.suppress(ZeroDivisionError), together():
    ...     with atomic_path(folder / "first") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     1 / 0
    >>> list(folder.iterdir())
    []
    """
    if _WAITING.get() is not None:  # part of a larger whole
        yield
        return
    waiting: list[tuple[Path, Path]] = []
    token = _WAITING.set(waiting)
    try:
        yield
        while waiting:
            temporary, target = waiting[0]
            try:
                _place(temporary, target)
            except OSError as error:
                raise _cannot(target, target, error) from None
            del waiting[0]
    finally:
        _WAITING.reset(token)
        for temporary, _ in waiting:
            _remove(temporary)


def _cannot(path: str | os.PathLike[str], target: Path, error: OSError) -> InputError:
    return InputError(
        "cannot write", where=str(path), got=error.strerror or type(error).__name__,
        fix=_remedy(target),
    )  # fmt: skip


def _like(target: Path, temporary: Path) -> None:
    """Make the temporary file with mode and owner of the file whose place it will take.

    Before anything is in it: what only its owner may read is at no time readable to others.
    """
    if not target.is_file():
        return
    before = target.stat()
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with contextlib.suppress(OSError, AttributeError):  # only the administrator may give files away
        os.chown(temporary, before.st_uid, before.st_gid)
    with contextlib.suppress(OSError):
        os.chmod(temporary, (before.st_mode & 0o777) | 0o200)


def _place(temporary: Path, target: Path) -> None:
    if target.is_file():
        with contextlib.suppress(OSError):
            shutil.copymode(target, temporary)
    os.replace(temporary, target)
    _sync(target.parent)


@cache
def _machine() -> str:
    """What tells processes with the same number apart: machine, start of the system, container."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with contextlib.suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:8]


def _remove_dead(folder: Path) -> None:
    """Remove what runs that were killed left in a folder."""
    try:
        with os.scandir(folder) as entries:
            found = [one for one in islice(entries, _LOOKED_AT) if one.name.endswith(".tmp")]
    except OSError:
        return  # it is not there, or not to be looked at: writing will say so
    for entry in found:
        match = _TEMPORARY.fullmatch(entry.name)
        if match is not None and _is_dead(match[1], int(match[2]), entry):
            with contextlib.suppress(OSError):
                _remove(Path(entry.path))


def _is_dead(machine: str, process: int, entry: os.DirEntry[str]) -> bool:
    if machine == _machine() and os.name == "posix":
        try:
            os.kill(process, 0)  # only asks
        except ProcessLookupError:
            return True
        except (OSError, OverflowError):  # somebody else's, alive
            return False
        return False
    with contextlib.suppress(OSError):
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > _LONG_AGO
    return False


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
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _remedy(target: Path) -> str | None:
    if not target.parent.is_dir():
        return f"make the folder {target.parent} first"
    if target.is_dir():
        return "the folder is there already: choose a new name, or empty it"
    return None
