"""Long tables: one row per (task, worker, token), or per (task, worker, span).

Token level: ``task, worker, label`` and, for sequences, ``token_index`` (from 0) and ``token``.
Span level: ``task, worker, start, end, label`` and ``text`` (offsets count characters) or
``tokens`` (offsets count tokens). Both may have ``doc``. See ``docs/formats.md``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.data import Crowd
from seqtruth.errors import DataError, InputError, ParameterError
from seqtruth.io.assemble import Columns, assemble, make_corpus, offsets_of, sentence_documents
from seqtruth.io.sources import (
    Source,
    load_delimited,
    load_frame,
    load_parquet,
    save_delimited,
    save_parquet,
)
from seqtruth.io.table_spans import read_span_rows, span_table

Ints = npt.NDArray[np.int64]


def read_csv(path: Path, scheme: str | None = None, *, quoting: bool = True) -> Crowd:
    """Read a comma-separated table; ``quoting=False`` takes quotation marks as plain text."""
    return read_source(load_delimited(path, ",", quoting), scheme)


def read_tsv(path: Path, scheme: str | None = None, *, quoting: bool = True) -> Crowd:
    """Read a tab-separated table; ``quoting=False`` takes quotation marks as plain text."""
    return read_source(load_delimited(path, "\t", quoting), scheme)


def read_parquet(path: Path, scheme: str | None = None) -> Crowd:
    """Read a Parquet table."""
    return read_source(load_parquet(path), scheme)


def read_frame(frame: Any, scheme: str | None = None) -> Crowd:
    """Read a pandas, Polars or Arrow table."""
    return read_source(load_frame(frame), scheme)


def read_source(source: Source, scheme: str | None) -> Crowd:
    """Read a table of either level."""
    if source.has("start") != source.has("end"):
        raise InputError("a table with spans needs both columns, start and end", where=source.name)
    if source.has("start"):
        return read_span_rows(source, scheme)
    return _read_token_rows(source, scheme)


def _read_token_rows(source: Source, scheme: str | None) -> Crowd:
    tasks, task = _coded(source, "task")
    workers, worker = _coded(source, "worker")
    labels, label = _coded(source, "label")
    if source.has("token_index"):
        index, has_token = source.numbers("token_index")
    else:
        index, has_token = np.zeros(len(task), np.int64), np.ones(len(task), np.bool_)
    _check_fields(source, task, worker, label, index, has_token)
    offsets = _lengths(source, tasks, task, index, has_token)
    place = offsets[:-1][task] + index  # only used where has_token
    documents = None
    if source.has("doc"):
        names, numbers = _coded(source, "doc")
        per_task = _agreed(source, "doc", numbers, task, len(tasks), numbers >= 0)
        documents = [names[number] if number >= 0 else "" for number in per_task.tolist()]
    corpus = make_corpus(source.name, offsets, tasks, _tokens(source, place, has_token, offsets))
    if documents is not None:
        corpus = make_corpus(source.name, offsets, tasks, corpus.tokens, documents)

    labelled = worker >= 0
    key = task * max(1, len(workers)) + worker
    pairs, row = np.unique(key[labelled], return_inverse=True)
    sentence, annotator = np.divmod(pairs, max(1, len(workers)))
    row_offsets = offsets_of(np.diff(offsets)[sentence])
    source_row = np.flatnonzero(labelled)
    given = has_token[source_row]
    source_row = source_row[given]
    flat = row_offsets[row[given]] + index[source_row]
    _check_repeats(source, flat, source_row, tasks, task, workers, worker)
    tags = np.full(int(row_offsets[-1]), -1, np.int64)
    tags[flat] = label[source_row]

    def where(sentence: int, token: int, annotator: int) -> str:
        hits = (task == sentence) & (worker == annotator) & (index == token)
        return source.where(int(np.flatnonzero(hits)[0]))

    found = Columns(source.name, corpus, workers, labels, sentence, annotator, tags, where)
    return assemble(found, scheme)


def _coded(source: Source, column: str) -> tuple[list[str], Ints]:
    """The different values of a column, and each row's number among them (-1: empty)."""
    coded = source.strings(column).dictionary_encode()
    return coded.dictionary.to_pylist(), np.asarray(coded.indices.fill_null(-1)).astype(np.int64)


def _check_fields(
    source: Source, task: Ints, worker: Ints, label: Ints, index: Ints, has_token: npt.NDArray[Any]
) -> None:
    for bad, what, fix in (
        (task < 0, "the task is empty", None),
        ((worker < 0) & (label >= 0), "the worker is empty", "name who gave the label"),
        (has_token & (index < 0), "token_index must not be negative", "count from 0"),
        (~has_token & (label >= 0), "token_index is empty", "say which token has the label"),
    ):
        if bad.any():
            raise InputError(what, where=source.where(int(np.argmax(bad))), fix=fix)


def _lengths(
    source: Source, tasks: list[str], task: Ints, index: Ints, has_token: npt.NDArray[Any]
) -> Ints:
    """Offsets of the sequences; every token must have a row, so that lengths are known."""
    rows = np.flatnonzero(has_token)
    if len(rows) and index[rows].max() >= len(task):
        row = int(rows[np.argmax(index[rows])])
        raise InputError(
            "token_index is higher than the table has rows",
            where=source.where(row),
            got=str(index[row]),
            fix="count tokens from 0 within each task",
        )
    lengths = np.zeros(len(tasks), np.int64)
    np.maximum.at(lengths, task[rows], index[rows] + 1)
    width = int(lengths.max(initial=0)) + 1
    different = np.unique(task[rows] * width + index[rows])
    found = np.bincount(different // width, minlength=len(tasks))
    if (found != lengths).any():
        number = int(np.argmax(found != lengths))
        mine = different[different // width == number] % width
        absent = int(np.argmax(np.append(mine, -1) != np.arange(len(mine) + 1)))
        raise InputError(
            f"task {tasks[number]!r:.60} has no row for token {absent}",
            where=source.where(int(np.argmax(task == number))),
            fix="count tokens from 0; write a row with an empty label where nobody labelled",
        )
    return offsets_of(lengths)


def _tokens(
    source: Source, place: Ints, has_token: npt.NDArray[Any], offsets: Ints
) -> pa.Array | None:
    if not source.has("token"):
        return None
    words = source.strings("token").dictionary_encode()
    codes = np.asarray(words.indices.fill_null(-1)).astype(np.int64)
    known = has_token & (codes >= 0)
    agreed = _agreed(source, "token", codes, place, int(offsets[-1]), known)
    if (agreed < 0).all():
        return None
    if (agreed < 0).any():
        lacking = has_token & (agreed[np.where(has_token, place, 0)] < 0)
        raise InputError("the token is empty", where=source.where(int(np.argmax(lacking))))
    return words.dictionary.take(pa.array(agreed))


def _agreed(
    source: Source, column: str, codes: Ints, group: Ints, n_groups: int, known: npt.NDArray[Any]
) -> Ints:
    """The one value that each group's rows give (-1: none); raises where two differ."""
    agreed = np.full(n_groups, -1, np.int64)
    agreed[group[known][::-1]] = codes[known][::-1]
    rows = np.flatnonzero(known)
    differ = agreed[group[rows]] != codes[rows]
    if differ.any():
        row = int(rows[np.argmax(differ)])
        raise InputError(
            f"the {column} differs from the one given before for the same place",
            where=source.where(row),
            got=f"{source.strings(column)[row].as_py()!r:.60}",
        )
    return agreed


def _check_repeats(
    source: Source, flat: Ints, source_row: Ints, tasks: list[str], task: Ints,
    workers: list[str], worker: Ints,
) -> None:  # fmt: skip
    order = np.argsort(flat, kind="stable")
    again = np.flatnonzero(np.diff(flat[order]) == 0)
    if len(again):
        row = int(source_row[order[again + 1]].min())
        raise InputError(
            f"annotator {workers[worker[row]]!r:.60} labelled task {tasks[task[row]]!r:.60} twice",
            where=source.where(row),
            fix="keep one of the two, or add a token_index column if the task is a sequence"
            if not source.has("token_index")
            else "keep one of the two, or give the second pass a name of its own",
        )


def write_table(
    crowd: Crowd,
    path: Path,
    kind: str,
    confidence: npt.NDArray[Any] | None = None,
    level: str | None = None,
    span_confidence: npt.NDArray[Any] | None = None,
) -> None:
    """Write CSV, TSV or Parquet.

    Parameters
    ----------
    crowd, path, kind : what, where to, and ``csv``, ``tsv`` or ``parquet``.
    confidence : one number per token, for a column of its own.
    level : ``token`` or ``span``; by default spans where the corpus has texts and spans can say
        everything, else tokens.
    span_confidence : one number per token, that of the span it is in; ``confidence`` if not given.
    """
    if level not in (None, "token", "span"):
        raise ParameterError("level must be token or span", got=repr(level))
    texts = crowd.corpus.texts
    if level is None:
        spans_do = crowd.scheme.kind != "plain" and not (crowd.tags < 0).any()
        level = "span" if texts is not None and not texts.null_count and spans_do else "token"
    of_span = confidence if span_confidence is None else span_confidence
    table = span_table(crowd, of_span) if level == "span" else _token_table(crowd, confidence)
    if not table.num_rows:
        raise DataError("a crowd without sentences cannot be written as a table")
    if kind == "parquet":
        save_parquet(table, path)
    else:
        save_delimited(table, path, "," if kind == "csv" else "\t")


def _token_table(crowd: Crowd, confidence: npt.NDArray[Any] | None) -> pa.Table:
    """One row per row and token.

    A sentence that nobody saw has rows with an empty worker; one without tokens has a row with an
    empty token_index.
    """
    corpus = crowd.corpus
    tokens = corpus.tokens
    if tokens is not None and pc.any(pc.equal(tokens, "")).as_py():
        raise DataError("an empty token cannot be written in a table", fix="write .jsonl instead")
    unseen = np.setdiff1d(np.arange(crowd.n_sentences), crowd.row_sentence)
    sentence = np.concatenate([crowd.row_sentence, unseen]).astype(np.int64)
    row = np.concatenate([np.arange(crowd.n_rows), np.full(len(unseen), -1)])
    order = np.argsort(sentence, kind="stable")
    sentence, row = sentence[order], row[order]
    lengths = np.maximum(np.diff(corpus.token_offsets)[sentence], 1)
    starts = offsets_of(lengths)
    index = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    s, r = np.repeat(sentence, lengths), np.repeat(row, lengths)
    empty = np.diff(corpus.token_offsets)[s] == 0
    place = np.where(empty, 0, corpus.token_offsets[s] + index)
    flat = np.where((r < 0) | empty, -1, crowd.row_offsets[r] + index)
    tags = np.append(crowd.tags, np.int8(-1))[flat]
    names = pa.array(crowd.workers, pa.large_string())
    columns = {
        "task": corpus.sentence_ids.take(pa.array(s)),
        "worker": names.take(pa.array(np.append(crowd.row_worker, 0)[r], mask=r < 0)),
        "token_index": pa.array(index, mask=empty),
    }
    if tokens is not None:
        columns["token"] = tokens.take(pa.array(place, mask=empty))
    spelled = pa.array(crowd.scheme.labels, pa.large_string())
    columns["label"] = spelled.take(pa.array(tags, mask=tags < 0))
    if corpus.documents != ("",):
        columns["doc"] = pa.array(sentence_documents(corpus), pa.large_string()).take(pa.array(s))
    if confidence is not None:
        padded = np.append(np.asarray(confidence, np.float64), 0.0)
        columns["confidence"] = pa.array(padded[np.where(empty, -1, place)], mask=empty)
    return pa.table(columns)
