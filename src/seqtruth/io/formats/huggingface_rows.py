"""Documents as rows that ``datasets.load_dataset`` reads: Parquet with its metadata, JSON Lines.

``layout=tags``: a row per document with ``tokens`` and a column of IOB2 tags per annotator (``ner_tags``
where there is one, else ``ner_tags_<annotator>``), in Parquet as ``ClassLabel`` numbers; ``text`` and
``offsets`` where the text is more than its tokens with blanks between. ``layout=spans``: a row per
document and annotator with ``text`` and ``spans``, which carries everything. ``auto`` takes tags, unless
they would lose marks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from seqtruth.atomic import atomic_path
from seqtruth.errors import ParameterError
from seqtruth.io.documents import Document, Notes, Opinion
from seqtruth.io.files import write_chunks
from seqtruth.io.formats.arrow_rows import json_of
from seqtruth.io.formats.column_names import TAGS, label_columns, role_of
from seqtruth.io.formats.labelled_spans import By
from seqtruth.io.formats.token_tags import tags_of_marks, tokens_of

WRITE_OPTIONS = {"layout": "tags, spans, or auto: tags unless they would lose marks"}
_ROW_GROUP = 5_000
_STRING, _INT = {"dtype": "string", "_type": "Value"}, {"dtype": "int32", "_type": "Value"}
_FLOAT = {"dtype": "float64", "_type": "Value"}


class _Sheet(NamedTuple):
    """Rows, their Arrow schema, their features as ``datasets`` knows them, and the columns' owners."""

    rows: Iterable[dict[str, Any]]
    schema: pa.Schema
    features: dict[str, Any]
    owners: dict[str, dict[str, str]]


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    """Write Parquet, or JSON Lines where the name ends in ``.jsonl`` or ``.json``."""
    layout = options.pop("layout", None) or "auto"
    if options or layout not in ("auto", "tags", "spans"):
        raise ParameterError("layout must be tags, spans or auto", got=repr(options or layout))
    documents = list(documents)
    as_json = path.name.removesuffix(".gz").endswith((".jsonl", ".json", ".ndjson"))
    if layout == "auto":
        layout = "tags" if _tags_will_do(documents, as_json) else "spans"
    sheet = _tag_sheet(documents, notes, as_json) if layout == "tags" else _span_sheet(documents)
    if as_json:
        write_chunks(
            path, (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in sheet.rows)
        )
    else:
        _write_parquet(sheet, path)


def _write_parquet(sheet: _Sheet, path: Path) -> None:
    metadata = {"huggingface": json.dumps({"info": {"features": sheet.features}})}
    if sheet.owners:
        metadata["seqtruth"] = json.dumps({"columns": sheet.owners})
    schema = sheet.schema.with_metadata(metadata)
    rows = iter(sheet.rows)
    import pyarrow.parquet as pq  # slow to import: only where it is needed

    with atomic_path(path) as temporary, pq.ParquetWriter(temporary, schema) as writer:
        while group := list(islice(rows, _ROW_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema))


def owners(metadata: dict[bytes, bytes]) -> dict[str, By]:
    """Whose each column is, where our own metadata say it."""
    columns = json_of(metadata.get(b"seqtruth", b"")).get("columns")
    found = {}
    for column, owner in columns.items() if isinstance(columns, dict) else ():
        if isinstance(owner, dict) and isinstance(owner.get("annotator"), str):
            role: Any = owner.get("role")
            known = role in ("annotator", "model", "gold")
            found[column] = By(owner["annotator"], role if known else "annotator")
    return found


def _voices(documents: Iterable[Document]) -> list[tuple[str, str]]:
    """Annotators with their roles, in the order in which they first speak."""
    return list(
        dict.fromkeys((o.annotator, o.role) for document in documents for o in document.opinions)
    )


def _columns(voices: list[tuple[str, str]]) -> list[str]:
    if len(voices) == 1:
        return ["ner_tags"]
    names = [f"ner_tags_{annotator}" for annotator, _ in voices]
    twice = {name for name, number in Counter(names).items() if number > 1}
    return [
        f"{name}_{role}" if name in twice else name
        for name, (_, role) in zip(names, voices, strict=True)
    ]


def _tags_will_do(documents: list[Document], as_json: bool) -> bool:
    voices = _voices(documents)
    if as_json and len(voices) > 1:
        found = [(x.annotator, x.role) for x in label_columns(_columns(voices), TAGS)]
        if found != voices:
            return False
    if as_json and len(voices) == 1 and voices[0][1] != role_of(voices[0][0]):
        return False
    trial = Notes()
    for document in documents:
        tokens = tokens_of(document)
        for opinion in document.opinions:
            tags_of_marks(opinion.marks, tokens, trial, "", opinion.seen)
        if trial.counts or len(_last(document)) < len(document.opinions):
            return False
    return True


def _last(document: Document) -> dict[tuple[str, str], Opinion]:
    return {(opinion.annotator, opinion.role): opinion for opinion in document.opinions}


def _tag_sheet(documents: list[Document], notes: Notes, as_json: bool) -> _Sheet:
    voices = _voices(documents)
    columns = _columns(voices)
    labels = sorted({m.label for d in documents for o in d.opinions for m in o.marks})
    names = ["O", *(f"{letter}-{label}" for label in labels for letter in "BI")]
    codes: dict[str | None, int] = {name: number for number, name in enumerate(names)}
    code: Callable[[str | None], Any] = (lambda tag: tag) if as_json else codes.get
    with_text = any(d.text != " ".join(d.text[a:b] for a, b in tokens_of(d)) for d in documents)
    fields = [("id", pa.string()), ("tokens", pa.list_(pa.string()))]
    features: dict[str, Any] = {"id": _STRING, "tokens": _many(_STRING)}
    if with_text:
        fields += [("text", pa.string()), ("offsets", pa.list_(pa.list_(pa.int32())))]
        features |= {"text": _STRING, "offsets": _many(_many(_INT))}
    for column in columns:
        fields.append((column, pa.list_(pa.int64())))
        features[column] = _many({"names": names, "_type": "ClassLabel"})

    def rows() -> Iterator[dict[str, Any]]:
        for document in documents:
            row = _tag_row(document, dict(zip(voices, columns, strict=True)), code, notes)
            if not with_text:
                del row["text"], row["offsets"]
            if as_json and len(voices) == 1:
                row["annotator"] = voices[0][0]
            yield row

    owned = {
        column: {"annotator": annotator, "role": role}
        for column, (annotator, role) in zip(columns, voices, strict=True)
    }
    return _Sheet(rows(), pa.schema(fields), features, owned)


def _tag_row(
    document: Document,
    columns: dict[tuple[str, str], str],
    code: Callable[[str | None], Any],
    notes: Notes,
) -> dict[str, Any]:
    where, tokens = document.where or document.id, tokens_of(document)
    row: dict[str, Any] = {
        "id": document.id,
        "tokens": [document.text[a:b] for a, b in tokens],
        "text": document.text,
        "offsets": [list(pair) for pair in tokens],
        **dict.fromkeys(columns.values()),
    }
    last = _last(document)
    if len(last) < len(document.opinions):
        notes.left_out("earlier labelling by the same annotator", where)
    for voice, opinion in last.items():
        tags = tags_of_marks(opinion.marks, tokens, notes, where, opinion.seen)
        row[columns[voice]] = [code(tag) for tag in tags]
        scores = sum(mark.score is not None for mark in opinion.marks) + (opinion.score is not None)
        if scores:
            notes.left_out("score", where, scores)
        if opinion.time is not None:
            notes.left_out("time of labelling", where)
    if document.sentences is not None:
        notes.left_out("sentence borders of a document", where)
    return row


def _span_sheet(documents: list[Document]) -> _Sheet:
    pairs = pa.list_(pa.list_(pa.int32()))
    span = pa.struct(
        [
            ("start", pa.int32()), ("end", pa.int32()), ("label", pa.string()),
            ("pieces", pairs), ("score", pa.float64()),
        ]
    )  # fmt: skip
    schema = pa.schema(
        [
            ("id", pa.string()), ("text", pa.string()), ("tokens", pa.list_(pa.string())),
            ("offsets", pairs), ("sentences", pairs), ("annotator", pa.string()),
            ("role", pa.string()), ("spans", pa.list_(span)), ("seen", pairs),
            ("score", pa.float64()), ("time", pa.string()),
        ]
    )  # fmt: skip
    kinds = {
        "start": _INT,
        "end": _INT,
        "label": _STRING,
        "pieces": _many(_many(_INT)),
        "score": _FLOAT,
    }
    features = {
        name: _many(_many(_INT)) if name in ("offsets", "sentences", "seen")
        else _many(_STRING) if name == "tokens"
        else [kinds] if name == "spans"
        else _FLOAT if name == "score"
        else _STRING
        for name in schema.names
    }  # fmt: skip
    rows = (row for document in documents for row in _span_rows(document))
    return _Sheet(rows, schema, features, {})


def _span_rows(document: Document) -> Iterator[dict[str, Any]]:
    tokens, sentences = document.tokens, document.sentences
    start: dict[str, Any] = {
        "id": document.id,
        "text": document.text,
        "tokens": None if tokens is None else [document.text[a:b] for a, b in tokens],
        "offsets": None if tokens is None else [list(pair) for pair in tokens],
        "sentences": None if sentences is None else [list(pair) for pair in sentences],
    }
    empty = dict.fromkeys(("annotator", "role", "spans", "seen", "score", "time"))
    if not document.opinions:
        yield start | empty
    for opinion in document.opinions:
        yield start | {
            "annotator": opinion.annotator,
            "role": opinion.role,
            "spans": [span_object(mark) for mark in opinion.marks],
            "seen": None if opinion.seen is None else [list(pair) for pair in opinion.seen],
            "score": opinion.score,
            "time": opinion.time,
        }


def span_object(mark: Any) -> dict[str, Any]:
    """A mark as an object; pieces and score are null where there are none."""
    return {
        "start": mark.start,
        "end": mark.end,
        "label": mark.label,
        "pieces": [list(pair) for pair in mark.pieces] or None,
        "score": mark.score,
    }


def _many(feature: dict[str, Any]) -> dict[str, Any]:
    """A list of a feature, spelled so that every version of ``datasets`` knows it."""
    return {"feature": feature, "_type": "Sequence"}
