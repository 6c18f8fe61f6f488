"""JSON of one's own: an array, or a line each, of records with tokens and tags or a text and spans.

::

    {"id": "1", "tokens": ["Ann", "ran"], "ner_tags": ["B-PER", "O"]}
    {"id": "2", "text": "Ann ran", "spans": [{"start": 0, "end": 3, "label": "PER"}]}
    {"text": "Ann ran", "annotations": {"bob": [[0, 3, "PER"]], "eve": []}}

The records may stand in one object, in a list under ``data`` or the like, or under their ids.
:mod:`.labelled_records` says which names are understood and how to name others. Labels that nobody
signed belong to an annotator named after the file.

Written is one record per document with everything in it, ``annotations`` being a list of ``{"annotator",
"role", "spans"}``: as JSON Lines, or as an array where the name ends in ``.json``. For tokens with tags
write ``huggingface`` to a ``.jsonl`` file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from seqtruth.errors import ParameterError
from seqtruth.io.documents import Document, Notes, Opinion
from seqtruth.io.files import write_chunks
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats import column_names as names
from seqtruth.io.formats import labelled_records as records
from seqtruth.io.formats.huggingface_rows import span_object
from seqtruth.io.json_records import json_records

#: Keys under which people put the list of all records.
_WRAPPERS = ("data", "examples", "documents", "records", "items", "sentences", "rows")


def tell(glimpse: Glimpse) -> float:
    """By the first record; tools that write the same shape know themselves by more."""
    head = glimpse.head
    if head.lstrip()[:1] not in (b"[", b"{"):
        return 0.0
    record = first_record(head)
    if record is None:
        tokens = re.search(rb'"(tokens|words)"\s*:\s*\[\s*"', head)
        tags = re.search(rb'"\w*(tags|labels|ner)\w*"\s*:\s*\[\s*("|\d)', head)
        spans = re.search(rb'"text"\s*:\s*"', head) and re.search(
            rb'"(spans|entities)"\s*:\s*\[', head
        )
        return 0.4 if tokens and tags else 0.3 if spans else 0.0
    inside = _inside(record)
    record = inside[0][1] if inside else record
    fields = names.normalised(record)
    words = [fields[x] for x in names.TOKENS if isinstance(fields.get(x), list)]
    if words and words[0] and all(isinstance(word, str) for word in words[0]):
        tagged = _tag_columns(record, words[0]) or _bare_tags(record, words[0])
        return 0.5 if tagged or _has_spans(record) else 0.0
    if any(isinstance(fields.get(x), str) for x in names.TEXTS) and _has_spans(record):
        said = fields.get("annotations")
        first = said[0] if isinstance(said, list) and said else None
        ours = isinstance(first, dict) and {"annotator", "role", "spans"} <= first.keys()
        return 0.8 if ours else 0.4
    if any(isinstance(fields.get(x), str) for x in names.TEXTS):
        others = [one for key, one in fields.items() if key not in names.TOKENS]
        return 0.35 if any(one and records.are_spans(one) for one in others) else 0.0
    return 0.0


def _tag_columns(record: dict[str, Any], words: list[Any]) -> bool:
    """Whether some column holds a label for each word, or annotators with such."""
    for column in names.label_columns(record, names.TAGS):
        value = record[column.column]
        lists = [*value.values()] if isinstance(value, dict) else [value]
        if any(isinstance(one, list) and len(one) == len(words) for one in lists):
            return True
    return False


def _bare_tags(record: dict[str, Any], words: list[Any]) -> bool:
    """Whether some column, whatever its name, holds a tag such as ``B-PER`` or ``O`` for each word."""
    return any(len(value) == len(words) for value in record.values() if records.looks_tagged(value))


def _has_spans(record: dict[str, Any]) -> bool:
    """Whether some column holds marks with offsets, or annotators with such."""
    for column in names.label_columns(record, names.SPANS):
        value = record[column.column]
        lists = [*value.values()] if isinstance(value, dict) else [value]
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lists += [x for x in value[0].values() if isinstance(x, list)]
        if any(records.are_spans(one) for one in lists):
            return True
    return False


def first_record(head: bytes) -> dict[str, Any] | None:
    """The first object of an array or of lines; None where it is longer than the head, or none."""
    text = head.decode("utf-8", "ignore").lstrip()
    text = text[1:].lstrip() if text[:1] == "[" else text
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    """Documents of a file."""
    yield from records.documents_of(_unwrapped(path), records.choices(path, options), notes)


def _unwrapped(path: Path) -> Iterator[tuple[Any, str]]:
    """Records, also out of one object that holds them in a list or under their ids."""
    for value, where in json_records(path):
        inside = _inside(value)
        if inside is None:
            yield value, where
        else:
            yield from ((record, f"{where}, record {name}") for name, record in inside)


def _inside(value: Any) -> list[tuple[str, Any]] | None:
    if not isinstance(value, dict) or not value:
        return None
    for key in _WRAPPERS:
        held = value.get(key)
        if isinstance(held, list) and held and all(isinstance(one, dict) for one in held):
            return [(str(number), one) for number, one in enumerate(held)]
    if all(
        isinstance(one, dict) and {"text", "tokens", "words"} & one.keys() for one in value.values()
    ):
        return [(name, {"id": name} | one) for name, one in value.items()]
    return None


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    """Write JSON Lines, or an array to ``.json``."""
    if options:
        raise ParameterError("there is no such option here", got=", ".join(options))
    array = path.name.removesuffix(".gz").endswith(".json")

    def chunks() -> Iterator[bytes]:
        between = b"[\n" if array else b""
        for document in documents:
            yield between + json.dumps(_record(document), ensure_ascii=False).encode()
            between = b",\n" if array else b"\n"
        yield (b"[]" if between == b"[\n" else b"\n]" if array else b"") + b"\n"

    write_chunks(path, chunks())


def _record(document: Document) -> dict[str, Any]:
    text, tokens = document.text, document.tokens
    record: dict[str, Any] = {"id": document.id, "text": text}
    if tokens is not None:
        record["tokens"] = [text[a:b] for a, b in tokens]
        record["offsets"] = [list(pair) for pair in tokens]
    if document.sentences is not None:
        record["sentences"] = [list(pair) for pair in document.sentences]
    record["annotations"] = [_signed(opinion) for opinion in document.opinions] or None
    return record


def _signed(opinion: Opinion) -> dict[str, Any]:
    said: dict[str, Any] = {"annotator": opinion.annotator, "role": opinion.role}
    if opinion.seen is not None:
        said["seen"] = [list(pair) for pair in opinion.seen]
    if opinion.score is not None:
        said["score"] = opinion.score
    if opinion.time is not None:
        said["time"] = opinion.time
    spans = [span_object(mark) for mark in opinion.marks]
    said["spans"] = [{k: v for k, v in span.items() if v is not None} for span in spans]
    return said


FORMAT = DocumentFormat(
    "json",
    "JSON records",
    tell,
    read,
    write,
    read_options=records.OPTIONS,
    suffixes=(".json", ".jsonl", ".ndjson"),
)
