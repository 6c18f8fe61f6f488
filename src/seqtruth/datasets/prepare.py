"""Fetching and converting a data set into a folder that is complete or absent."""

from __future__ import annotations

import json
import logging
import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seqtruth.atomic import atomic_path
from seqtruth.datasets import convert_ner, convert_pico, places
from seqtruth.datasets.catalogue import RECIPES, Download, Recipe
from seqtruth.datasets.download import (
    PATIENCE,
    Patience,
    Receipt,
    digest,
    fetch,
    forget,
    keep_receipt,
    receipts,
    today,
)
from seqtruth.datasets.tables import Table, write_table
from seqtruth.errors import DataWarning, InputError, ParameterError

_log = logging.getLogger(__name__)
#: Changes when the converters would make other tables from the same sources.
CONVERTER = 1
MANIFEST = "manifest.json"
_CONVERTERS: dict[str, Callable[[Mapping[str, Path]], dict[str, Table]]] = {
    "ner": convert_ner.convert,
    "pico": convert_pico.convert,
}


class ChangedSourceError(InputError):
    """A source is not the one that was fetched first."""


def recipe(name: str) -> Recipe:
    """The recipe of a data set that can be fetched."""
    if name not in RECIPES:
        raise ParameterError(
            f"only {', '.join(RECIPES)} can be fetched and verified", got=repr(name),
            fix="seqtruth datasets list shows them all",
        )  # fmt: skip
    return RECIPES[name]


def get(
    name: str,
    data_dir: str | Path | None = None,
    *,
    mirror: str | None = None,
    given: str | Path | None = None,
    force: bool = False,
    patience: Patience = PATIENCE,
) -> dict[str, Any]:
    """Fetch and convert a data set; returns its manifest. What is there already is left alone.

    Parameters
    ----------
    data_dir : where to put it (default: the user's cache).
    mirror : an address tried before the public ones, as ``mirror/name/file``.
    given : folder with sources that were fetched by hand, under the names they are kept by.
    force : convert again, and fetch again what is not as it was.
    """
    plan = recipe(name)
    root = places.own_root() if data_dir is None else Path(data_dir).expanduser()
    if not force and (known := manifest(root / name)) and known.get("converter") == CONVERTER:
        return known
    _check_ours(root / name)
    raw = root / "raw" / name
    trusted = set(receipts(raw))
    files: dict[str, Path] = {}
    notes: list[str] = []
    for source in plan.sources:
        try:
            files[source.file] = _obtain(source, raw, name, mirror, given, patience)
        except InputError as error:
            if not source.without or isinstance(error, ChangedSourceError):
                raise
            _go_without(source, error, name, notes)
    _log.info("converting")
    tables = None
    while tables is None:
        try:
            tables = _CONVERTERS[name](files)
        except InputError as error:
            bad = [one for one in plan.sources if error.where == str(files.get(one.file))]
            # A page that says sorry is no first use: what was fetched just now is not kept.
            forget(raw, ({one.file for one in bad} or set(files)) - trusted)
            if not bad or not bad[0].without:
                raise
            _go_without(bad[0], error, name, notes)
            del files[bad[0].file]
    fetched = receipts(raw)
    found = {
        "format": "seqtruth-dataset",
        "dataset": name,
        "converter": CONVERTER,
        "sources": {file: asdict(fetched[file]) for file in files},
        "notes": notes,
    }
    _write(root / name, found, tables)
    return found


def _go_without(source: Download, error: InputError, name: str, notes: list[str]) -> None:
    notes.append(f"without {source.without}: {error}")
    warnings.warn(f"{name}: {notes[-1]}", DataWarning, stacklevel=3)


def _check_ours(folder: Path) -> None:
    """Raise where a folder holds what we did not make: it would be replaced."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise InputError(
            "the folder holds files that were not made by this command", where=str(folder),
            fix="name another folder with data_dir=; ready tables are used as they are, and can be verified",
        )  # fmt: skip


def manifest(folder: Path) -> dict[str, Any] | None:
    """What was written about a converted data set; None where it was not made by us."""
    try:
        found = json.loads((folder / MANIFEST).read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(
            "the manifest cannot be read", where=str(folder / MANIFEST), got=str(error),
            fix=f"seqtruth datasets get {folder.name} --force",
        ) from None  # fmt: skip
    return found if isinstance(found, dict) and isinstance(found.get("tables"), dict) else None


def _obtain(
    source: Download,
    raw: Path,
    name: str,
    mirror: str | None,
    given: str | Path | None,
    patience: Patience,
) -> Path:
    """A source's file: as fetched before, from the user's folder, or from the network."""
    target = raw / source.file
    before = receipts(raw).get(source.file)
    if target.is_file() and before is not None and digest(target) == before.sha256:
        return target
    if given is not None and (own := Path(given).expanduser() / source.file).is_file():
        receipt = _copy(own, target)
    else:
        urls = source.urls
        if mirror is not None:
            urls = (f"{mirror.rstrip('/')}/{name}/{source.file}", *urls)
        receipt = fetch(urls, target, source.sha256, source.limit, patience)
    if before is not None and before.sha256 != receipt.sha256:
        target.unlink()
        raise ChangedSourceError(
            f"{source.file} is not what was fetched first, on {before.fetched}",
            where=receipt.url, got=f"SHA-256 {receipt.sha256}, expected {before.sha256}",
            fix=f"remove {raw / 'receipts.json'} if the change is meant",
        )  # fmt: skip
    keep_receipt(raw, source.file, receipt)
    return target


def _copy(own: Path, target: Path) -> Receipt:
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(target) as temporary:
        shutil.copyfile(own, temporary)
    return Receipt(f"given as {own}", "", target.stat().st_size, digest(target), today())


def _write(folder: Path, found: dict[str, Any], tables: Mapping[str, Table]) -> None:
    """All tables and the manifest, in place of what was there before."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(folder) as temporary:
        temporary.mkdir()
        found["tables"] = {
            file: {"sha256": write_table(temporary / file, table), "rows": len(table.rows)}
            for file, table in tables.items()
        }
        (temporary / MANIFEST).write_text(json.dumps(found, indent=1, sort_keys=True), "utf-8")
        if folder.exists():
            shutil.rmtree(folder)
