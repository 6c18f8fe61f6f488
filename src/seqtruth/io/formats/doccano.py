"""doccano: sequence labelling and relation extraction, one JSON object a text.

An export is a zip with ``<user>.jsonl`` for each member of the project, or with ``all.jsonl`` of a
project that is annotated together; the name of the file is the only place where the annotator stands.
Read are the zip, the folder it unpacks to, and single files. A record holds ``text`` (also ``data``)
and the spans::

    "label": [[0, 4, "PER"]]                                     also under "labels"
    "entities": [{"id": 1, "label": "PER", "start_offset": 0, "end_offset": 4}]
    "annotations": [{"label": 12, "start_offset": 0, "end_offset": 4, "user": 1}]     before version 1.0

- The files of several users are joined by ``id``, or by text where there is none. Each lists every text
  unless only approved ones were exported; an empty list is taken as "saw it and marked nothing"
  (``empty="unseen"`` takes it as "never saw it"). A user with no mark in the whole export did not
  annotate and is left out, with a note.
- Old exports know labels by number; ``labels=`` names doccano's file of labels (``label_config.json``).
- Offsets are code points; with the project's grapheme mode they are clusters, which the file does not
  say: ``offsets="graphemes"``.

Left out and noted: relations, comments, labels of whole texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.checked_values import mark_of, name_of, shown, whole_of
from seqtruth.io.formats.doccano_writing import WRITE_OPTIONS, write
from seqtruth.io.formats.file_names import name_of as name_of_file
from seqtruth.io.formats.file_names import told_apart
from seqtruth.io.formats.gathered import Gathered
from seqtruth.io.formats.offsets import Converter, graphemes_to_points, utf16_to_points
from seqtruth.io.formats.own_json import first_record
from seqtruth.io.formats.plain_marks import UniqueIds
from seqtruth.io.json_records import JsonRecord, json_records, records_in

READ_OPTIONS = {
    "labels": "doccano's file of labels, for exports that know labels by number",
    "empty": "'seen' (default) or 'unseen': what a text without marks means",
    "offsets": "'points' (default), 'graphemes' (grapheme mode) or 'utf16'",
    "annotator": "the annotator's name, where a single file does not say it by its own name",
}
_SPANS = ("label", "labels", "entities", "annotations")
_OWN = frozenset((*_SPANS, "id", "text", "data", "cats", "annotation_approver", "review"))
_COUNTS: dict[str, Callable[[str], Converter] | None] = {
    "points": None, "graphemes": graphemes_to_points, "utf16": utf16_to_points,
}  # fmt: skip


@dataclass
class _Asked:
    names: dict[str, str]
    count: Callable[[str], Converter] | None
    empty_is_seen: bool
    notes: Notes
    texts: int = 0
    spans: int = 0
    odd: int = 0


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    asked = _asked(options, notes)
    tree = Glimpse(path).tree
    if tree is None:
        annotator = options.get("annotator") or _person(path.name)
        yield from _single(json_records(path), str(annotator), asked)
    else:
        files = [name for name in tree if name.lower().endswith((".jsonl", ".json"))]
        if not files:
            raise InputError(
                "no .jsonl file of doccano in it", where=str(path), got=", ".join(tree.names[:5])
            )
        sources = ((name, records_in(tree.chunks(name), tree.where(name))) for name in files)
        yield from _joined(sources, asked)
    if (asked.odd and not asked.spans) or not asked.texts:
        lack = "spans of text" if asked.texts else "text"
        raise InputError(
            f"the doccano file holds no {lack}", where=str(path), got="; ".join(notes.lines())[:300],
            fix="SeqTruth needs the JSONL export of a sequence labelling project",
        )  # fmt: skip


def _person(file: str) -> str:
    """The annotator of a file, by its name."""
    name = file.removesuffix(".gz")
    return name_of_file(name.removesuffix(".jsonl").removesuffix(".json"))


def _asked(options: dict[str, object], notes: Notes) -> _Asked:
    for name in options:
        if name not in READ_OPTIONS:
            raise ParameterError(
                f"doccano files have no option {name!r}", fix=f"one of {', '.join(READ_OPTIONS)}"
            )
    count = str(options.get("offsets") or "points")
    empty = options.get("empty") or "seen"
    if count not in _COUNTS:
        raise ParameterError("offsets must be 'points', 'graphemes' or 'utf16'", got=repr(count))
    if empty not in ("seen", "unseen"):
        raise ParameterError("empty must be 'seen' or 'unseen'", got=repr(empty))
    labels = options.get("labels")
    names = _label_names(Path(str(labels))) if labels else {}
    return _Asked(names, _COUNTS[count], empty == "seen", notes)


def _label_names(path: Path) -> dict[str, str]:
    """From doccano's file of labels, a list of ``{"id": 12, "text": "LOC"}``."""
    names: dict[str, str] = {}
    for value, where in json_records(path):
        number = name_of(value.get("id")) if isinstance(value, dict) else None
        text = name_of(value.get("text", value.get("name"))) if isinstance(value, dict) else None
        if number is None or text is None:
            raise InputError("a label must have 'id' and 'text'", where=where, got=shown(value))
        names[number] = text
    return names


def _single(records: Iterable[JsonRecord], annotator: str, asked: _Asked) -> Iterator[Document]:
    ids = UniqueIds(asked.notes)
    for place, (value, where) in enumerate(records, 1):
        record = _record(value, where, asked)
        if record is not None:
            text, opinions = _opinions(record, annotator, where, asked)
            name = ids.take(name_of(record.get("id")) or str(place), where)
            yield Document(name, text, tuple(opinions), where=where, source=_further(record))


class _Waiting(NamedTuple):
    """A record of one of several files."""

    key: tuple[str, str]
    text: str
    opinions: list[Opinion]
    where: str
    source: dict[str, Any] | None


def _owners(files: dict[PurePosixPath, list[_Waiting]]) -> dict[PurePath, str]:
    """Whose files those of one name are, where they share texts: ``ann/all.jsonl``, ``bob/all.jsonl``."""
    first: dict[tuple[str, tuple[str, str], str], PurePosixPath] = {}
    shared = {
        file.name
        for file, waiting in files.items()
        for key, text, *_ in waiting
        if first.setdefault((file.name, key, text), file) != file
    }
    return told_apart(file for file in files if file.name in shared)


def _joined(
    sources: Iterable[tuple[str, Iterator[JsonRecord]]], asked: _Asked
) -> Iterator[Document]:
    files: dict[PurePosixPath, list[_Waiting]] = {}
    for name, records in sources:
        file = PurePosixPath(name)
        waiting = files.setdefault(file, [])
        for value, where in records:
            record = _record(value, where, asked)
            if record is not None:
                text, opinions = _opinions(record, _person(file.name), where, asked)
                number = name_of(record.get("id"))
                key = ("text", text) if number is None else ("id", number)
                waiting.append(_Waiting(key, text, opinions, where, _further(record)))
        if waiting and not any(opinion.marks for one in waiting for opinion in one.opinions):
            asked.notes.left_out("annotator without any mark (taken as not annotating)", name)
            waiting[:] = [one._replace(opinions=[]) for one in waiting]
    gathered: dict[tuple[str, str], Gathered] = {}
    further: dict[tuple[str, str], dict[str, Any] | None] = {}
    owners = _owners(files)
    for file, waiting in files.items():
        for key, text, opinions, where, source in waiting:
            further.setdefault(key, source)
            document = gathered.setdefault(
                key, Gathered(key[1] if key[0] == "id" else "", asked.notes)
            )
            document.add(text, None, where)
            for opinion in opinions:
                named = file in owners and opinion.annotator == _person(file.name)
                who = owners[file] if named else opinion.annotator
                document.add(text, replace(opinion, annotator=who), where)
    for place, (key, document) in enumerate(gathered.items(), 1):
        document.id = document.id if key[0] == "id" else str(place)
        yield replace(document.document(), source=further[key])


def _further(record: dict[str, Any]) -> dict[str, Any] | None:
    """Further columns of a record, which doccano keeps as metadata, for writing them back."""
    kept = {
        key: value for key, value in record.items()
        if key not in _OWN and isinstance(value, str | int | float | bool)
    }  # fmt: skip
    return {"doccano": kept} if kept else None


def _record(value: object, where: str, asked: _Asked) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        raise InputError("a doccano record must be an object", where=where, got=shown(value))
    text = value.get("text", value.get("data"))
    if not isinstance(text, str):
        if not any(key in value for key in (*_SPANS, "id", "text")):
            raise InputError(
                "not a doccano record: it has no 'text'", where=where, got=shown(value),
                fix="export the project as JSONL",
            )  # fmt: skip
        asked.notes.left_out("record without text", where)
        return None
    for key in ("relations", "comments", "Comments"):
        if isinstance(value.get(key), list) and value[key]:
            asked.notes.left_out(key.lower().removesuffix("s"), where, len(value[key]))
    if value.get("cats"):
        asked.notes.left_out("label of a whole text", where)
    return {**value, "text": text}


def _opinions(
    record: dict[str, Any], annotator: str, where: str, asked: _Asked
) -> tuple[str, list[Opinion]]:
    text: str = record["text"]
    asked.texts += 1
    key = next((key for key in _SPANS if isinstance(record.get(key), list)), None)
    if key is None:
        if any(record.get(key) for key in _SPANS):
            asked.notes.left_out("label of a whole text", where)
            asked.odd += 1
        return text, []
    convert = asked.count(text) if asked.count is not None else None
    by_user: dict[str, list[Mark]] = {}
    for span in record[key]:
        found = _mark(span, text, convert, asked, where)
        user = name_of(span.get("user")) if isinstance(span, dict) else None
        marks = by_user.setdefault(user or annotator, [])
        if found is not None:
            asked.spans += 1
            marks.append(found)
    if not by_user and asked.empty_is_seen and key != "annotations":
        by_user[annotator] = []
    return text, [Opinion(user, tuple(marks)) for user, marks in by_user.items()]


def _mark(
    span: object, text: str, convert: Converter | None, asked: _Asked, where: str
) -> Mark | None:
    if isinstance(span, list) and len(span) == 3:
        start, end, label = span
    elif isinstance(span, dict) and "start_offset" in span:
        start, end, label = span["start_offset"], span.get("end_offset"), span.get("label")
    else:
        what = "label of a whole text" if isinstance(span, str | int) else "mark of unknown shape"
        asked.notes.left_out(what, where)
        asked.odd += 1
        return None
    if convert is not None:
        start, end = (
            -1 if (place := whole_of(border)) is None else convert(place) for border in (start, end)
        )
        start, end = (-1 if border is None else border for border in (start, end))
    if isinstance(label, int) and not isinstance(label, bool):
        if str(label) not in asked.names:
            asked.notes.left_out("name of a label that is known only by its number", where)
        label = asked.names.get(str(label), str(label))
    return mark_of(text, start, end, label, asked.notes, where)


def tell(glimpse: Glimpse) -> float:
    tree = glimpse.tree
    if tree is None:
        return _tell_head(glimpse.head)
    files = [name for name in tree.names if name.lower().endswith(".jsonl")]
    if not files or any(
        not name.lower().endswith((".jsonl", ".txt", ".md")) for name in tree.names
    ):
        return 0.0
    return max(_tell_head(tree.read(name, 1 << 16)) for name in files[:5])


def _tell_head(head: bytes) -> float:
    if head.lstrip()[:1] not in (b"{", b"["):
        return 0.0
    record = first_record(head)
    if record is not None and not isinstance(record.get("text", record.get("data")), str):
        return 0.0
    squeezed = b"".join(head[:20_000].split())
    if b'"start_offset"' in head and (b'"entities"' in head or b'"annotations"' in head):
        return 0.95
    triples = any(b'"%s":[[' % key in squeezed for key in (b"label", b"labels", b"entities"))
    text = b'"text"' in head or b'"data":"' in squeezed
    if triples and text and b'"tokens"' not in head:
        known = any(sign in head for sign in (b'"Comments"', b'"annotation_approver"', b'"cats"'))
        return 0.95 if known else 0.75
    empty = b'"label":[]' in squeezed and text and b'"tokens"' not in head
    return 0.5 if empty else 0.0


FORMAT = DocumentFormat(
    name="doccano",
    title="doccano",
    tell=tell,
    read=read,
    write=write,
    read_options=READ_OPTIONS,
    write_options=WRITE_OPTIONS,
    cannot_carry=(
        "the pieces of a discontinuous mark as one mark",
        "which part of a text was seen",
        "borders of tokens and sentences",
        "scores and times",
        "who is an annotator, a model or gold",
        "annotators without any mark",
    ),
    suffixes=(".doccano.jsonl", ".doccano.zip"),
)
