"""Rows of a token table as runs: neighbours of one task and annotator whose token_index counts up.

Every exporter writes one run for each task and annotator, so that what is left to do per row is
almost nothing. A table in any other order is only more runs; the shortest is one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.kernels.arrays import I32, I64, Tags
from seqtruth.kernels.native import call

#: Faults of single rows, as :func:`find_runs` numbers them: what and how to mend it.
FAULTS: tuple[tuple[str, str | None], ...] = (
    ("the task is empty", None),
    ("the annotator is empty", "name who gave the label"),
    ("token_index must not be negative", "count from 0"),
    ("token_index is empty", "say which token has the label"),
    ("token_index is higher than the table has rows", "count tokens from 0 within each task"),
)
#: token_index of a row that has none, and of one that is negative.
NO_TOKEN, NEGATIVE = -1, -2


class Runs(NamedTuple):
    """Neighbouring rows of a table.

    Parameters
    ----------
    first_row : place of the first row in the table.
    tasks : names, or codes of names where many come again; a task that comes back after another one is
        listed again.
    task : int32[N], the place in ``tasks`` of each run's task; never falls.
    annotator, document : int32[N], numbers; -1 for none.
    first : int32[N], token_index of a run's first row; NO_TOKEN where it has none.
    start : int64[N+1], borders of the runs among the rows.
    labels : int8 or int16[rows], numbers; -1 for none.
    tokens : int32[rows], likewise; None where the table has no tokens.
    """

    first_row: int
    tasks: pa.Array
    task: I32
    annotator: I32
    document: I32
    first: I32
    start: I64
    labels: Tags
    tokens: I32 | None

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> I64:
        """int64[N]: tokens of each run."""
        found = np.diff(self.start)
        found[self.first == NO_TOKEN] = 0
        return found

    def part(self, first: int, last: int) -> Runs:
        """The runs of the tasks ``first`` to ``last`` (not included)."""
        a, b = np.searchsorted(self.task, (first, last))
        x, y = int(self.start[a]), int(self.start[b])
        return Runs(
            self.first_row + x,
            self.tasks[first:last],
            self.task[a:b] - np.int32(first),
            self.annotator[a:b],
            self.document[a:b],
            self.first[a:b],
            self.start[a : b + 1] - x,
            self.labels[x:y],
            None if self.tokens is None else self.tokens[x:y],
        )


def find_runs(
    task: I32, annotator: I32, document: I32, index: I32, label: I32, n_rows: int
) -> tuple[I32, int, int]:
    """Where runs begin; and the first faulty row with the number of its fault, or -1 and -1."""
    starts, fault = np.empty(len(task), np.int32), np.full(2, -1)
    n_runs = call("find_runs", task, annotator, document, index, label, n_rows, starts, fault)
    return starts[:n_runs], int(fault[0]), int(fault[1])


def join(batches: list[Runs]) -> Runs:
    """Neighbouring batches as one; runs and tasks that go on over a border are made whole.

    The list is emptied, batch by batch, so that they do not all stay beside what is made of them: there may
    be a run for every row.
    """
    if len(batches) == 1:
        return batches.pop()
    first_row = batches[0].first_row
    n_tasks = np.cumsum([0] + [len(batch.tasks) for batch in batches])
    n_runs = np.cumsum([0] + [len(batch.task) for batch in batches])
    rows = np.cumsum([0] + [batch.n_rows for batch in batches])
    tasks = _joined([batch.tasks for batch in batches])
    borders = n_tasks[1:-1]
    inner = borders[(borders > 0) & (borders < len(tasks))]
    # of several empty batches only one border is there
    again = [n for n in np.unique(inner).tolist() if tasks[n].as_py() == tasks[n - 1].as_py()]
    less = np.searchsorted(again, n_tasks[:-1], "right")
    task, annotator, document, first = (np.empty(n_runs[-1], np.int32) for _ in range(4))
    start = np.empty(n_runs[-1] + 1, np.int64)
    labels = np.empty(rows[-1], np.result_type(*(batch.labels for batch in batches)))
    tokens = None if batches[0].tokens is None else np.empty(rows[-1], np.int32)
    start[-1] = rows[-1]
    while batches:  # the youngest first: that is how memory is given back
        batch = batches.pop()
        n = len(batches)
        mine, its_rows = slice(n_runs[n], n_runs[n + 1]), slice(rows[n], rows[n + 1])
        np.add(batch.task, np.int32(n_tasks[n] - less[n]), out=task[mine])
        np.add(batch.start[:-1], rows[n], out=start[mine])
        annotator[mine], document[mine] = batch.annotator, batch.document
        first[mine], labels[its_rows] = batch.first, batch.labels
        if tokens is not None:
            tokens[its_rows] = batch.tokens
        del batch
    # a batch's own runs are as long as they can be
    at = np.unique(n_runs[1:-1])
    at = at[(at > 0) & (at < len(task))]
    goes_on = (
        (task[at] == task[at - 1])
        & (annotator[at] == annotator[at - 1])
        & (document[at] == document[at - 1])
        & (first[at - 1] != NO_TOKEN)
        & (first[at] == first[at - 1] + start[at] - start[at - 1])
    )
    drop = at[goes_on]
    if len(drop):
        task, annotator, document = (np.delete(x, drop) for x in (task, annotator, document))
        first, start = np.delete(first, drop), np.delete(start, drop)
    if again:
        tasks = tasks.take(pa.array(np.delete(np.arange(len(tasks)), again)))
    return Runs(first_row, tasks, task, annotator, document, first, start, labels, tokens)


def _joined(tasks: Sequence[pa.Array]) -> pa.Array:
    """One column; as codes, where one of them is."""
    if not any(pa.types.is_dictionary(part.type) for part in tasks):
        return pa.concat_arrays(tasks)
    coded = [
        part if pa.types.is_dictionary(part.type) else part.dictionary_encode() for part in tasks
    ]
    found = pa.chunked_array(coded).unify_dictionaries().combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def longest(task: I32, first: I32, lengths: I64, n_tasks: int) -> I64:
    """int64[n_tasks]: tokens of each task, by the highest token_index."""
    found = np.zeros(n_tasks, np.int64)
    call("find_lengths", task, first, lengths, found)
    return found


def first_gap(task: I32, first: I32, lengths: I64, offsets: I64) -> tuple[int, int]:
    """The first task that lacks a row for one of its tokens, and that token; -1 and -1 if none."""
    found = np.full(2, -1)
    call("first_gap", task, first, lengths, offsets, found)
    return int(found[0]), int(found[1])


def sort_runs(task: I32, annotator: I32, n_tasks: int, n_annotators: int) -> I64:
    """Runs with an annotator by task, annotator and place in the table (two counting sorts)."""
    order = np.empty(np.count_nonzero(annotator >= 0), np.int64)
    call("sort_runs", task, annotator, n_tasks, n_annotators, order)
    return order


def first_repeat(pair: I64, order: I64, first: I32, lengths: I64, start: I64, longest: int) -> int:
    """The first row that labels what its annotator labelled before; -1 if there is none."""
    return int(call("first_repeat", pair, order, first, lengths, start, longest))


def lay_out(
    pair: I64, order: I64, first: I32, lengths: I64, start: I64, labels: Any, row_offsets: I64
) -> Any:
    """Labels of each pair of task and annotator one after the other; -1 where there is none."""
    tags = np.full(row_offsets[-1], -1, labels.dtype)
    call("lay_out", pair, order, first, lengths, start, labels, row_offsets, tags)
    return tags


def agree(
    task: I32, first: I32, lengths: I64, start: I64, codes: I32, offsets: I64, agreed: I32
) -> int:
    """Fill in the one code that rows give for each token (-1: none); the first row that differs."""
    return int(call("agree_on_codes", task, first, lengths, start, codes, offsets, agreed))


def bounded(index: I64, given: npt.NDArray[np.bool_]) -> I32:
    """token_index in four bytes, with NO_TOKEN and NEGATIVE; what does not fit stays too high."""
    top = np.iinfo(np.int32).max
    if len(index) and int(index.min()) >= 0 and int(index.max()) <= top and given.all():
        return index.astype(np.int32)
    inside = np.where(index < 0, NEGATIVE, np.minimum(index, top))
    return np.where(given, inside, NO_TOKEN).astype(np.int32)
