"""Long tables packed to one row per sentence: how labels lie in tables of other engines.

A long table has a row per (task, annotator, token). It is packed in two steps, both plain functions over
Arrow batches, so that any engine that can sort by task can use them:

1. :func:`fragments`: rows that stand together become a *fragment*, a run of one annotator's tags on one
   task. Names of annotators and labels become numbers. What is shuffled afterwards is about a byte a
   label, where the source keeps a task's rows together.
2. :func:`pack`: all fragments of a task, sorted, become one row: ``task``, ``n_tokens``, ``annotators``
   (int32 each) and ``tags`` (int8, annotator by annotator); ``tokens`` and ``doc`` if there are any.

The buffers of packed columns are the columns of a :class:`~seqtruth.data.crowd.Crowd` (:func:`crowds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.engine.base import Sums
from seqtruth.errors import InputError
from seqtruth.kernels.arrays import I8, I32, I64, Bool


class Layout(NamedTuple):
    """Which optional columns a packed table has."""

    text: bool
    doc: bool

    @property
    def fragment(self) -> pa.Schema:
        return self._schema([("worker", pa.int32()), ("first", pa.int32()), ("tags", pa.binary())])

    @property
    def packed(self) -> pa.Schema:
        return self._schema(
            [("n_tokens", pa.int32()), ("annotators", pa.binary()), ("tags", pa.binary())]
        )

    def _schema(self, columns: list[tuple[str, pa.DataType]]) -> pa.Schema:
        more = [("tokens", pa.list_(pa.string()))] * self.text + [("doc", pa.string())] * self.doc
        return pa.schema([("task", pa.string()), *columns, *more])


def fragments(
    rows: pa.RecordBatch, annotators: Mapping[str, int], labels: Mapping[str, int], layout: Layout
) -> pa.RecordBatch:
    """Rows of a long table as fragments; ``annotators`` and ``labels`` number the names.

    A row without annotator (-1) says that the token is there; one without token_index becomes a
    fragment without tags (its ``first`` is -1), which says that the annotator saw the task.
    """
    annotator, label = _numbered(rows, "worker", annotators), _numbered(rows, "label", labels)
    index, has_token = _whole_numbers(rows.column("token_index"))
    _check_rows(rows, annotator, label, index, has_token)
    breaks = _changes(rows, "task") | (np.diff(annotator, prepend=-2) != 0)
    breaks |= ~has_token | (np.diff(index, prepend=-2) != 1)
    if layout.doc:
        breaks |= _changes(rows, "doc")
    starts = np.flatnonzero(breaks)
    offsets = np.concatenate([[0], np.cumsum(has_token)])[np.append(starts, len(rows))]
    chosen = pa.array(starts)
    columns = [
        rows.column("task").take(chosen),
        pa.array(annotator[starts].astype(np.int32)),
        pa.array(index[starts].astype(np.int32)),
        _binary(label[has_token].astype(np.int8), offsets),
    ]
    if layout.text:
        tokens = rows.column("token").filter(pa.array(has_token))
        columns.append(_list(tokens, offsets))
    if layout.doc:
        columns.append(rows.column("doc").take(chosen))
    return pa.record_batch(columns, schema=layout.fragment)


def _numbered(rows: pa.RecordBatch, column: str, numbers: Mapping[str, int]) -> I64:
    """Each row's number (-1: empty); names not numbered were not there when names were counted."""
    coded = rows.column(column).dictionary_encode()
    names = coded.dictionary.to_pylist()
    unknown = next((name for name in names if name not in numbers), None)
    if unknown is not None:
        raise InputError(
            f"{column} {unknown!r:.60} was not there when the table was first read",
            fix="do not change the table during the run",
        )
    table = np.array([numbers[name] for name in names] + [-1], np.int64)
    numbered: I64 = table[np.asarray(coded.indices.fill_null(-1))]
    return numbered


def _whole_numbers(column: pa.Array) -> tuple[I64, Bool]:
    return np.asarray(column.fill_null(-1)), np.asarray(column.is_valid())


def _changes(rows: pa.RecordBatch, column: str) -> Bool:
    codes = np.asarray(rows.column(column).dictionary_encode().indices.fill_null(-1))
    changes: Bool = np.diff(codes, prepend=-2) != 0
    return changes


def _check_rows(
    rows: pa.RecordBatch, annotator: I64, label: I64, index: I64, has_token: Bool
) -> None:
    for bad, what, fix in (
        (~np.asarray(rows.column("task").is_valid()), "the task is empty", None),
        ((annotator < 0) & (label >= 0), "the annotator is empty", "name who gave the label"),
        (has_token & (index < 0), "token_index must not be negative", "count from 0"),
        (index >= 2**31 - 1, "token_index is too high", "count from 0 within each task"),
        (~has_token & (label >= 0), "token_index is empty", "say which token has the label"),
    ):
        if bad.any():
            row = int(np.argmax(bad))
            name = rows.column("task")[row].as_py()
            raise InputError(what, where=None if name is None else _place(name), fix=fix)


def _place(task: str) -> str:
    return f"task {task!r:.60}"


def _binary(values: I8 | I32, offsets: I64) -> pa.Array:
    """A binary column: the bytes of ``values`` cut at ``offsets``."""
    data = np.ascontiguousarray(values)
    ends = (offsets * data.itemsize).astype(np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(data)]
    )


def _list(values: pa.Array, offsets: I64) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values.cast(pa.string()))


def _bytes(column: pa.Array) -> tuple[I8, I64]:
    """Flat bytes and offsets of a binary column."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    flat = np.frombuffer(data or b"", np.int8)[ends[0] : ends[-1]]
    return flat, (ends - ends[0]).astype(np.int64)


def whole_tasks(batches: Iterable[pa.RecordBatch], limit: int) -> Iterator[pa.Table]:
    """Sorted fragments in tables of whole tasks, each of about ``limit`` tags."""
    held: list[pa.RecordBatch] = []
    n_tags = 0
    for batch in batches:
        held.append(batch)
        n_tags += len(_bytes(batch.column("tags"))[0])
        if n_tags >= limit:
            table = pa.Table.from_batches(held)
            cut = _last_task(table)
            if cut:
                yield table.slice(0, cut)
                held = table.slice(cut).to_batches()
                n_tags = sum(len(_bytes(rest.column("tags"))[0]) for rest in held)
    if any(len(batch) for batch in held):
        yield pa.Table.from_batches(held)


def _last_task(table: pa.Table) -> int:
    codes = _task_numbers(_one(table, "task"))
    return int(np.searchsorted(codes, codes[-1]))


def _task_numbers(tasks: pa.Array) -> I64:
    """Number of each sorted row's task, from 0 in the order of the rows."""
    return np.asarray(tasks.dictionary_encode().indices).astype(np.int64)


def _one(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece."""
    column = table.column(name)
    if column.num_chunks == 1:
        return column.chunk(0)
    joined = column.combine_chunks()
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def pack(table: pa.Table, layout: Layout) -> pa.RecordBatch:
    """Fragments sorted by task, annotator and first token, all of each task, as packed sentences."""
    task = _task_numbers(_one(table, "task"))
    first_of_task = np.flatnonzero(np.diff(task, prepend=-1))
    tasks = _one(table, "task").take(pa.array(first_of_task))
    annotator = np.asarray(_one(table, "worker")).astype(np.int64)
    begin = np.maximum(np.asarray(_one(table, "first")), 0).astype(np.int64)
    given, cuts = _bytes(_one(table, "tags"))
    length = np.diff(cuts)
    n_tokens = np.maximum.reduceat(begin + length, first_of_task)
    offsets = _offsets(n_tokens)
    place = _places(offsets[task] + begin, length)
    _check_covered(tasks, place, offsets)

    opens = (annotator >= 0) & (
        (np.diff(task, prepend=-1) != 0) | (np.diff(annotator, prepend=-2) != 0)
    )
    _check_repeats(tasks, task, begin, length, (annotator >= 0) & ~opens)
    row_task, row_annotator = task[opens], annotator[opens]
    row_offsets = _offsets(n_tokens[row_task])
    theirs = annotator >= 0
    row = np.cumsum(opens)[theirs] - 1
    tags = np.full(int(row_offsets[-1]), -1, np.int8)
    tags[_places(row_offsets[row] + begin[theirs], length[theirs])] = given[
        np.repeat(theirs, length)
    ]
    bounds = np.searchsorted(row_task, np.arange(len(tasks) + 1)).astype(np.int64)
    columns = [
        tasks,
        pa.array(n_tokens.astype(np.int32)),
        _binary(row_annotator.astype(np.int32), bounds),
        _binary(tags, row_offsets[bounds]),
    ]
    if layout.text:
        words = _one(table, "tokens").flatten().dictionary_encode()
        codes = np.asarray(words.indices.fill_null(-1)).astype(np.int64)
        agreed = _agreed("token", codes, place, tasks, offsets)
        if (agreed < 0).any():
            number = int(np.searchsorted(offsets, int(np.argmax(agreed < 0)), "right")) - 1
            raise InputError("a token is empty", where=_place(tasks[number].as_py()))
        columns.append(_list(words.dictionary.take(pa.array(agreed)), offsets))
    if layout.doc:
        docs = _one(table, "doc").dictionary_encode()
        codes = np.asarray(docs.indices.fill_null(-1)).astype(np.int64)
        agreed = _agreed("doc", codes, task, tasks, np.arange(len(tasks) + 1))
        columns.append(docs.dictionary.take(pa.array(agreed, mask=agreed < 0)))
    return pa.record_batch(columns, schema=layout.packed)


def _offsets(lengths: I64) -> I64:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _places(starts: I64, lengths: I64) -> I64:
    """start, start + 1 … of every segment, one after the other."""
    ends = _offsets(lengths)
    return np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])


def _check_covered(tasks: pa.Array, place: I64, offsets: I64) -> None:
    seen = np.zeros(int(offsets[-1]), np.bool_)
    seen[place] = True
    if not seen.all():
        absent = int(np.argmin(seen))
        number = int(np.searchsorted(offsets, absent, "right")) - 1
        raise InputError(
            f"task {tasks[number].as_py()!r:.60} has no row for token {absent - offsets[number]}",
            fix="count tokens from 0; write a row with an empty label where nobody labelled",
        )


def _check_repeats(tasks: pa.Array, task: I64, begin: I64, length: I64, goes_on: Bool) -> None:
    """Fragments of one annotator and task are sorted, so that repeats show between neighbours."""
    again = np.flatnonzero(goes_on & (begin < np.roll(begin + length, 1)))
    if len(again):
        raise InputError(
            "an annotator labelled the same token twice",
            where=_place(tasks[int(task[again[0]])].as_py()),
            fix="keep one of the two, or give the second pass a name of its own",
        )


def _agreed(column: str, codes: I64, group: I64, tasks: pa.Array, offsets: I64) -> I64:
    """The one value that each group's entries give (-1: none); raises where two differ."""
    known = codes >= 0
    group, codes = group[known], codes[known]
    agreed = np.full(int(offsets[-1]), -1, np.int64)
    agreed[group] = codes
    differ = agreed[group] != codes
    if differ.any():
        number = int(np.searchsorted(offsets, group[np.argmax(differ)], "right")) - 1
        raise InputError(
            f"the {column} is given in two ways for the same place",
            where=_place(tasks[number].as_py()),
        )
    return agreed


def crowds(
    batches: Iterable[pa.RecordBatch], scheme: Scheme, annotators: Sequence[str], limit: int
) -> Iterator[Crowd]:
    """Packed sentences as crowds of about ``limit`` tags, cut the same way whatever the batches."""
    names = tuple(annotators)
    held: list[pa.RecordBatch] = []
    n_tags = 0
    for batch in batches:
        held.append(batch)
        n_tags += len(_bytes(batch.column("tags"))[0])
        while n_tags >= limit:
            table = pa.Table.from_batches(held)
            ends = _bytes(_one(table, "tags"))[1][1:]
            cut = int(np.searchsorted(ends, limit)) + 1
            yield crowd(table.slice(0, cut), scheme, names)
            held = table.slice(cut).to_batches()
            n_tags -= int(ends[cut - 1])
    if any(len(batch) for batch in held):
        yield crowd(pa.Table.from_batches(held), scheme, names)


def crowd(table: pa.Table, scheme: Scheme, annotators: tuple[str, ...]) -> Crowd:
    """Packed sentences as a crowd."""
    row_annotator, annotator_ends = _bytes(_one(table, "annotators"))
    tags, _ = _bytes(_one(table, "tags"))
    has = set(table.column_names)
    documents, document = _documents(_one(table, "doc")) if "doc" in has else (("",), None)
    corpus = Corpus(
        _offsets(np.asarray(_one(table, "n_tokens")).astype(np.int64)),
        _one(table, "task"),
        _one(table, "tokens").flatten() if "tokens" in has else None,
        documents,
        document,  # type: ignore[arg-type]
    )
    rows = np.diff(annotator_ends) // 4
    return Crowd(
        corpus,
        scheme,
        annotators,
        np.repeat(np.arange(len(table), dtype=np.int32), rows),
        np.frombuffer(row_annotator.tobytes(), np.int32),
        tags,
    )


def _documents(column: pa.Array) -> tuple[tuple[str, ...], I32]:
    coded = column.fill_null("").dictionary_encode()
    return tuple(coded.dictionary.to_pylist()), np.asarray(coded.indices).astype(np.int32)


def map_tables(
    batches: Iterable[pa.RecordBatch], limit: int, layout: Layout
) -> Iterator[pa.RecordBatch]:
    """Sorted fragments to packed sentences, as a stream."""
    for table in whole_tasks(batches, limit):
        yield pack(table, layout)


def shape(crowd: Crowd) -> Sums:
    """Sizes of a part, and how often each label follows each other one."""
    n = crowd.n_labels
    before = np.roll(crowd.tags, 1).astype(np.int64)
    before[crowd.row_offsets[:-1][np.diff(crowd.row_offsets) > 0]] = -1
    given = crowd.tags >= 0
    pairs = np.where(before < 0, n, before)[given] * n + crowd.tags[given]
    return {
        "sizes": np.array([crowd.n_sentences, crowd.n_tokens], np.int64),
        "sentences": crowd.annotator_sentences.astype(np.int64),
        "tokens": crowd.annotator_tokens,
        "pairs": np.bincount(pairs, minlength=(n + 1) * n).reshape(n + 1, n).astype(np.int64),
    }
