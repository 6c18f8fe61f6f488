"""From the rows of a token table to a crowd: number, check, sort, lay out.

The only way there is, in memory, streamed and on a cluster: batches of rows become runs, whose names
are numbers (:class:`Coder`); the runs of whole tasks become a part (:func:`whole_tasks`); a part is laid
out as sentences and rows (:func:`lay_out_rows`), and given a scheme (:func:`make_crowd`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import MAX_LABELS, Scheme, detect_from_pairs
from seqtruth.errors import DataError, InputError
from seqtruth.io.assemble import Columns, as_input_error, fault_of, find_scheme, offsets_of
from seqtruth.io.longtable import runs as kernels
from seqtruth.io.longtable.codes import (
    CodedColumn,
    NotWhole,
    Numbering,
    in_order_of_appearance,
    text_codes,
    whole_numbers,
)
from seqtruth.io.longtable.runs import FAULTS, Runs, join
from seqtruth.io.longtable.sources import Batches
from seqtruth.kernels.arrays import I32, I64, MAX_ONE_BYTE_LABELS, Tags, tag_dtype
from seqtruth.kernels.memory import give_back
from seqtruth.kernels.tags import count_given, count_pairs

#: Of more runs than this, what is no longer needed is given back before they are sorted.
MANY = 1_000_000


class Coder:
    """Numbers the rows of one table, batch by batch.

    Parameters
    ----------
    table : what is read; names the place of a row.
    annotators, labels : names that have their numbers already, where the table was scanned before:
        it must not have others.
    """

    def __init__(
        self,
        table: Batches,
        annotators: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        self.name, self.where = table.name, table.where
        self.n_rows = min(table.n_rows, np.iinfo(np.int32).max)
        self.has_index = "token_index" in table.columns
        self.annotators, self.labels = Numbering(annotators or ()), Numbering(labels or ())
        self.documents, self.tokens = Numbering(), Numbering()
        self._scanned = (len(self.annotators), len(self.labels)) if annotators is not None else None

    def runs(self, batch: pa.RecordBatch, first_row: int) -> Runs:
        """The runs of one batch, which begins at this row of the table."""
        found = self._runs(batch, first_row)
        if self._scanned is not None and self._scanned != (len(self.annotators), len(self.labels)):
            raise InputError("the table has changed since it was scanned", where=self.name)
        return found

    def _runs(self, batch: pa.RecordBatch, first_row: int) -> Runs:
        task, annotator, label = (
            self._text(batch, column, first_row) for column in ("task", "worker", "label")
        )
        given = batch.schema.names
        document = self._text(batch, "doc", first_row) if "doc" in given else None
        index = self._index(batch, first_row)
        by_document = task.codes if document is None else document.codes
        starts, row, fault = kernels.find_runs(
            task.codes, annotator.codes, by_document, index, label.codes, self.n_rows
        )
        if fault >= 0:
            what, fix = FAULTS[fault]
            got = str(batch.column("token_index")[row].as_py()) if fault == 4 else None
            raise InputError(what, where=self.where(first_row + row), got=got, fix=fix)
        codes = task.codes[starts]
        begins = np.append(True, np.diff(codes) != 0)[: len(codes)]
        return Runs(
            first_row,
            _listed(task.names, codes[begins]),
            (np.cumsum(begins) - 1).astype(np.int32),
            self._annotators(annotator, starts),
            np.full(len(starts), -1, np.int32)
            if document is None
            else self.documents.recode(document._replace(codes=document.codes[starts])),
            index[starts],
            np.append(starts, batch.num_rows).astype(np.int64),
            self._labels(label),
            self.tokens.recode(self._text(batch, "token", first_row)) if "token" in given else None,
        )

    def _text(self, batch: pa.RecordBatch, column: str, first_row: int) -> CodedColumn:
        try:
            return text_codes(batch.column(column))
        except (pa.ArrowException, ValueError) as error:
            raise InputError(
                f"column {column!r} cannot be read as text",
                where=self.name,
                got=str(batch.column(column).type),
                fix=str(error)[:80],
            ) from None

    def _index(self, batch: pa.RecordBatch, first_row: int) -> I32:
        if not self.has_index:
            return np.zeros(batch.num_rows, np.int32)
        try:
            return kernels.bounded(*whole_numbers(batch.column("token_index")))
        except NotWhole as bad:
            raise InputError(
                "token_index must be a whole number",
                where=self.where(first_row + bad.row),
                got=f"{bad.text!r:.40}",
            ) from None
        except (pa.ArrowException, ValueError, IndexError) as error:
            raise InputError(
                "column 'token_index' cannot be read as whole numbers",
                where=self.name,
                got=str(batch.column("token_index").type),
                fix=str(error)[:80],
            ) from None

    def _annotators(self, annotator: CodedColumn, starts: I32) -> I32:
        """Annotators of the runs; they are numbered in the order in which they come."""
        codes = annotator.codes[starts]
        used = in_order_of_appearance(codes, len(annotator.names))
        numbers = np.full(len(annotator.names) + 1, -1, np.int32)
        numbers[used] = self.annotators.of(annotator.names.take(pa.array(used)))[:-1]
        return numbers[codes]

    def _labels(self, label: CodedColumn) -> Tags:
        if (
            len(label.names) > MAX_ONE_BYTE_LABELS
        ):  # a categorical may list labels that are in no row
            used, inverse = np.unique(label.codes, return_inverse=True)
            names = label.names.take(pa.array(np.maximum(used, 0)))
            missing = int(used[0] < 0)
            label = CodedColumn(inverse.astype(np.int32) - np.int32(missing), names[missing:])
        codes = self.labels.recode(label)
        if len(self.labels) > MAX_LABELS:
            raise InputError(
                f"at most {MAX_LABELS} different labels are supported",
                where=self.name,
                got=f"{len(self.labels)}",
                fix="check that the label column really holds labels",
            )
        return codes.astype(tag_dtype(len(self.labels)))


def whole_tasks(batches: Iterable[Runs], n_rows: int, documents: bool = False) -> Iterator[Runs]:
    """Parts: whole tasks, cut at the first border of tasks after ``n_rows`` rows, whatever the batches.

    Where ``documents`` are to be whole, at their next border, if it comes within half as many rows again.
    """
    pending: list[Runs] = []
    n_pending = 0
    for batch in batches:
        pending.append(batch)
        n_pending += batch.n_rows
        while n_pending > n_rows:
            runs = join(pending)
            last = _border(runs, n_rows, documents)
            pending = [runs]
            if not last:
                break
            yield runs.part(0, last)
            pending = [runs.part(last, len(runs.tasks))]
            n_pending = pending[0].n_rows
    if pending:
        yield join(pending)


def _border(runs: Runs, n_rows: int, documents: bool) -> int:
    """The first task that begins at or after so many rows; 0 where there is none yet."""
    run = int(np.searchsorted(runs.start[:-1], n_rows))
    while run < len(runs.task) and runs.task[run] == runs.task[run - 1]:
        run += 1
    if run == len(runs.task):
        return 0
    if documents and runs.document[run] >= 0:
        before, after = slice(run - 1, -1), slice(run, None)
        other = runs.document[after] != runs.document[before]
        other &= runs.task[after] != runs.task[before]
        farthest, next_one = n_rows + n_rows // 2, run + int(np.argmax(other))
        if other.any() and runs.start[next_one] <= farthest:
            return int(runs.task[next_one])
        if runs.n_rows <= farthest:
            return 0
    return int(runs.task[run])


class TableRows(NamedTuple):
    """Sentences and annotators' rows; the tags are numbers of the coder's labels.

    Parameters
    ----------
    corpus : the sentences.
    row_sentence, row_annotator : int32[R], sorted by sentence, then annotator; no pair twice.
    tags : int8 or int16[A]; -1 where not labelled.
    place : row of the table from (sentence, token, annotator).
    """

    corpus: Corpus
    row_sentence: I32
    row_annotator: I32
    tags: Tags
    place: Callable[[int, int, int], int]

    @property
    def row_offsets(self) -> I64:
        """int64[R+1]: start of each row's tags."""
        return offsets_of(np.diff(self.corpus.token_offsets)[self.row_sentence])


def count_rows(rows: TableRows | Crowd, n_annotators: int, n_labels: int) -> dict[str, I64]:
    """What a scan adds up: sizes, tags and sentences of each annotator, and pairs of labels."""
    offsets = rows.row_offsets
    return {
        "sizes": np.array([rows.corpus.n_sentences, rows.corpus.n_tokens], np.int64),
        "sentences": np.bincount(rows.row_annotator, minlength=n_annotators).astype(np.int64),
        "tokens": count_given(rows.tags, offsets, rows.row_annotator, n_annotators),
        "pairs": count_pairs(rows.tags, offsets, n_labels),
    }


def lay_out_rows(coder: Coder, runs: Runs, needs_text: bool = False) -> TableRows:
    """Sort runs by sentence and annotator; raises where rows lack, repeat or contradict.

    Parameters
    ----------
    coder : has numbered the runs, and names the places of their rows.
    runs : of whole tasks.
    needs_text : a column of tokens without any text is a fault too.
    """
    tasks, task = _numbered(runs)
    first_row, annotators, labels = runs.first_row, runs.annotator, runs.labels
    first, lengths, start = runs.first, runs.lengths, runs.start

    def at(row: int) -> str:
        return coder.where(first_row + row)

    offsets = offsets_of(kernels.longest(task, first, lengths, len(tasks)))
    lacking, token = kernels.first_gap(task, first, lengths, offsets)
    if lacking >= 0:
        what = f"task {tasks[lacking].as_py()!r:.60} has no row for token {token}"
        where = at(int(start[np.argmax(task == lacking)]))
        raise InputError(
            what,
            where=None if what.startswith(where) else where,
            fix="count tokens from 0; write a row with an empty label where nobody labelled",
        )
    documents, numbers = _documents(coder, runs, task, len(tasks), at)
    words = _words(coder, runs, task, offsets, needs_text, at)
    corpus = Corpus(offsets, tasks, words, documents, numbers)
    many = len(runs.task) > MANY
    del runs  # the rest of them may be a row each, and nobody else has them
    if many:
        give_back()

    order = kernels.sort_runs(task, annotators, len(tasks), len(coder.annotators))
    sentence, annotator = task[order], annotators[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (sentence[1:] != sentence[:-1]) | (annotator[1:] != annotator[:-1])
    sentence, annotator = sentence[begins], annotator[begins]
    pair = np.cumsum(begins, dtype=np.int64)
    pair -= 1  # in place: there may be one for every row
    if not begins.all():
        width = int(np.diff(offsets).max(initial=0))
        row = kernels.first_repeat(pair, order, first, lengths, start, width)
        if row >= 0:
            run = int(np.searchsorted(start, row, "right")) - 1
            name = tasks[int(task[run])].as_py()
            raise _repeat(coder, name, int(annotators[run]), at(row))
    row_offsets = offsets_of(np.diff(offsets)[sentence])
    tags = kernels.lay_out(pair, order, first, lengths, start, labels, row_offsets)

    def place(sentence: int, token: int, annotator: int) -> int:
        mine = (task == sentence) & (annotators == annotator)
        run = int(np.argmax(mine & (first <= token) & (token < first + lengths)))
        return first_row + int(start[run]) + token - int(first[run])

    return TableRows(corpus, sentence, annotator, tags, place)


def _listed(names: pa.Array, codes: I32) -> pa.Array:
    """Names by codes; as codes where names come again and again, as in a table in any order."""
    if len(codes) < 2 * len(names):
        return names.take(pa.array(codes))
    return pa.DictionaryArray.from_arrays(pa.array(codes), names)


def _numbered(runs: Runs) -> tuple[pa.Array, I32]:
    """Different tasks in the order in which they come, and the number of each run's."""
    coded = runs.tasks.dictionary_encode()
    names, numbers = coded.dictionary, np.asarray(coded.indices)
    if pa.types.is_dictionary(runs.tasks.type):  # whose names are in any order
        used = in_order_of_appearance(numbers, len(names))
        place = np.zeros(len(names), np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        names, numbers = names.take(pa.array(used)), place[numbers]
    return names, numbers[runs.task]


def _documents(
    coder: Coder, runs: Runs, task: I32, n_tasks: int, at: Callable[[int], str]
) -> tuple[tuple[str, ...], I32]:
    """Names of the documents, and each task's."""
    known = np.flatnonzero(runs.document >= 0)
    agreed = np.full(n_tasks, -1, np.int32)
    agreed[task[known][::-1]] = runs.document[known][::-1]
    differ = agreed[task[known]] != runs.document[known]
    if differ.any():
        run = known[np.argmax(differ)]
        raise _contradiction("doc", coder.documents, int(runs.document[run]), at(runs.start[run]))
    number = np.zeros(len(coder.documents) + 1, np.int32)  # 0 stands for no document
    used = in_order_of_appearance(agreed + np.int32(1), len(number))
    number[used] = np.arange(len(used))
    names = ("", *coder.documents.names.to_pylist()) if used.any() else ("",)
    return tuple(names[n] for n in used.tolist()) or ("",), number[agreed + 1]


def _words(
    coder: Coder, runs: Runs, task: I32, offsets: I64, needed: bool, at: Callable[[int], str]
) -> pa.Array | None:
    """The text of every token; None where no row has any, unless it is needed."""
    if runs.tokens is None:
        return None
    agreed = np.full(int(offsets[-1]), -1, np.int32)
    row = kernels.agree(task, runs.first, runs.lengths, runs.start, runs.tokens, offsets, agreed)
    if row >= 0:
        raise _contradiction("token", coder.tokens, int(runs.tokens[row]), at(row))
    absent = np.flatnonzero(agreed < 0)
    if len(absent) == len(agreed) and not needed:
        return None
    if len(absent):
        # The first row that is about any token without text.
        lengths = runs.lengths
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        place = np.repeat(offsets[task] + runs.first, lengths) + within
        rows = np.repeat(runs.start[:-1], lengths) + within
        raise InputError("the token is empty", where=at(int(rows[agreed[place] < 0].min())))
    return coder.tokens.names.take(pa.array(agreed))


def _contradiction(column: str, names: Numbering, number: int, where: str) -> InputError:
    return InputError(
        f"the {column} differs from the one given before for the same place",
        where=where,
        got=f"{names.text(number)!r:.60}",
    )


def _repeat(coder: Coder, task: str, annotator: int, where: str) -> InputError:
    name = coder.annotators.text(annotator)
    return InputError(
        f"annotator {name!r:.60} labelled task {task!r:.60} twice",
        where=where,
        fix="keep one of the two, or give the second pass a name of its own"
        if coder.has_index
        else "keep one of the two, or add a token_index column if the task is a sequence",
    )


def make_crowd(coder: Coder, rows: TableRows, scheme: str | None) -> Crowd:
    """The crowd, in the scheme given or detected."""
    pairs = count_pairs(rows.tags, rows.row_offsets, len(coder.labels))
    rules = find_rules(coder, pairs, scheme, rows)
    return Crowd.build(
        rows.corpus,
        coder.labels.names.to_pylist(),
        coder.annotators.names.to_pylist(),
        rows.row_sentence,
        rows.row_annotator,
        rows.tags,
        rules,
    )


def find_rules(
    coder: Coder, pairs: I64, scheme: str | None, rows: TableRows | None = None
) -> Scheme:
    """The scheme of the labels counted in ``pairs``; a fault is placed where ``rows`` are at hand."""
    labels = coder.labels.names.to_pylist()
    counts = pairs.sum(axis=0)
    kind = detect_from_pairs(labels, pairs) if scheme is None else Scheme.of(scheme, ()).kind
    used = [label for label, n in zip(labels, counts, strict=True) if n]
    if rows is not None and any(fault_of(kind, label) for label in used):
        _raise_first_fault(coder, rows, kind)
    try:
        return Scheme.of(kind, used)
    except DataError as error:
        raise as_input_error(error, coder.name) from None


def _raise_first_fault(coder: Coder, rows: TableRows, kind: str) -> None:
    columns = Columns(
        coder.name,
        rows.corpus,
        coder.annotators.names.to_pylist(),
        coder.labels.names.to_pylist(),
        rows.row_sentence.astype(np.int64),
        rows.row_annotator.astype(np.int64),
        rows.tags.astype(np.int64),
        lambda *of: coder.where(rows.place(*of)),
    )
    find_scheme(columns, kind)


def numbers_in(scheme: Scheme, coder: Coder) -> Tags:
    """The scheme's number of each of the coder's labels; -1 for one that is in no row."""
    return scheme.recoding(coder.labels.names.to_pylist(), missing=True)
