"""What Prodigy's review recipe reads, a line for each document and annotator, or what it writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

from seqtruth.errors import ParameterError
from seqtruth.io.documents import Document, Extents, Mark, Notes, Opinion
from seqtruth.io.files import write_chunks
from seqtruth.io.formats.plain_marks import contiguous, note_score_and_time
from seqtruth.io.json_records import json_line

WRITE_OPTIONS = {
    "shape": "'annotations' (default): a line for each annotator, which 'prodigy review' compares;"
    " 'review': a line for each document with its versions, as that recipe saves them",
    "view_id": "'spans_manual' (default) or 'ner_manual', which knows no overlaps",
}
#: Ours: what an opinion is, where it is no annotator's.
ROLE = "seqtruth_role"
_WORD = re.compile(r"\w+|[^\w\s]")


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    for name in options:
        if name not in WRITE_OPTIONS:
            raise ParameterError(
                f"Prodigy files have no option {name!r}", fix=", ".join(WRITE_OPTIONS)
            )
    shape, view = options.get("shape") or "annotations", options.get("view_id") or "spans_manual"
    if shape not in ("annotations", "review"):
        raise ParameterError("shape must be 'annotations' or 'review'", got=repr(shape))
    if view not in ("spans_manual", "ner_manual"):
        raise ParameterError("view_id must be 'spans_manual' or 'ner_manual'", got=repr(view))
    write_chunks(path, _lines(documents, notes, str(view), shape == "review"))


def _lines(documents: Iterable[Document], notes: Notes, view: str, review: bool) -> Iterator[bytes]:
    for document in documents:
        where = document.where or document.id
        if document.sentences is not None:
            notes.left_out("borders of sentences in a document", where)
        given = [(one, list(contiguous(one, notes, where))) for one in document.opinions]
        for one in document.opinions:
            note_score_and_time(one, notes, where, time=False)
        task = _task(document, [mark for _, marks in given for mark in marks], notes)
        lines = [_annotation(task, opinion, marks, view) for opinion, marks in given]
        if review and lines:
            yield json_line(_reviewed(task, lines, view))
        else:
            yield from map(json_line, lines or [task])


def _task(document: Document, marks: list[Mark], notes: Notes) -> dict[str, Any]:
    text = document.text
    tokens = tokens_for(text, document.tokens, marks)
    if document.tokens is not None and tokens != document.tokens:
        notes.left_out(
            "token as it was (cut at the border of a mark)", document.where or document.id
        )
    task: dict[str, Any] = {"text": text}
    if re.fullmatch(r"-?[1-9]\d{0,9}", document.id) and document.id.isascii():
        task["_input_hash"] = int(document.id)
    else:
        task["id"] = document.id
        task["_input_hash"] = _hash(document.id, text)
    task["tokens"] = [
        {
            "text": text[start:end], "start": start, "end": end, "id": number,
            "ws": text[end : end + 1].isspace(),
        }
        for number, (start, end) in enumerate(tokens)
    ]  # fmt: skip
    kept = (document.source or {}).get("prodigy")
    meta = kept.get("meta") if isinstance(kept, dict) else None
    if isinstance(meta, dict):
        task["meta"] = meta
    if document.remarks:
        task["meta"] = {**task.get("meta", {}), "review": "; ".join(document.remarks)}
    return task


def tokens_for(text: str, given: Extents | None, marks: Iterable[Mark]) -> Extents:
    """The given tokens, or words and signs, cut so that every mark begins and ends with a token.

    >>> tokens_for("Jane's car", None, [Mark(0, 4, "PER"), Mark(4, 7, "X")])
    ((0, 4), (4, 5), (5, 6), (6, 7), (7, 10))
    """
    marks = list(marks)
    starts, ends = {mark.start for mark in marks}, {mark.end for mark in marks}
    words = given if given is not None else [match.span() for match in _WORD.finditer(text)]
    cuts = sorted({border for word in words for border in word} | starts | ends)
    inside = sorted(words)
    found: list[tuple[int, int]] = []
    place = 0
    for start, end in pairwise(cuts):
        while place < len(inside) and inside[place][1] <= start:
            place += 1
        in_word = place < len(inside) and inside[place][0] <= start
        if in_word or start in starts or end in ends:
            found.append((start, end))
    return tuple(found)


def _annotation(
    task: dict[str, Any], opinion: Opinion, marks: list[Mark], view: str
) -> dict[str, Any]:
    first = {token["start"]: token["id"] for token in task["tokens"]}
    last = {token["end"]: token["id"] for token in task["tokens"]}
    spans: list[dict[str, Any]] = []
    for mark in marks:
        span: dict[str, Any] = {
            "start": mark.start, "end": mark.end, "token_start": first[mark.start],
            "token_end": last[mark.end], "label": mark.label,
        }  # fmt: skip
        spans.append(span if mark.score is None else {**span, "score": mark.score})
    line = {
        **task, "spans": spans, "_task_hash": _hash(str(task["_input_hash"]), repr(spans)),
        "_is_binary": False, "_view_id": view, "answer": "accept",
        "_session_id": opinion.annotator, "_annotator_id": opinion.annotator,
    }  # fmt: skip
    if opinion.role != "annotator":
        line[ROLE] = opinion.role
    moment = _moment(opinion.time)
    return line if moment is None else {**line, "_timestamp": moment}


def _reviewed(task: dict[str, Any], lines: list[dict[str, Any]], view: str) -> dict[str, Any]:
    """The lines of a document as versions, the gold one as the review's result."""
    gold = [line for line in lines if line.get(ROLE) == "gold"]
    versions: dict[tuple[object, object, object], dict[str, Any]] = {}
    for line in lines:
        if line.get(ROLE) != "gold":
            key = (line["_task_hash"], line.get(ROLE), line.get("_timestamp"))
            version = versions.setdefault(key, {**line, "sessions": []})
            version["sessions"].append(line["_annotator_id"])
    most = max((len(version["sessions"]) for version in versions.values()), default=0)
    for version in versions.values():
        version["default"] = len(version["sessions"]) == most
        most = most if not version["default"] else -1  # one default only
    reviewed = {**task, "versions": list(versions.values()), "view_id": view, "_view_id": "review"}
    if gold:
        names = ("spans", "answer", "_session_id", "_annotator_id", "_task_hash", "_timestamp")
        reviewed |= {name: gold[-1][name] for name in names if name in gold[-1]}
    return reviewed


def _moment(time: str | None) -> int | None:
    try:
        return None if time is None else int(datetime.fromisoformat(time).timestamp())
    except (ValueError, OverflowError, OSError):
        return None


def _hash(*parts: str) -> int:
    """A number that a browser's arithmetic keeps, too."""
    digest = blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 12
