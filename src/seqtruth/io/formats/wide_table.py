"""Tables of one's own with a row per token: a column of tags per annotator, or a row per annotator, too.

::

    sentence,token,ann,bob,gold          sent_id;word;annotator;tag
    1,Ann,B-PER,B-PER,B-PER              1;Ann;ann;B-PER
    1,ran,O,,O                           1;ran;ann;O

Tag columns are those whose cells all look like tags (``O``, ``B-PER``), or those named with ``labels``;
an empty cell is a token that the annotator did not label. A sentence is a run of rows with the same id
(``sentence``, ``sent_id``, ``doc`` ...; an empty id goes on with the one before, and where there are
documents and sentences both count); without ids blank lines part them. CSV, TSV, semicolons, Parquet.

The text is the tokens with one blank between. CoNLL columns without a header are another format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Notes, Role
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats import column_names as names
from seqtruth.io.formats import delimited
from seqtruth.io.formats import labelled_records as records
from seqtruth.io.formats.checked_values import name_of, text_at
from seqtruth.io.formats.labelled_spans import By
from seqtruth.io.formats.table_source import Table, glimpse_table, open_table
from seqtruth.io.formats.token_tags import tags_of_marks, tokens_of

_TOKEN = ("token", "word", "tokens", "words", "form", "surface", "token_text", "text")
_SENTENCE = (
    "sentence", "sentence_id", "sent_id", "sentence_#", "sentence_number", "sentence_no", "sent", "sid",
    "task", "task_id", "text_id", "example_id", "item", "id", "idx",
)  # fmt: skip
_DOCUMENT = ("doc", "doc_id", "document", "document_id", "docid", "file", "filename", "file_name")
_TAG = re.compile(r"O|o|[BIESLUM]-.+", re.DOTALL)
_RESERVED = frozenset((*_TOKEN, *_SENTENCE, *_DOCUMENT, *names.ANNOTATORS, *names.IDS))


#: What stands before tag columns' names in records, so that they are never taken for the others.
_KEY = "tags of "


class _Columns(NamedTuple):
    token: str
    ids: tuple[str, ...]
    annotator: str | None
    tags: tuple[str, ...]


def tell(glimpse: Glimpse) -> float:
    """By a column of tokens and columns that hold nothing but tags."""
    columns, rows = glimpse_table(glimpse)
    known = names.plain_names(columns)
    if {"task", "worker", "label"} <= set(known) or not names.find(known, _TOKEN):
        return 0.0
    return 0.75 if _tag_columns(columns, rows, names.find(known, _TOKEN)) else 0.0


def _tag_columns(
    columns: Iterable[str], rows: list[dict[str, Any]], token: str | None
) -> list[str]:
    found = []
    for column in columns:
        cells = [row[column] for row in rows if row.get(column) not in (None, "")]
        fit = all(isinstance(cell, str) and _is_tag(cell) for cell in cells)
        if cells and fit and column != token and not names.is_other_layer(column):
            found.append(column)
    return found


def _is_tag(cell: str) -> bool:
    """Whether this is a tag, and not one for each word of a sentence."""
    words = cell.split()
    return bool(_TAG.fullmatch(cell)) and not (len(words) > 1 and all(map(_TAG.fullmatch, words)))


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    """Sentences, one by one where there is a column per annotator."""
    table = open_table(path, options)
    columns = _columns(table, options, path)
    unnamed = str(options.get("annotator") or records.stem(path))
    owners = {
        _KEY + column: By("" if columns.annotator else name or unnamed, role)
        for column, (name, role) in _owners(columns.tags).items()
    }
    said: dict[str, object] = {"labels": [_KEY + column for column in columns.tags]}
    choices = records.choices(path, said, owners=owners)
    rows = _by_annotator if columns.annotator else _sentences
    yield from records.documents_of(rows(table, columns), choices, notes)


def _columns(table: Table, options: Mapping[str, object], path: Path) -> _Columns:
    records.choices(path, options)  # refuses unknown options
    known = names.plain_names(table.columns)
    where = f"{path}:1"

    def pick(option: str, wanted: Iterable[str]) -> str | None:
        said = names.chosen(options.get(option), option, table.columns, where)
        return said[0] if said else names.find(known, wanted)

    token = pick("tokens", _TOKEN)
    annotator = pick("annotator_column", names.ANNOTATORS)
    tags = names.chosen(options.get("labels"), "labels", table.columns, where)
    tags = tags or _tag_columns(table.columns, table.sample, token)
    if token is None or not tags:
        what = "tags (O, B-PER, ...)" if token else "the tokens"
        raise InputError(
            f"no column holds {what}", where=where, got=f"columns {', '.join(table.columns)}"[:160],
            fix="name them with tokens= and labels=",
        )  # fmt: skip
    ids = names.chosen(options.get("id"), "id", table.columns, where)
    if not ids:
        free = {k: v for k, v in known.items() if v not in (token, annotator, *tags)}
        sentence, document = names.find(free, _SENTENCE), names.find(free, _DOCUMENT)
        if sentence is not None and _counts_rows(table.sample, sentence):
            sentence = None  # a number for each row
        ids = [x for x in (document, sentence) if x is not None]
    if annotator in tags:
        annotator = None
    if annotator is not None and len(tags) > 1:
        tags = [x.column for x in names.label_columns(tags, names.TAGS)][:1] or tags[:1]
    return _Columns(token, tuple(ids), annotator, tuple(tags))


def _counts_rows(sample: list[dict[str, Any]], column: str) -> bool:
    values = {name_of(row[column]) for row in sample}
    generic = names.plain(column) in ("id", "idx", "item")
    return generic and len(sample) > 1 and None not in values and len(values) == len(sample)


def _owners(columns: Iterable[str]) -> dict[str, tuple[str, Role]]:
    """Whose each tag column is: its name, or what it adds to the name that all of them share."""
    columns = list(columns)
    family = names.label_columns(columns, names.TAGS)
    if len(family) == len(columns):
        return {x.column: (x.annotator, x.role) for x in family}
    return {column: (column, names.role_of(column)) for column in columns}


def _sentences(table: Table, columns: _Columns) -> Iterator[tuple[dict[str, Any], str]]:
    """Runs of rows as records with tokens and tags."""
    record: dict[str, Any] | None = None
    place, last = "", [""] * len(columns.ids)
    for row, where in table.rows:
        if not row:
            if not columns.ids and record is not None:
                yield record, place
                record = None
            continue
        last = [name_of(row[x]) or old for x, old in zip(columns.ids, last, strict=True)]
        name = "/".join(part for part in last if part)
        if record is None or (columns.ids and record["id"] != name):
            if record is not None:
                yield record, place
            record, place = _empty(name, columns), where
        _add(record, row, columns, where)
    if record is not None:
        yield record, place


def _empty(name: str, columns: _Columns) -> dict[str, Any]:
    return {"id": name or None, "tokens": [], **{_KEY + x: [] for x in columns.tags}}


def _add(record: dict[str, Any], row: dict[str, Any], columns: _Columns, where: str) -> None:
    token = row[columns.token]
    record["tokens"].append(text_at(token if token is not None else "", "the token", where))
    for column in columns.tags:
        record[_KEY + column].append(row[column] if row[column] != "" else None)


def _by_annotator(table: Table, columns: _Columns) -> Iterator[tuple[dict[str, Any], str]]:
    """A record for each sentence and annotator, when all rows are read."""
    assert columns.annotator is not None
    found: dict[tuple[str, ...], tuple[dict[str, Any], str]] = {}
    for row, where in table.rows:
        if not columns.ids:
            raise InputError(
                "there is an annotator in each row, but no column names the sentence", where=where,
                got=f"columns {', '.join(table.columns)}"[:160], fix="name it with id=",
            )  # fmt: skip
        if not row:
            continue
        who = name_of(row[columns.annotator])
        name = "/".join(filter(None, (name_of(row[x]) for x in columns.ids)))
        if who is None or not name:
            raise InputError("the row names no annotator or no sentence", where=where)
        record, _ = found.setdefault(
            (name, who), (_empty(name, columns) | {"annotator": who}, where)
        )
        _add(record, row, columns, where)
    yield from found.values()


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    """Write CSV, or TSV to ``.tsv``: sentence, token, and a column per annotator."""
    unknown = set(options) - set(delimited.WRITE_OPTIONS)
    if unknown:
        raise ParameterError("there is no such option here", got=", ".join(sorted(unknown)))
    documents = list(documents)
    voices = list(dict.fromkeys((o.annotator, o.role) for d in documents for o in d.opinions))
    header = [_column(name, number) for number, (name, _) in enumerate(voices)]
    header = [
        x if header.count(x) == 1 else f"{x}_{role}"
        for x, (_, role) in zip(header, voices, strict=True)
    ]
    read_as = _owners(header)
    for (name, role), column in zip(voices, header, strict=True):
        if read_as.get(column) != (name, role):
            notes.left_out("annotator's name or role (as written)", f"{path}:1")
    rows = (row for document in documents for row in _rows(document, voices, notes))
    delimited.write_delimited(path, ["sentence", "token", *header], rows, options)


def _column(name: str, number: int) -> str:
    return (
        f"tags_{name}" if names.plain(name) in _RESERVED else name.strip() or f"annotator_{number}"
    )


def _rows(document: Document, voices: list[tuple[str, Role]], notes: Notes) -> Iterator[list[str]]:
    where, tokens = document.where or document.id, tokens_of(document)
    words = [document.text[a:b] for a, b in tokens]
    if not words:
        notes.left_out("document without tokens", where)
    elif " ".join(words) != document.text:
        notes.left_out("spacing of a text (it has tokens only)", where)
    if document.sentences is not None:
        notes.left_out("borders of sentences in a document", where)
    tags: dict[tuple[str, Role], list[str | None]] = {}
    for opinion in document.opinions:
        voice = (opinion.annotator, opinion.role)
        if voice in tags:
            notes.left_out("earlier labelling by the same annotator", where)
        tags[voice] = tags_of_marks(opinion.marks, tokens, notes, where, opinion.seen)
        if opinion.score is not None or any(mark.score is not None for mark in opinion.marks):
            notes.left_out("score", where)
        if opinion.time is not None:
            notes.left_out("time of labelling", where)
    for number, word in enumerate(words):
        yield [document.id, word, *(tags[v][number] or "" if v in tags else "" for v in voices)]


FORMAT = DocumentFormat(
    "wide-table",
    "table of tokens",
    tell,
    read,
    write,
    read_options={
        "id": "the columns that name the sentence, with commas between",
        "tokens": "the column with the tokens",
        "labels": "the columns with tags, with commas between",
        "annotator_column": "the column that names the annotator, where each has rows of their own",
        "annotator": "the annotator's name where the file gives none (the file's name)",
        **delimited.READ_OPTIONS,
    },
    write_options=delimited.WRITE_OPTIONS,
    cannot_carry=(
        "spacing of the text, unless tokens are joined by one blank",
        "overlapping and discontinuous marks, scores, times, borders of sentences, documents without tokens",
        "roles other than gold under a name that says so",
    ),
)
