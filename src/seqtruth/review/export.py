"""The labels, the decisions and the audit trail as files."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

from seqtruth.errors import DataWarning, ParameterError
from seqtruth.io import FORMATS, write
from seqtruth.review.desk import Desk

#: ``labels``: all sentences, decisions in them. ``decisions``: what people decided, as gold.
WHAT = ("labels", "decisions")


class Exported(NamedTuple):
    """A file to hand out, the folder to remove afterwards, and what the format could not carry."""

    path: Path
    folder: Path
    notes: list[str]


def writable() -> dict[str, str]:
    """Names and titles of the formats that can be written."""
    return {name: FORMATS[name].title for name in FORMATS if FORMATS[name].write is not None}


def export(desk: Desk, format: str, what: str = "labels") -> Exported:
    """Write a file of a format; a folder is packed into a zip.

    Parameters
    ----------
    desk : whose labels.
    format : a name in :data:`seqtruth.io.FORMATS`.
    what : one of :data:`WHAT`.
    """
    if format not in writable():
        raise ParameterError(f"a format is one of {', '.join(writable())}", got=repr(format))
    if what not in WHAT:
        raise ParameterError(f"one of {', '.join(WHAT)}", got=repr(what))
    source = desk.labels() if what == "labels" else desk.gold()
    suffix = next(iter(FORMATS[format].suffixes), "")
    folder = Path(tempfile.mkdtemp(prefix="seqtruth-export-"))
    target = folder / f"{what}{suffix}"
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", DataWarning)
            write(source, target, format)
        notes = [str(one.message) for one in said if issubclass(one.category, DataWarning)]
        if target.is_dir():
            packed = shutil.make_archive(str(folder / what), "zip", target)
            return Exported(Path(packed), folder, notes)
        return Exported(target, folder, notes)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
