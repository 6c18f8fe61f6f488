"""Language models' answers: JSON with quoted text instead of offsets, beside the text in question.

One object a text (a line each, or in an array)::

    {"id": "7", "text": "Jane met Bob.", "models": {
        "gpt": [{"text": "Jane", "label": "PER"}],
        "llama": "Here it is: ```json {\\"PER\\": [\\"Bob\\"]} ```"}}

or a line for each text and model, joined by ``id`` or text (gone through twice, so that a document
leaves memory with its last line)::

    {"text": "Jane met Bob.", "model": "gpt", "answer": [{"quote": "Jane", "type": "PER"}]}

or a table with such columns (CSV, TSV, Parquet) or with a row per quote
(:mod:`~seqtruth.io.formats.quote_rows`), and what ``langextract`` saves (``extractions`` with
``extraction_text`` and ``extraction_class``).

- The models stand under ``models``, ``answers``, ``predictions``, ``outputs`` or ``responses``; the text
  under ``text``, ``document``, ``content``, ``input`` or ``sentence``.
- An answer is a list of objects with a quote (``text``, ``quote``, ``span``, ``entity`` ...) and a label
  (``label``, ``type``, ``class`` ...); an object of quotes by type; pairs ``["Jane", "PER"]``; or a
  string that holds one of these, in a code fence or in prose. ``null`` and the empty string are "was
  not asked"; ``[]`` is "saw it and marked nothing"; an answer without JSON is left out and noted.
- A quote that stands once in the text is that place. One that stands in several is placed if the model
  said it as often as it stands there, gave offsets that are right, or a ``context`` that decides;
  otherwise it is ambiguous and left out, or as ``occurrences=`` says: ``all`` or ``first``.
- A quote that does not stand in the text is left out; ``fuzzy="spelling"`` also finds it with other
  blanks, case, accents, quotation marks and dashes, ``fuzzy=0.9`` also by similarity, and then believes
  the places that ``langextract`` found. Quotes so placed are counted, too.

What was left out is counted for each model; ``report=`` names a file that lists every such quote. What
else a model said (reasons, attributes) is not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.files import write_chunks
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.checked_values import first_of, name_of, shown
from seqtruth.io.formats.gathered import Gathered
from seqtruth.io.formats.labelled_records import are_spans
from seqtruth.io.formats.model_answers import Unreadable, items_of
from seqtruth.io.formats.plain_marks import UniqueIds, contiguous, note_borders, note_score_and_time
from seqtruth.io.formats.quote_placing import READ_OPTIONS, Asked, marks_of
from seqtruth.io.formats.quote_rows import quote_columns, quote_records
from seqtruth.io.formats.quoted_text import Quotes
from seqtruth.io.formats.table_source import glimpse_table, open_table
from seqtruth.io.json_records import json_line, json_records, records_in

_NAMED = {"model", "model_name", "model_id"}
TEXT = ("text", "document", "content", "input", "sentence")
MODELS = ("models", "answers", "predictions", "outputs", "responses")
ANSWER = (
    "answer",
    "output",
    "response",
    "completion",
    "extractions",
    "entities",
    "spans",
    "prediction",
)


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    asked = Asked(options, notes, path)
    last = {_key(value): place for place, (value, _) in enumerate(_records(path))}
    gathered: dict[bytes, Gathered] = {}
    ids = UniqueIds(notes)
    for place, (value, where) in enumerate(_records(path)):
        key = _key(value)
        text = _text(value, where)
        name = name_of(first_of(value, ("id", "document_id", "doc_id"))) or str(place + 1)
        document = gathered.setdefault(key, Gathered(name, notes))
        document.add(text, None, where)
        for opinion in _opinions(value, text, where, asked):
            document.add(text, opinion, where)
        if last.get(key) == place:
            done = gathered.pop(key).document()
            yield replace(done, id=ids.take(done.id, where))
    if not last:
        raise InputError("the file holds no answers", where=str(path))
    if asked.report is not None:
        write_chunks(Path(str(options["report"])), map(json_line, asked.report))


def _records(path: Path) -> Iterator[tuple[Any, str]]:
    """Objects of JSON, or rows of a table that are not blank."""
    glimpse = Glimpse(path)
    if (columns := quote_columns(*glimpse_table(glimpse))) is not None:
        yield from quote_records((row for row in open_table(path, {}).rows if row[0]), columns)
    elif _is_table(glimpse):
        yield from (row for row in open_table(path, {}).rows if row[0])
    else:
        yield from json_records(path)


def _is_table(glimpse: Glimpse) -> bool:
    columns, _ = glimpse_table(glimpse)
    return not _NAMED.isdisjoint(columns) and not {"answer", "response"}.isdisjoint(columns)


def _key(value: object) -> bytes:
    """What the lines of one document share."""
    if not isinstance(value, dict):
        return b""
    name = name_of(first_of(value, ("id", "document_id", "doc_id")))
    text = first_of(value, TEXT)
    shared = f"id {name}" if name is not None else f"text {text if isinstance(text, str) else ''}"
    return blake2b(shared.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _text(value: object, where: str) -> str:
    if not isinstance(value, dict):
        raise InputError("a record of answers must be an object", where=where, got=shown(value))
    text = first_of(value, TEXT)
    if not isinstance(text, str):
        raise InputError(
            "no text beside the answers", where=where, got=shown(value),
            fix=f"put the text that the models were asked about under one of {', '.join(TEXT)}",
        )  # fmt: skip
    return text


def _opinions(record: dict[str, Any], text: str, where: str, asked: Asked) -> Iterator[Opinion]:
    quotes = Quotes(text, where, asked.fuzzy)
    for model, answer in _answers(record, where, asked):
        try:
            items = items_of(answer)
        except Unreadable as error:
            asked.note(f"unreadable answer ({error})", model, None, where)
            continue
        if items is not None:
            marks = marks_of(items, quotes, model, asked, where)
            yield Opinion(model, tuple(marks), role="model")


def _answers(record: dict[str, Any], where: str, asked: Asked) -> Iterator[tuple[str, Any]]:
    models = next((record[key] for key in MODELS if isinstance(record.get(key), dict)), None)
    name = name_of(first_of(record, ("model", "model_name", "model_id", "annotator")))
    if models is not None and name is None:
        yield from ((model or asked.model, answer) for model, answer in models.items())
        return
    listed = next((record[key] for key in MODELS if isinstance(record.get(key), list)), None)
    if name is None and listed and all(isinstance(one, dict) and "model" in one for one in listed):
        for one in listed:
            yield name_of(one["model"]) or asked.model, first_of(one, (*ANSWER, "content", *MODELS))
        return
    key = next((key for key in (*ANSWER, *MODELS) if key in record), None)
    if key is None and (columns := _columns(record)):
        yield from ((model, record[model]) for model in columns)
        return
    if key is None:
        raise InputError(
            "no answers beside the text", where=where, got=", ".join(map(repr, list(record)[:10])),
            fix="put them under 'models', an object of answers by model",
        )  # fmt: skip
    yield name or asked.model, record[key]


def _columns(record: dict[str, Any]) -> list[str]:
    """Keys of models' own, with lists of quotes, and no offsets, under them."""
    lists = {key: value for key, value in record.items() if isinstance(value, list)}
    filled = [value for value in lists.values() if value]
    quoted = all(_is_answer(value) and not are_spans(value) for value in filled)
    return list(lists) if quoted else []


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    if options:
        raise ParameterError(f"language models' answers have no option {next(iter(options))!r}")
    write_chunks(path, (_line(document, notes) for document in documents))


def _line(document: Document, notes: Notes) -> bytes:
    where = document.where or document.id
    note_borders(document, notes)
    models: dict[str, list[dict[str, Any]]] = {}
    for opinion in document.opinions:
        if opinion.role != "model":
            notes.left_out(f"role of an opinion ({opinion.role})", where)
        note_score_and_time(opinion, notes, where)
        models[opinion.annotator] = [
            _quoted(document.text, mark) for mark in contiguous(opinion, notes, where)
        ]
    return json_line({"id": document.id, "text": document.text, "models": models})


def _quoted(text: str, mark: Mark) -> dict[str, Any]:
    quoted: dict[str, Any] = {
        "text": text[mark.start : mark.end], "label": mark.label, "start": mark.start, "end": mark.end,
    }  # fmt: skip
    return quoted if mark.score is None else {**quoted, "score": mark.score}


def tell(glimpse: Glimpse) -> float:
    head = glimpse.head
    if head.lstrip()[:1] not in (b"{", b"["):
        columns, rows = glimpse_table(glimpse)
        if quote_columns(columns, rows) is not None:
            return 0.6
        return max(map(_tell_record, rows if _is_table(glimpse) else []), default=0.0)
    if b'"extraction_text"' in head and b'"extraction_class"' in head:
        return 0.97
    try:
        first = next(records_in([head], ""), None)
    except InputError:
        return 0.0
    return _tell_record(first.value if first is not None else None)


def _tell_record(record: Any) -> float:
    if not isinstance(record, dict) or not isinstance(first_of(record, TEXT), str):
        return 0.0
    models = next((record[key] for key in MODELS if isinstance(record.get(key), dict)), None)
    if models is not None:
        empty = not any(models.values())  # nobody found anything in the first text
        return 0.9 if any(map(_is_answer, models.values())) else 0.35 if empty else 0.0
    listed = next((record[key] for key in MODELS if isinstance(record.get(key), list)), None)
    if listed and all(isinstance(one, dict) and "model" in one for one in listed):
        return 0.85
    named = name_of(first_of(record, tuple(_NAMED))) is not None
    if named and any(_is_answer(record.get(key)) for key in ANSWER):
        return 0.85
    if any(_is_answer(record[key]) for key in _columns(record) if key not in (*ANSWER, *MODELS)):
        return 0.38
    # an answer in prose says nothing that can be read, but the next one may
    said = any(isinstance(record.get(key), str) or record.get(key) == [] for key in ANSWER)
    return 0.4 if named and said else 0.0


def _is_answer(answer: object) -> bool:
    """Whether this may be an answer with quotes, and not spans by offsets."""
    try:
        items = items_of(answer)
    except Unreadable:
        return False
    return bool(items) and any(item.quote and item.label for item in items or ())


FORMAT = DocumentFormat(
    name="language-models",
    title="language models' answers",
    tell=tell,
    read=read,
    write=write,
    read_options=READ_OPTIONS,
    cannot_carry=(
        "the pieces of a discontinuous mark as one mark",
        "which part of a text was seen",
        "borders of tokens and sentences",
        "who is an annotator or gold: all become models",
        "scores of opinions, and times",
    ),
    suffixes=(".answers.jsonl",),
)
