"""Whether a data set is still what it was, and whether it is what our figures were made with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seqtruth.datasets import places
from seqtruth.datasets.download import digest
from seqtruth.datasets.prepare import manifest, recipe
from seqtruth.datasets.tables import content_digest
from seqtruth.errors import InputError


@dataclass(frozen=True)
class Check:
    """One file: ``ok``, ``changed``, ``missing`` or ``damaged`` against what is expected of it.

    reference : whether a table is the one our figures were made with; None for sources.
    """

    file: str
    status: str
    expected: str
    got: str
    reference: bool | None = None


def verify(name: str, data_dir: str | Path | None = None) -> list[Check]:
    """Compute every digest anew.

    A data set that ``get`` made is held against its manifest, its sources included; ready tables
    from elsewhere against the digests of the copy our figures were made with.
    """
    reference = recipe(name).reference
    root = places.need(name, data_dir)
    known = manifest(root / name)
    if known is None:
        return [
            _table(root / name, file, expected, expected) for file, expected in reference.items()
        ]
    checks = [
        _table(root / name, file, fields["sha256"], reference.get(file))
        for file, fields in known["tables"].items()
    ]
    for file, fields in known.get("sources", {}).items():
        path = root / "raw" / name / file
        if path.is_file():  # sources may be thrown away once they are converted
            got = digest(path)
            checks.append(
                Check(f"raw/{file}", _status(got, fields["sha256"]), fields["sha256"], got)
            )
    return checks


def _table(folder: Path, file: str, expected: str, reference: str | None) -> Check:
    if not (folder / file).is_file():
        return Check(file, "missing", expected, "")
    try:
        got = content_digest(folder / file)
    except InputError:
        return Check(file, "damaged", expected, "")
    return Check(file, _status(got, expected), expected, got, got == reference)


def _status(got: str, expected: str) -> str:
    return "ok" if got == expected else "changed"
