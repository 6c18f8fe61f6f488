"""``--config run.toml``: a command's options from a file, for jobs that run again and again.

Keys are the names of the long options (and ``annotations``, for the files to read); the table
``[settings]`` holds settings of the method. What is said on the command line wins.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from seqtruth.errors import InputError

_KEPT = "seqtruth.config"


def _read(context: typer.Context, path: Path | None) -> Path | None:
    """Take the file's values as the defaults of this command."""
    if path is None or context.resilient_parsing:
        return path
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("cannot read the file", where=str(path), got=error.strerror) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("this is not TOML", where=str(path), got=str(error)) from None
    context.meta[_KEPT] = found
    names = _names(context)
    unknown = [key for key in found if key not in names and key != "settings"]
    if unknown:
        raise InputError(
            "the command has no such option", where=str(path), got=repr(unknown[0]),
            fix=f"it has {', '.join(names)} and the table [settings]",
        )  # fmt: skip
    if not isinstance(found.get("settings", {}), dict):
        raise InputError("settings must be a table", where=str(path), fix="write [settings]")
    many = {
        p.name for p in context.command.params if p.nargs == -1 or getattr(p, "multiple", False)
    }
    context.default_map = {
        names[key]: [value] if names[key] in many and isinstance(value, str) else value
        for key, value in found.items()
        if key != "settings"
    }
    return path


def _names(context: typer.Context) -> dict[str, str]:
    """Keys of a file, and the parameters that they stand for."""
    names = {}
    for parameter in context.command.params:
        long = [one[2:] for one in parameter.opts if one.startswith("--")] or [parameter.name]
        if long[0] not in ("config", "help", "set"):
            names[str(long[0])] = str(parameter.name)
    return names


def config_of(context: typer.Context) -> dict[str, Any] | None:
    """What the file said, for the provenance; None where there was none."""
    return context.meta.get(_KEPT)


def settings_of(context: typer.Context, pairs: list[str]) -> dict[str, Any]:
    """Settings of the method: the file's, and over them those of the command line."""
    from seqtruth.methods.choice import parse_pairs

    return {**(config_of(context) or {}).get("settings", {}), **parse_pairs(pairs)}


Config = Annotated[
    Path | None,
    typer.Option(
        "--config", is_eager=True, callback=_read, help="Options from a TOML file; those given here win."
    ),
]  # fmt: skip
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", help="A setting of the method, such as folds=3; again for more."),
]
