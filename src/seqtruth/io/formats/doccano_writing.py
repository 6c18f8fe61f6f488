"""What doccano imports: a JSONL file, or a zip of one for each annotator."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from seqtruth.atomic import atomic_path
from seqtruth.errors import ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.files import write_chunks
from seqtruth.io.formats.file_names import file_name
from seqtruth.io.formats.plain_marks import contiguous, note_borders, note_score_and_time
from seqtruth.io.json_records import json_line

WRITE_OPTIONS = {
    "annotator": "whose marks to write, where there are several and the name does not end in .zip",
    "shape": "'label' (default, what doccano imports), 'labels', or 'annotations': the old shape, in which"
    " one file holds several annotators and 'marked nothing' cannot be said",
}
#: Zip files know no earlier time; the same documents give the same bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_BUFFER = 1 << 20


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    for name in options:
        if name not in WRITE_OPTIONS:
            raise ParameterError(
                f"doccano files have no option {name!r}", fix=f"one of {', '.join(WRITE_OPTIONS)}"
            )
    shape = str(options.get("shape") or "label")
    if shape not in ("label", "labels", "annotations"):
        raise ParameterError("shape must be 'label', 'labels' or 'annotations'", got=repr(shape))
    if shape == "annotations":
        write_chunks(path, (_old_line(document, notes) for document in documents))
    elif path.suffix.lower() == ".zip":
        with atomic_path(path) as temporary, tempfile.TemporaryDirectory() as folder:
            _write_zip(_by_annotator(documents, notes, shape), temporary, Path(folder))
    else:
        only = None if options.get("annotator") is None else str(options["annotator"])
        write_chunks(path, _lines(documents, only, path, notes, shape))


def _lines(
    documents: Iterable[Document], only: str | None, path: Path, notes: Notes, shape: str
) -> Iterator[bytes]:
    """One line a document; nobody's where it has no opinion."""
    for document in documents:
        note_borders(document, notes)
        chosen = [one for one in document.opinions if only is None or one.annotator == only]
        names = {opinion.annotator for opinion in chosen}
        only = next(iter(names)) if only is None and len(names) == 1 else only
        if len(names) > 1 or (names and names != {only}):
            raise ParameterError(
                "several annotators in one doccano file", where=str(path),
                got=", ".join(sorted(map(repr, names | ({only} if only else set())))[:5]),
                fix="write a .zip, which has a file for each, or choose one with annotator=",
            )  # fmt: skip
        yield _line(document, chosen[-1] if chosen else None, notes, shape)


def _by_annotator(
    documents: Iterable[Document], notes: Notes, shape: str
) -> Iterator[tuple[str, bytes]]:
    for document in documents:
        note_borders(document, notes)
        last = {opinion.annotator: opinion for opinion in document.opinions}
        for name, opinion in last.items():
            yield name, _line(document, opinion, notes, shape)
        if not last:
            notes.left_out("document without opinions", document.where or document.id)


def _line(document: Document, opinion: Opinion | None, notes: Notes, shape: str) -> bytes:
    further = (document.source or {}).get("doccano")
    record: dict[str, Any] = {"id": _number(document.id), "text": document.text}
    record = {**(further if isinstance(further, dict) else {}), **record}
    if opinion is not None:
        record[shape] = [
            [mark.start, mark.end, mark.label] for mark in _marks(document, opinion, notes)
        ]
    if document.remarks:  # doccano keeps further columns as metadata
        record["review"] = "; ".join(document.remarks)
    return json_line(record)


def _old_line(document: Document, notes: Notes) -> bytes:
    note_borders(document, notes)
    annotations = []
    for opinion in {one.annotator: one for one in document.opinions}.values():
        if not opinion.marks:
            notes.left_out("opinion without marks", document.where or document.id)
        for mark in _marks(document, opinion, notes):
            span = {"label": mark.label, "start_offset": mark.start, "end_offset": mark.end}
            annotations.append({**span, "user": opinion.annotator})
    record = {"id": _number(document.id), "text": document.text, "annotations": annotations}
    return json_line(record)


def _marks(document: Document, opinion: Opinion, notes: Notes) -> Iterator[Mark]:
    where = document.where or document.id
    if opinion.role != "annotator":
        notes.left_out(f"role of an opinion ({opinion.role})", where)
    if opinion.score is not None or any(mark.score is not None for mark in opinion.marks):
        notes.left_out("scores of an opinion", where)
    note_score_and_time(opinion, notes, where, score=False)
    return contiguous(opinion, notes, where)


def _number(name: str) -> int | str:
    """doccano's own ids are numbers."""
    plain = name.isascii() and name.isdigit() and len(name) < 18 and str(int(name)) == name
    return int(name) if plain else name


def _write_zip(lines: Iterable[tuple[str, bytes]], target: Path, folder: Path) -> None:
    """Lines go to a file for each annotator first, as an archive takes one file after the other."""
    waiting: dict[str, list[bytes]] = {}
    size = 0
    for name, line in lines:
        waiting.setdefault(name, []).append(line)
        size += len(line)
        if size > _BUFFER:
            _append(waiting, folder)
            size = 0
    _append(waiting, folder)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, name in sorted(enumerate(waiting), key=lambda pair: pair[1]):
            info = zipfile.ZipInfo(f"{file_name(name)}.jsonl", _NO_TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            with open(folder / str(number), "rb") as source, archive.open(info, "w") as member:
                shutil.copyfileobj(source, member, _BUFFER)


def _append(waiting: dict[str, list[bytes]], folder: Path) -> None:
    for number, lines in enumerate(waiting.values()):
        with open(folder / str(number), "ab") as file:
            file.writelines(lines)
        lines.clear()
