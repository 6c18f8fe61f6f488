"""Long tables with one row per span.

A row with empty label, start and end says "saw it and marked nothing"; one with an empty annotator
only brings the text. The text (or the tokens) may stand on any of a task's rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataError, InputError
from seqtruth.io.assemble import sentence_documents
from seqtruth.io.longtable.sources import TableSource
from seqtruth.io.records import Collector
from seqtruth.io.text_spans import TextSpan, row_spans


@dataclass
class _Task:
    """What the rows of one task say."""

    first_row: int
    given: dict[str, Any] = field(default_factory=dict)
    marked: dict[str, list[TextSpan] | None] = field(default_factory=dict)


def read_span_rows(source: TableSource, scheme: str | None) -> Crowd:
    """Read a table with the columns task, worker, start, end, label and text or tokens."""
    unit = "text" if source.has("text") else "tokens"
    if not source.has(unit):
        raise InputError(
            "a table with spans needs a column 'text' or 'tokens'",
            where=source.name,
            got=f"columns {', '.join(source.table.column_names)}",
            fix="start and end count characters of text, or tokens of tokens (joined by spaces)",
        )
    texts = _texts(source, unit)
    starts, has_start = (column.tolist() for column in source.numbers("start"))
    ends, has_end = (column.tolist() for column in source.numbers("end"))
    names = [source.strings(column).to_pylist() for column in ("task", "worker", "label")]
    documents = source.strings("doc").to_pylist() if source.has("doc") else [None] * len(texts)
    tasks: dict[str, _Task] = {}
    for row, (task, annotator, label) in enumerate(zip(*names, strict=True)):
        if task is None:
            raise InputError("the task is empty", where=source.where(row))
        found = tasks.setdefault(task, _Task(row))
        for column, value in ((unit, texts[row]), ("doc", documents[row])):
            if value is not None and found.given.setdefault(column, value) != value:
                raise InputError(
                    f"the {column} differs from the one given before for the same task",
                    where=source.where(row),
                    got=f"{value!r:.60}",
                )
        span = (has_start[row], has_end[row], label is not None)
        if any(span) != all(span) or (any(span) and annotator is None):
            raise InputError(
                "a span needs annotator, start, end and label",
                where=source.where(row),
                fix="leave start, end and label empty where the annotator marked nothing",
            )
        if annotator is not None:
            spans = found.marked.setdefault(annotator, [])
            if all(span):
                assert spans is not None
                spans.append(TextSpan(starts[row], ends[row], label))
    collector = Collector(source.name)
    for name, task_rows in tasks.items():
        try:
            _collect(collector, name, task_rows, unit)
        except InputError as error:  # the line is looked up only when it is needed
            where = source.where(task_rows.first_row)
            raise InputError(error.what, where=where, got=error.got, fix=error.fix) from None
    return collector.crowd(scheme)


def _texts(source: TableSource, unit: str) -> list[Any]:
    kind = source.table.column(unit).type
    if unit == "tokens" and (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        lists: list[list[str] | None] = source.table.column(unit).to_pylist()
        for row, tokens in enumerate(lists):
            if tokens and not all(isinstance(token, str) and token for token in tokens):
                raise InputError("tokens must be strings, none empty", where=source.where(row))
        return lists
    texts: list[str | None] = source.strings(unit).to_pylist()
    return texts


def _collect(collector: Collector, name: str, task: _Task, unit: str) -> None:
    document, where = task.given.get("doc", ""), f"{collector.name}: task {name!r:.60}"
    if unit == "text":
        collector.add_text(name, document, task.given.get("text", ""), task.marked, where)
        return
    tokens = task.given.get("tokens", [])
    if isinstance(tokens, str):
        tokens = tokens.split(" ")
        if "" in tokens:
            raise InputError("tokens must be joined by single spaces", where=where)
    collector.add_token_spans(name, document, tokens, task.marked, where)


def span_table(crowd: Crowd, confidence: npt.NDArray[Any] | None) -> pa.Table:
    """One row per span, or per annotator who marked nothing; the text on a task's first row."""
    corpus = crowd.corpus
    if crowd.scheme.kind == "plain" or (crowd.tags < 0).any():
        raise DataError(
            "spans cannot hold plain or missing tags", fix="write the table with level='token'"
        )
    texts = _spelled_texts(crowd)
    unit = "tokens" if corpus.texts is None else "text"
    ids, documents = corpus.sentence_ids.to_pylist(), sentence_documents(corpus)
    found = row_spans(crowd)
    rows: list[tuple[Any, ...]] = []
    for s in range(crowd.n_sentences):
        a, b = (int(x) for x in corpus.token_offsets[s : s + 2])
        text: str | None = texts[s]
        first = len(rows)
        for r in range(int(crowd.sentence_rows[s]), int(crowd.sentence_rows[s + 1])):
            who = crowd.annotators[crowd.row_annotator[r]]
            spans = found.of(crowd, r)
            for start, end, label in spans:
                sure = None if confidence is None else float(np.min(confidence[a:b][start:end]))
                if corpus.texts is not None:
                    assert corpus.char_starts is not None and corpus.char_ends is not None
                    start, end = corpus.char_starts[a + start], corpus.char_ends[a + end - 1]
                rows.append((ids[s], who, int(start), int(end), label, None, documents[s], sure))
            if not spans:
                rows.append((ids[s], who, None, None, None, None, documents[s], None))
        if first == len(rows):
            rows.append((ids[s], None, None, None, None, None, documents[s], None))
        rows[first] = (*rows[first][:5], text, *rows[first][6:])
    string, number = pa.large_string(), pa.int64()
    kinds = {
        "task": string, "worker": string, "start": number, "end": number, "label": string,
        unit: string, "doc": string, "confidence": pa.float64(),
    }  # fmt: skip
    columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
    arrays = [pa.array(col, kind) for col, kind in zip(columns, kinds.values(), strict=True)]
    table = pa.table(arrays, names=list(kinds))
    drop = [] if confidence is not None else ["confidence"]
    return table.drop_columns(drop + (["doc"] if corpus.documents == ("",) else []))


def _spelled_texts(crowd: Crowd) -> list[str]:
    corpus = crowd.corpus
    if corpus.texts is not None:
        if corpus.texts.null_count:
            raise DataError("some sentences have no text", fix="write the table with level='token'")
        texts: list[str] = corpus.texts.to_pylist()
        return texts
    lists = [corpus.words(s) for s in range(crowd.n_sentences)]
    for words in lists:
        for word in words:
            if not word or " " in word:
                raise DataError(
                    f"token {word!r:.60} cannot be joined by spaces",
                    fix="write the table with level='token'",
                )
    return [" ".join(words) for words in lists]
