"""``results.json``: what was measured and by which code, so that a run goes on where it was stopped."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
SOURCES = HERE.parent / "src" / "seqtruth"


def load() -> dict[str, Any]:
    return dict(json.loads(RESULTS.read_text())) if RESULTS.exists() else {}


def keep(results: dict[str, Any]) -> None:
    """After every measurement, so that a run that was stopped has something to show."""
    partial = RESULTS.with_suffix(".partial")
    partial.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    os.replace(partial, RESULTS)


def code() -> str:
    """A short digest of the library's sources: what the same code measured may be kept."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*")):
        if path.suffix in (".py", ".hpp", ".cpp"):
            digest.update(path.relative_to(SOURCES).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def load_now() -> float | None:
    """The machine's load of the last minute."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def begin(results: dict[str, Any], options: dict[str, Any]) -> bool:
    """Whether these results are of a run with these options that was stopped and now goes on.

    A new run is noted as running; what it measured is in ``running["done"]``, by name.
    """
    wanted = json.loads(json.dumps({**options, "code": code()}))
    running = results.get("running")
    if running is not None and {**running, "done": None} == {**wanted, "done": None}:
        return True
    results["running"] = {**wanted, "done": []}
    return False


def is_done(results: dict[str, Any], name: str) -> bool:
    return name in results["running"]["done"]


def done(results: dict[str, Any], name: str) -> None:
    """Note that a part of the run is measured."""
    results["running"]["done"].append(name)
    keep(results)
