"""Parquet tables larger than memory: one scan for the facts, then crowd after crowd, in file order.

A table is a file, a folder of files (in the order of their names) or a pattern such as
``labels/*.parquet``. TableRows of one task must be neighbours. Parts are whole tasks and end where they
have reached :data:`PART_ROWS` rows, or where the document they are in ends (if it does so within half as
many rows again), so that every pass over the table gives the same parts.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme, detect_from_pairs
from seqtruth.errors import InputError
from seqtruth.io.longtable.ahead import ahead
from seqtruth.io.longtable.build import (
    Coder,
    TableRows,
    count_rows,
    find_rules,
    lay_out_rows,
    numbers_in,
    whole_tasks,
)
from seqtruth.io.longtable.codes import text_codes
from seqtruth.io.longtable.runs import Runs
from seqtruth.io.longtable.sources import KNOWN, Batches, open_parquet, stream_parquet
from seqtruth.kernels.arrays import I64, U64
from seqtruth.kernels.random import sentence_keys
from seqtruth.kernels.tags import count_pairs, recode

#: A part has at least this many rows, the last one excepted.
PART_ROWS = 4_000_000

_LABELLING = ("task", "worker", "label", "token_index", "doc")
_SUFFIXES = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class PartedTable:
    """A table of token rows whose facts are known, to be read in parts.

    Parameters
    ----------
    name : what was scanned, for messages.
    files : the Parquet files, in order.
    scheme, annotators : labels and annotators, numbered as reading the table in memory does.
    labels : the labels in the order in which the files have them.
    n_sentences, n_tokens : sizes.
    n_annotations : tags given; one that is missing inside a row is no annotation.
    annotator_sentences, annotator_tokens : int64[W], how much each annotator labelled.
    has_text, has_documents : whether there are tokens, and names of documents.
    digest : names the files by their content.
    """

    name: str
    files: tuple[Path, ...]
    scheme: Scheme
    annotators: tuple[str, ...]
    labels: tuple[str, ...]
    n_sentences: int
    n_tokens: int
    n_annotations: int
    annotator_sentences: I64
    annotator_tokens: I64
    has_text: bool
    has_documents: bool
    digest: str

    def crowds(self, text: bool = False) -> Iterator[Crowd]:
        """The parts in order, each made while the one before is worked on; tokens if ``text``."""
        return ahead(self._crowds(text))

    def _crowds(self, text: bool) -> Iterator[Crowd]:
        table = _table(self.name, self.files, text and self.has_text)
        coder = Coder(table, self.annotators, self.labels)
        numbers = numbers_in(self.scheme, coder)
        for runs in _parts(table, coder):
            rows = lay_out_rows(coder, runs, needs_text=self.has_text)
            yield Crowd(
                rows.corpus,
                self.scheme,
                self.annotators,
                rows.row_sentence,
                rows.row_annotator,
                recode(rows.tags, numbers),
            )
            pa.default_memory_pool().release_unused()


def scan(path: str | os.PathLike[str], scheme: str | None = None) -> PartedTable:
    """Read a table once, in bounded memory, for its facts; every row is checked on the way.

    Parameters
    ----------
    path : a Parquet file, a folder of such files, or a pattern.
    scheme : the scheme of the tags; detected where not given.

    Raises
    ------
    InputError
        Where a table read in memory raises one, and where rows of one task are not neighbours.
    """
    name = os.fspath(path)
    files = find_files(name)
    table = _table(name, files, False)
    coder = Coder(table)
    found = _Counts()
    try:
        for runs, rows in ahead(_laid_out(table, coder)):
            found.add(coder, runs, rows)
    except InputError:
        # rows of a task that stand apart look as if some were lacking: say so, if that is it
        _check_neighbours(name, files, _keys_in_order(files))
        raise
    _check_neighbours(name, files, found.task_keys())
    n_labels, n_annotators = len(coder.labels), len(coder.annotators)
    pairs = _grown(found.pairs, n_labels)
    rules = _rules(name, files, coder, pairs, scheme)
    return PartedTable(
        name,
        files,
        rules,
        tuple(coder.annotators.names.to_pylist()),
        tuple(coder.labels.names.to_pylist()),
        int(found.sizes[0]),
        int(found.sizes[1]),
        int(found.annotator_tokens.sum()),
        np.pad(found.annotator_sentences, (0, n_annotators - len(found.annotator_sentences))),
        np.pad(found.annotator_tokens, (0, n_annotators - len(found.annotator_tokens))),
        _has_text(files),
        len(coder.documents) > 0,
        _digest(files),
    )


def _rules(
    name: str, files: tuple[Path, ...], coder: Coder, pairs: I64, scheme: str | None
) -> Scheme:
    """The scheme; where a tag is not in it, the table is read again to say at which row."""
    try:
        return find_rules(coder, pairs, scheme)
    except InputError:
        labels = coder.labels.names.to_pylist()
        kind = detect_from_pairs(labels, pairs) if scheme is None else scheme
        table = _table(name, files, False)
        again = Coder(table)
        for _, rows in _laid_out(table, again):
            mine = count_pairs(rows.tags, rows.row_offsets, len(again.labels))
            find_rules(again, mine, kind, rows)
        raise


def find_files(name: str) -> tuple[Path, ...]:
    """The Parquet files of a path, in the order of their names."""
    path = Path(name)
    if path.is_dir():
        inside = [x for x in path.iterdir() if not x.name.startswith((".", "_"))]
        files = sorted(x for x in inside if x.suffix.lower() in _SUFFIXES)
        if not files:
            raise InputError("the folder holds no Parquet files", where=name)
        return tuple(files)
    if not path.exists() and glob.has_magic(name):
        files = sorted(Path(found) for found in glob.glob(name))
        if not files:
            raise InputError("no file is named like this", where=name)
        return tuple(files)
    return (path,)


def _table(name: str, files: tuple[Path, ...], text: bool) -> Batches:
    """Files one after the other as one table, labels only or with the tokens."""
    wanted = (*_LABELLING, "token") if text else _LABELLING
    opened = [open_parquet(path) for path in files]
    columns = [tuple(x for x in KNOWN if x in file.schema_arrow.names) for file in opened]
    for path, mine in zip(files, columns, strict=True):
        if "start" in mine or "end" in mine:
            raise InputError(
                "a table of spans cannot be read in parts",
                where=str(path),
                fix="read it in memory, or write a row per token",
            )
        if mine != columns[0]:
            raise InputError(
                f"the columns differ from those of {files[0].name}",
                where=str(path),
                got=", ".join(mine),
                fix=f"all files need {', '.join(columns[0])}",
            )
    borders = np.cumsum([0] + [file.metadata.num_rows for file in opened])
    for file in opened:
        file.close(force=True)
    if not borders[-1]:
        raise InputError("the table has no rows", where=name)

    def where(row: int) -> str:
        file = int(np.searchsorted(borders, row, "right")) - 1
        return f"{files[file]}: row {row - borders[file] + 1}"

    return Batches(name, columns[0], int(borders[-1]), _stream(files, wanted), where)


def _stream(files: tuple[Path, ...], columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    for path in files:
        file = open_parquet(path)
        try:
            yield from stream_parquet(path, file, columns)
        finally:
            file.close(force=True)


def _parts(table: Batches, coder: Coder) -> Iterator[Runs]:
    def coded() -> Iterator[Runs]:
        row = 0
        for batch in table.batches:
            yield coder.runs(batch, row)
            row += batch.num_rows

    return whole_tasks(coded(), PART_ROWS, documents=True)


def _laid_out(table: Batches, coder: Coder) -> Iterator[tuple[Runs, TableRows]]:
    for runs in _parts(table, coder):
        yield runs, lay_out_rows(coder, runs)
        pa.default_memory_pool().release_unused()


class _Counts:
    """What a scan adds up."""

    def __init__(self) -> None:
        self.sizes = np.zeros(2, np.int64)
        self.pairs = np.zeros((1, 0), np.int64)
        self.annotator_sentences = self.annotator_tokens = np.zeros(0, np.int64)
        self._keys: list[U64] = []

    def add(self, coder: Coder, runs: Runs, rows: TableRows) -> None:
        # The coder may be ahead by one part: what it knows by now is enough for this one.
        n_labels, n_annotators = len(coder.labels), len(coder.annotators)
        found = count_rows(rows, n_annotators, n_labels)
        self.sizes += found["sizes"]
        self.pairs = _grown(self.pairs, n_labels) + found["pairs"]
        self.annotator_tokens = _sum(self.annotator_tokens, found["tokens"])
        self.annotator_sentences = _sum(self.annotator_sentences, found["sentences"])
        self._keys.append(sentence_keys(runs.tasks, 0))

    def task_keys(self) -> U64:
        return np.concatenate(self._keys)


def _sum(a: I64, b: I64) -> I64:
    """``a`` may be shorter."""
    return np.pad(a, (0, len(b) - len(a))) + b


def _grown(pairs: I64, n_labels: int) -> I64:
    """Counts of pairs with room for labels found since."""
    known = pairs.shape[1]
    grown = np.zeros((n_labels + 1, n_labels), np.int64)
    grown[:known, :known] = pairs[:-1]
    grown[-1, :known] = pairs[-1]
    return grown


def _check_neighbours(name: str, files: tuple[Path, ...], keys: U64) -> None:
    """Raise where a task comes back after another one; only eight bytes a task were kept."""
    ordered = np.sort(keys)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return
    table = _table(name, files, False)
    seen: set[str] = set()
    row, before = 0, None
    for batch in _stream(files, ("task",)):
        column = batch.column("task")
        texts = column.cast(pa.large_string())
        suspects = np.flatnonzero(np.isin(sentence_keys(texts, 0), twice))
        for place in suspects.tolist():
            task = texts[place].as_py()
            if task in seen and before != (row + place - 1, task):
                raise InputError(
                    f"rows of task {task!r:.60} are not neighbours",
                    where=table.where(row + place),
                    fix="sort the table by task, or read it in memory",
                )
            seen.add(task)
            before = row + place, task
        row += batch.num_rows


def _keys_in_order(files: tuple[Path, ...]) -> U64:
    """The key of each task, again wherever another one stands before it."""
    found: list[U64] = []
    for batch in _stream(files, ("task",)):
        texts = batch.column("task").cast(pa.large_string()).fill_null("")
        keys = sentence_keys(texts, 0)
        kept = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
        if len(keys) and found and found[-1][-1] == keys[0]:
            kept[0] = False
        if kept.any():
            found.append(keys[kept])
    return np.concatenate(found) if found else np.zeros(0, np.uint64)


def _has_text(files: tuple[Path, ...]) -> bool:
    """Whether any row has a token; reads as far as the first."""
    if "token" not in open_parquet(files[0]).schema_arrow.names:
        return False
    batches = (batch.column("token") for batch in _stream(files, ("token",)))
    return any((text_codes(column).codes >= 0).any() for column in batches)


def _digest(files: tuple[Path, ...]) -> str:
    """SHA-256 of the files' content, in their order: footers alone are the same for other labels."""
    h = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            h.update(hashlib.file_digest(file, "sha256").digest())
    return h.hexdigest()
