"""Which files are to be read, and as what: every path with its format, folders and archives looked into."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from seqtruth.errors import DataWarning, InputError
from seqtruth.io.documents import Notes
from seqtruth.io.format import CrowdFormat, Format, Glimpse
from seqtruth.io.formats.file_names import told_apart
from seqtruth.io.own_formats import suffix_of
from seqtruth.io.places import Places, members, opened
from seqtruth.io.registry import find_format, known_format
from seqtruth.io.tree import Tree


@dataclass
class Plan:
    """Files with their formats, in order.

    Parameters
    ----------
    entries : each path with its format.
    archives : places in archives, by the names of the folders in which their files stand meanwhile.
    """

    entries: list[tuple[Path, Format]] = field(default_factory=list)
    archives: dict[str, str] = field(default_factory=dict)

    def told(self, text: str) -> str:
        """A place as the user knows it."""
        for folder, archive in self.archives.items():
            text = text.replace(folder, archive)
        return text

    def place(self, path: Path) -> Path:
        """Where a file is, as the user knows it."""
        return Path(self.told(str(path.absolute())))

    def owners(self) -> dict[Path, str]:
        """Whose each file is: by its name, or, as ``ann/all.jsonl`` and ``bob/all.jsonl``, by its folder."""
        places = {path: self.place(path) for path, _ in self.entries}
        names = told_apart(places.values())
        return {path: names.get(place, place.stem) for path, place in places.items()}

    def tell(self, notes: Notes) -> None:
        """Put the user's places into notes."""
        if self.archives:
            notes.first = {what: self.told(where) for what, where in notes.first.items()}


@contextmanager
def planned(source: Places, format: str | None) -> Iterator[Plan]:
    """The plan for files, patterns, folders or standard input; an archive's members exist meanwhile."""
    with opened(source) as paths, ExitStack() as stack:
        plan = Plan()
        try:
            for path in paths:
                _add(plan, path, format, stack)
            yield plan
        except InputError as error:
            if not plan.archives or error.where is None:
                raise
            where = plan.told(error.where)
            raise InputError(error.what, where=where, got=error.got, fix=error.fix) from None


def _add(plan: Plan, path: Path, format: str | None, stack: ExitStack) -> None:
    if format is not None:
        found = known_format(format)
        many = path.is_dir() and isinstance(found, CrowdFormat) and found.name != "conll-folder"
        plan.entries += [(one, found) for one in (members(path) if many else [path])]
    elif path.is_dir() and (inside := _file_kinds(path)):
        plan.entries += inside
    else:
        try:
            plan.entries.append((path, find_format(path)))
        except InputError:
            if not path.is_file() or (tree := Glimpse(path).tree) is None:
                raise
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="seqtruth-"))
            inside = _archive_kinds(tree, Path(folder), plan.archives)
            if not inside:
                raise
            plan.entries += inside


def _file_kinds(folder: Path) -> list[tuple[Path, Format]]:
    """The files of a folder full of files of one format; nothing where the folder is a format of its own."""
    if find_format(folder).name != "conll-folder":
        return []
    names = [path for path in folder.iterdir() if path.is_file() and path.name[:1] not in "._"]
    if not names:  # folders in it, such as one for each annotator
        return _of_one_kind({name: folder / name for name in Tree(folder)}, folder)
    endings = {suffix_of(path) for path in names}
    if endings & {".conll", ".txt", ".bio", ".iob", ".iob2", ".bioes", ".bilou"}:
        return []
    return [(path, find_format(path)) for path in sorted(names)]


def _archive_kinds(tree: Tree, place: Path, archives: dict[str, str]) -> list[tuple[Path, Format]]:
    """The members of an archive that is no format of its own, as far as they are of one format."""
    files = {}
    for number, name in enumerate(tree):
        archives[str(place / str(number))] = str((tree.path / name).parent)
        files[name] = _unpacked(tree, name, place / str(number))
    return _of_one_kind(files, tree.path)


def _of_one_kind(files: dict[str, Path], where: Path) -> list[tuple[Path, Format]]:
    """Files, by their names in ``where``, with their format, where they have only one; those of none are left
    out with a warning."""
    found: list[tuple[Path, Format]] = []
    other: list[str] = []
    for name, file in files.items():
        try:
            found.append((file, find_format(file)))
        except InputError:
            other.append(name)
    if len({kind.name for _, kind in found}) != 1:
        return []
    if other:
        warnings.warn(
            f"{where}: left out, as not recognised: {', '.join(other[:5])}{' …' if other[5:] else ''}",
            DataWarning, stacklevel=2,
        )  # fmt: skip
    return found


def _unpacked(tree: Tree, name: str, folder: Path) -> Path:
    """A member as a file of a folder of its own, under the last part of its name."""
    folder.mkdir(parents=True)
    target = folder / (os.path.basename(PurePosixPath(name.replace("\\", "/")).name) or "file")
    with open(target, "wb") as file:
        file.writelines(tree.chunks(name))
    return target
