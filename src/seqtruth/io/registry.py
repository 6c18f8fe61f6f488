"""All formats by name, and which of them a file has."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.format import DocumentFormat, Format, Glimpse, Unit
from seqtruth.io.formats import OF_SENTENCES, TOOLS
from seqtruth.io.own_formats import OWN
from seqtruth.io.unrecognised import unrecognised
from seqtruth.plugins import Registry

#: Below this no format is believed.
LEAST = 0.05


def _tools() -> list[DocumentFormat]:
    found: list[DocumentFormat] = []
    for name in TOOLS:
        module = importlib.import_module(f"seqtruth.io.formats.{name}")
        here = getattr(module, "FORMATS", None) or (module.FORMAT,)
        unit: Unit = "sentence" if name in OF_SENTENCES else "document"
        found += [replace(one, unit=unit) for one in here]
    return found


def _ours() -> list[Format]:
    return [*OWN, *_tools()]


#: Every format by the word for ``format=``: ours, and those of packages with the entry point
#: ``seqtruth.formats``.
FORMATS: Registry[Format] = Registry(
    "seqtruth.formats",
    "format",
    {found.name: found for found in _ours()},
    ("name", "title", "tell", "read"),
)


def known_format(name: str) -> Format:
    """The format of this name."""
    try:
        return FORMATS[name]
    except KeyError:
        known = ", ".join(FORMATS)
        raise ParameterError(f"format must be one of {known}", got=repr(name)) from None


def find_format(path: Path) -> Format:
    """The format of a file or folder, by its content and, where that leaves a doubt, by its name."""
    if not path.exists():
        raise InputError("cannot read the file", where=str(path), got="No such file or directory")
    glimpse = Glimpse(path)
    try:
        scores = [(found.tell(glimpse), found) for found in FORMATS.values()]
    except OSError as error:
        raise InputError(
            "cannot read the file", where=str(path), got=error.strerror or type(error).__name__
        ) from None
    # of equals the first one, and ours stand first
    sure, best = max(scores, key=lambda pair: pair[0])
    if sure >= LEAST:
        return best
    raise unrecognised(glimpse, lambda: ", ".join(FORMATS))


def format_by_name(path: Path) -> Format | None:
    """The format that a name's ending suggests for writing; the longest ending counts."""
    name = path.name.lower().removesuffix(".gz")
    fitting = [
        (len(suffix), -place, found)
        for place, found in enumerate(FORMATS.values())
        for suffix in found.suffixes
        if name.endswith(suffix) and found.write is not None
    ]
    return max(fitting, key=lambda entry: entry[:2])[2] if fitting else None
