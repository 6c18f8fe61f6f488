"""Runs and sentences as rows of tables: how labels travel and lie in tables of other engines.

A long table has a row per (task, annotator, token). It is packed in two steps, both plain functions over
Arrow batches, so that any engine that can sort by task can use them; the work itself is that of
:mod:`seqtruth.io.longtable.build`:

1. :func:`cut`: rows become runs, one table row each, with numbers for the names of annotators and labels.
   What is shuffled afterwards is about a byte a label, where the source keeps a task's rows together.
2. :func:`pack`: all runs of a task become one row: ``task``, ``n_tokens``, ``annotators`` (int32 each) and
   ``tags`` (one or two bytes each, annotator by annotator); ``tokens`` and ``doc`` if there are any.

The buffers of packed columns are the columns of a :class:`~seqtruth.data.crowd.Crowd` (:func:`crowds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.io.assemble import offsets_of
from seqtruth.io.longtable.build import Coder, TableRows, lay_out_rows, whole_tasks
from seqtruth.io.longtable.codes import text_codes
from seqtruth.io.longtable.runs import NO_TOKEN, Runs
from seqtruth.io.longtable.sources import Batches
from seqtruth.kernels.arrays import I32, I64, tag_dtype


@dataclass(frozen=True)
class Layout:
    """What a packed table has.

    Parameters
    ----------
    annotators, labels : names by their numbers.
    n_rows : rows of the long table.
    text, doc : whether there are the columns ``tokens`` and ``doc``.
    """

    annotators: tuple[str, ...]
    labels: tuple[str, ...]
    n_rows: int
    text: bool
    doc: bool

    @property
    def runs(self) -> pa.Schema:
        return self._schema([("worker", pa.int32()), ("first", pa.int32()), ("tags", pa.binary())])

    @property
    def packed(self) -> pa.Schema:
        return self._schema(
            [("n_tokens", pa.int32()), ("annotators", pa.binary()), ("tags", pa.binary())]
        )

    def _schema(self, columns: list[tuple[str, pa.DataType]]) -> pa.Schema:
        more = [("tokens", pa.list_(pa.string()))] * self.text + [("doc", pa.string())] * self.doc
        return pa.schema([("task", pa.string()), *columns, *more])

    def coder(self, tasks: pa.Array) -> Coder:
        """Numbers names; the place of a row is its task."""

        def where(row: int) -> str:
            name = tasks[row].as_py()
            return "" if name is None else f"task {name!r:.60}"

        columns = ("task", "worker", "label", "token_index")
        return Coder(
            Batches("the table", columns, self.n_rows, (), where), self.annotators, self.labels
        )


def cut(batch: pa.RecordBatch, layout: Layout) -> pa.RecordBatch:
    """Rows of a long table as runs.

    A run without annotator (-1) says that the tokens are there; one without tags (its ``first`` is -1)
    that the annotator saw the task.
    """
    coder = layout.coder(batch.column("task"))
    runs = coder.runs(batch, 0)
    has_token = np.repeat(runs.first != NO_TOKEN, np.diff(runs.start))
    offsets = offsets_of(runs.lengths)
    columns = [
        runs.tasks.take(pa.array(runs.task)).cast(pa.string()),
        pa.array(runs.annotator),
        pa.array(runs.first),
        _binary(runs.labels[has_token].astype(tag_dtype(len(layout.labels))), offsets),
    ]
    if runs.tokens is not None:
        columns.append(_list(_named(coder.tokens.names, runs.tokens[has_token]), offsets))
    if layout.doc:
        columns.append(_named(coder.documents.names, runs.document))
    return pa.record_batch(columns, schema=layout.runs)


def joined(batches: Iterable[pa.RecordBatch], n_rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at least so many, but for the last: each batch has a price of its own."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= n_rows:
            yield from pa.Table.from_batches(held).combine_chunks().to_batches()
            held = []
    if any(map(len, held)):
        yield from pa.Table.from_batches(held).combine_chunks().to_batches()


def pack(
    batches: Iterable[pa.RecordBatch], layout: Layout, n_rows: int
) -> Iterator[pa.RecordBatch]:
    """Runs sorted by task as packed sentences, about so many rows of the long table at a time."""
    coder = layout.coder(pa.array([], pa.string()))
    for runs in whole_tasks((_uncut(batch, coder) for batch in batches), n_rows):
        row_task = np.repeat(runs.task, np.diff(runs.start))
        coder.where = layout.coder(runs.tasks.take(pa.array(row_task))).where
        rows = lay_out_rows(coder, runs._replace(first_row=0), needs_text=layout.text)
        yield _packed(rows, layout)


def _uncut(batch: pa.RecordBatch, coder: Coder) -> Runs:
    """The inverse of :func:`cut`."""
    coded = batch.column("task").dictionary_encode()
    number = np.asarray(coded.indices).astype(np.int32)
    tags, offsets = _values(batch.column("tags"), tag_dtype(len(coder.labels)))
    names = batch.schema.names
    documents = np.full(len(batch), -1, np.int32)
    if "doc" in names:
        documents = coder.documents.recode(text_codes(batch.column("doc")))
    tokens = None
    if "tokens" in names:
        tokens = coder.tokens.recode(text_codes(batch.column("tokens").flatten()))
    return Runs(
        0,
        coded.dictionary.cast(pa.large_string()),
        number,
        np.asarray(batch.column("worker")),
        documents,
        np.asarray(batch.column("first")),
        offsets,
        tags,
        tokens,
    )


def _packed(rows: TableRows, layout: Layout) -> pa.RecordBatch:
    corpus = rows.corpus
    bounds = np.searchsorted(rows.row_sentence, np.arange(corpus.n_sentences + 1)).astype(np.int64)
    columns = [
        corpus.sentence_ids.cast(pa.string()),
        pa.array(np.diff(corpus.token_offsets).astype(np.int32)),
        _binary(rows.row_annotator.astype(np.int32), bounds),
        _binary(rows.tags.astype(tag_dtype(len(layout.labels))), rows.row_offsets[bounds]),
    ]
    if layout.text:
        columns.append(_list(corpus.tokens, corpus.token_offsets))
    if layout.doc:
        columns.append(_named(pa.array(corpus.documents, pa.string()), corpus.sentence_document))
    return pa.record_batch(columns, schema=layout.packed)


def _named(names: pa.Array, codes: I32) -> pa.Array:
    """Text by codes; empty where the code is negative."""
    return names.cast(pa.string()).take(pa.array(codes, mask=codes < 0))


def _binary(values: Any, offsets: I64) -> pa.Array:
    """A binary column: the bytes of ``values`` cut at ``offsets``."""
    data = np.ascontiguousarray(values)
    ends = (offsets * data.itemsize).astype(np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(data)]
    )


def _list(values: pa.Array, offsets: I64) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values.cast(pa.string()))


def _values(column: pa.Array, dtype: Any) -> tuple[np.ndarray, I64]:
    """Flat values and offsets of a binary column."""
    _, offsets, data = column.buffers()
    size = np.dtype(dtype).itemsize
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    flat = np.frombuffer(data or b"", np.int8)[ends[0] : ends[-1]]
    return np.frombuffer(flat.tobytes(), dtype), (ends - ends[0]).astype(np.int64) // size


def _one(table: pa.Table, name: str) -> pa.Array:
    """A column as one array."""
    column = table.column(name)
    if column.num_chunks == 1:
        return column.chunk(0)
    joined = column.combine_chunks()
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def crowds(
    batches: Iterable[pa.RecordBatch], scheme: Scheme, annotators: tuple[str, ...], limit: int
) -> Iterator[Crowd]:
    """Packed sentences as parts of about ``limit`` tags, cut the same way whatever the batches.

    Documents stay whole where theirs are neighbours, and end within half as many tags again.
    """
    held: list[pa.RecordBatch] = []
    n_tags = 0
    for batch in batches:
        held.append(batch)
        n_tags += len(_values(batch.column("tags"), scheme.tag_dtype)[0])
        while n_tags >= limit:
            table = pa.Table.from_batches(held)
            ends = _values(_one(table, "tags"), scheme.tag_dtype)[1][1:]
            last = _last(table, ends, limit)
            if not last:
                break
            yield _crowd(table.slice(0, last), scheme, annotators)
            held = table.slice(last).to_batches()
            n_tags -= int(ends[last - 1])
    if any(len(batch) for batch in held):
        yield _crowd(pa.Table.from_batches(held), scheme, annotators)


def _last(table: pa.Table, ends: I64, limit: int) -> int:
    """How many sentences are a part; 0 where more must be seen to tell."""
    last = int(np.searchsorted(ends, limit)) + 1
    if "doc" not in table.column_names:
        return last
    document = np.asarray(_one(table, "doc").fill_null("").dictionary_encode().indices)
    other = document[last:] != document[last - 1 : -1]
    farthest, border = limit + limit // 2, last + int(np.argmax(other)) if other.any() else last
    if other.any() and ends[border - 1] <= farthest:
        return border
    return last if ends[-1] > farthest else 0


def _crowd(table: pa.Table, scheme: Scheme, annotators: tuple[str, ...]) -> Crowd:
    """Packed sentences as a crowd."""
    row_annotator, rows = _values(_one(table, "annotators"), np.int32)
    tags, _ = _values(_one(table, "tags"), scheme.tag_dtype)
    has = set(table.column_names)
    documents, document = _documents(_one(table, "doc")) if "doc" in has else (("",), None)
    corpus = Corpus(
        offsets_of(np.asarray(_one(table, "n_tokens")).astype(np.int64)),
        _one(table, "task"),
        _one(table, "tokens").flatten() if "tokens" in has else None,
        documents,
        document,  # type: ignore[arg-type]
    )
    row_sentence = np.repeat(np.arange(len(table), dtype=np.int32), np.diff(rows))
    return Crowd(corpus, scheme, annotators, row_sentence, row_annotator, tags)


def _documents(column: pa.Array) -> tuple[tuple[str, ...], I32]:
    coded = column.fill_null("").dictionary_encode()
    return tuple(coded.dictionary.to_pylist()), np.asarray(coded.indices).astype(np.int32)
