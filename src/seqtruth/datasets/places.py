"""Where data sets lie: a folder the user names, ``SEQTRUTH_DATA``, or the user's cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from seqtruth.errors import InputError


def cache_dir() -> Path:
    """The user's cache folder for SeqTruth.

    ``SEQTRUTH_CACHE``, or else ``seqtruth`` in the system's place for such things:
    ``XDG_CACHE_HOME`` (``~/.cache``), ``~/Library/Caches`` or ``%LOCALAPPDATA%``.
    """
    own = os.environ.get("SEQTRUTH_CACHE")
    if own:
        return Path(own).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # the rule of that variable: a relative path is ignored
            base = "~/.cache"
    return Path(base).expanduser() / "seqtruth"


def own_root() -> Path:
    """Where ``seqtruth datasets get`` puts data sets when no folder is named."""
    return cache_dir() / "datasets"


def candidates(data_dir: str | Path | None) -> list[Path]:
    """Folders that may hold data sets, in the order they are looked at."""
    if data_dir is not None:
        return [Path(data_dir).expanduser()]
    named = os.environ.get("SEQTRUTH_DATA")
    return ([Path(named).expanduser()] if named else []) + [own_root()]


def find(name: str, data_dir: str | Path | None = None) -> Path | None:
    """The first folder that holds ``name``, or None."""
    return next((root for root in candidates(data_dir) if (root / name).is_dir()), None)


def need(name: str, data_dir: str | Path | None = None) -> Path:
    """As :func:`find`, but it is an error if there is none."""
    found = find(name, data_dir)
    if found is None:
        looked = ", ".join(str(root / name) for root in candidates(data_dir))
        get = f"seqtruth datasets get {name}"
        if data_dir is not None:
            get = f"seqtruth datasets get {name} --data-dir {data_dir}"
        raise InputError(
            f"the data set {name!r} is not here",
            got=f"no folder {looked}",
            fix=f"{get}, or name its folder with data_dir= or SEQTRUTH_DATA",
        )
    return found
