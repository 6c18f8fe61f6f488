"""GLiNER training data: ``[{"tokenized_text": [...], "ner": [[first, last, "label"], ...]}]``.

First and last count tokens, and the last one belongs to the mark. Records may also hold ``text`` in
place of tokens with character spans (``[{"start", "end", "label"}]``, as the model predicts them), and
``label`` or ``negatives``, which say which types were asked for and are left out here. Nobody signs
the records: the annotator is the file's name, or the option ``annotator``.

Written is one annotator's labels: the only one, or the one named; overlapping and nested marks stay.
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
from seqtruth.io.formats.checked_values import first_of, mapping_at, name_of, text_at, words_at
from seqtruth.io.formats.column_names import role_of
from seqtruth.io.formats.labelled_records import stem
from seqtruth.io.formats.labelled_spans import By, Page, opinions_in
from seqtruth.io.formats.token_tags import join, tokens_of, visible
from seqtruth.io.formats.voices import one_voice
from seqtruth.io.json_records import json_records


def tell(glimpse: Glimpse) -> float:
    """By ``tokenized_text`` and ``ner``."""
    head = glimpse.head
    if head.lstrip()[:1] not in (b"[", b"{"):
        return 0.0
    return 0.95 if re.search(rb'"tokenized_text"\s*:\s*\[', head) and b'"ner"' in head else 0.0


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    """Documents of a JSON array or JSON Lines."""
    annotator = str(options.pop("annotator", None) or stem(path))
    if options:
        raise ParameterError("there is no such option here", got=", ".join(options))
    seen: set[str] = set()
    for number, (value, where) in enumerate(json_records(path)):
        record = mapping_at(value, "a record", where)
        name = name_of(record.get("id")) or str(number)
        while name in seen:
            name += "'"
        seen.add(name)
        yield _document(name, record, By(annotator, role_of(annotator)), notes, where)


def _document(name: str, record: dict[str, Any], by: By, notes: Notes, where: str) -> Document:
    words = first_of(record, ("tokenized_text", "tokens"))
    if words is None and "text" in record:
        page = Page(text_at(record["text"], "text", where), None, "characters", notes, where)
    else:
        kept, counts = visible(words_at(words, "tokenized_text", where), notes, where)
        page = Page(*join(kept), "tokens-inclusive", notes, where, counts)
    marked = first_of(record, ("ner", "entities", "spans"))
    opinions = (
        opinions_in(marked, page, by) if marked != [] else [Opinion(by.annotator, (), by.role)]
    )
    for key in ("relations", "classifications"):
        if record.get(key):
            notes.left_out(key.removesuffix("s"), where)
    return Document(name, page.text, tuple(opinions), page.tokens, where=where)


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    """Write a JSON array, a record a line."""
    annotator = options.pop("annotator", None)
    if options:
        raise ParameterError("there is no such option here", got=", ".join(options))

    def chunks() -> Iterator[bytes]:
        start = b"[\n"
        for document in documents:
            record = _record(document, annotator, notes)
            if record is not None:
                yield start + json.dumps(record, ensure_ascii=False).encode()
                start = b",\n"
        yield b"\n]\n" if start != b"[\n" else b"[]\n"

    write_chunks(path, chunks())


def _record(document: Document, annotator: object, notes: Notes) -> dict[str, Any] | None:
    where, tokens = document.where or document.id, tokens_of(document)
    opinion = one_voice(document, annotator, notes)
    if opinion is None:
        notes.left_out("document that the annotator did not label", where)
        return None
    words = [document.text[a:b] for a, b in tokens]
    if " ".join(words) != document.text:
        notes.left_out("spacing of a text (it has tokens only)", where)
    first = {start: number for number, (start, _) in enumerate(tokens)}
    last = {end: number for number, (_, end) in enumerate(tokens)}
    marks = []
    for mark in opinion.marks:
        a, b = first.get(mark.start), last.get(mark.end)
        if mark.pieces:
            notes.left_out("discontinuous mark", where)
        elif a is None or b is None or a > b:
            notes.left_out("mark that ends inside a token", where)
        else:
            marks.append([a, b, mark.label])
            if mark.score is not None:
                notes.left_out("score", where)
    return {"id": document.id, "tokenized_text": words, "ner": marks}


FORMAT = DocumentFormat(
    "gliner",
    "GLiNER",
    tell,
    read,
    write,
    read_options={"annotator": "whose labels these are (the file's name)"},
    write_options={"annotator": "whose labels to write, where there are several annotators"},
    cannot_carry=(
        "more than one annotator, and the annotator's name",
        "documents that were not labelled",
        "spacing of the text, unless tokens are joined by one blank",
        "discontinuous marks, scores, parts not seen, times",
    ),
)
