"""Collecting sentences record by record: tokens with tags, or texts with spans, in any mixture."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import Spans, paint
from seqtruth.errors import DataError, InputError
from seqtruth.io.assemble import (
    Columns,
    as_input_error,
    assemble,
    find_scheme,
    offsets_of,
)
from seqtruth.io.growing import Growing, GrowingTexts
from seqtruth.io.json_blocks import TokenRecords
from seqtruth.io.text_batch import Texts
from seqtruth.io.text_spans import TextSpan, in_order, tidy, token_spans
from seqtruth.io.tokens import tokenise
from seqtruth.kernels.arrays import MAX_ONE_BYTE_LABELS


class _Codes(dict[str | None, int]):
    """Tag to number, counting up; None (not labelled) is -1."""

    def __init__(self) -> None:
        super().__init__({None: -1})

    def __missing__(self, tag: object) -> int:
        if not isinstance(tag, str) or not tag:
            raise TypeError(tag)
        self[tag] = len(self) - 1
        return self[tag]


def given_twice(name: str, where: str, first: str) -> InputError:
    """An id that stands for two sentences."""
    return InputError(
        f"sentence id {name!r} is given twice",
        where=where,
        got=f"the first at {first}",
        fix="give each sentence an id of its own",
    )


class _Strings:
    """Many strings: those that come one by one, and those that come in columns."""

    def __init__(self) -> None:
        self._column = GrowingTexts()
        self._open: list[str] = []

    def extend(self, strings: list[str]) -> None:
        self._open += strings
        if len(self._open) > 1 << 16:
            self._close()

    def add(self, strings: Texts) -> None:
        self._close()
        self._column.append(strings)

    def _close(self) -> None:
        if self._open:
            self._column.extend(self._open)
            self._open = []

    def whole(self) -> pa.Array:
        self._close()
        return self._column.whole()


class _Numbers:
    """Many whole numbers: those that come one by one (``open``), and those that come in arrays."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._column, self._kind = Growing(dtype), "q" if dtype is np.int64 else "i"
        self.open = array(self._kind)

    def add(self, numbers: npt.NDArray[Any]) -> None:
        self._close()
        self._column.append(numbers)

    def widen(self, dtype: npt.DTypeLike) -> None:
        """Go on with larger numbers; those that wait count as such."""
        self._column.widen(dtype)

    def _close(self) -> None:
        if self.open:
            self._column.append(np.array(self.open))
            self.open = array(self._kind)

    def whole(self) -> npt.NDArray[Any]:
        self._close()
        return self._column.whole()


class Collector:
    """Gathers records and makes a crowd of them.

    Parameters
    ----------
    name : file name for messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.n_records = 0
        self.scheme: str | None = None  #: what the file itself says
        self._ids = _Strings()
        self._lines = _Numbers(np.int64)  # of each record; -1 where ``_where`` has its place
        self._line_of: npt.NDArray[np.int64] | None = None
        self._where: dict[int, str] = {}
        self._documents: dict[str, int] = {}
        self._document = _Numbers(np.int32)
        self._tokens = _Strings()
        self._n_tokens = 0
        self._lengths = _Numbers(np.int32)
        self._texts: dict[int, str] = {}
        self._borders: dict[int, list[tuple[int, int]]] = {}  # by the number of the first token
        self._annotators: dict[str, int] = {}
        self._codes = _Codes()
        self._rows = _Numbers(np.int32)
        self._tags = _Numbers(np.int8)
        self._span_rows: list[tuple[int, int]] = []
        self._spans: list[tuple[int, int, int, int]] = []  # row, start, end, type
        self._types: dict[str, int] = {}

    def add_records(self, records: TokenRecords) -> None:
        """Add records that were read into columns."""
        common, names = records.common, records.common.names
        known, rows = self._annotators, common.rows
        number = np.full(len(names) + 1, -1, np.int32)
        for code in _in_use(rows[:, 1], len(names)):  # numbered as they come in the file
            number[code] = known.setdefault(names[code], len(known))
        seen = rows[rows[:, 0] >= 0]
        self._rows.add(np.stack([seen[:, 0] + self.n_records, number[seen[:, 1]]], axis=1).ravel())
        code_of = np.full(len(names) + 1, -1, np.int32)
        for code in _in_use(records.tags, len(names)):
            code_of[code] = self._codes[names[code]]
        self._widen()
        self._tags.add(code_of[records.tags])
        document = np.full(len(names) + 1, -1, np.int32)
        codes, first = np.unique(common.documents, return_index=True)
        for code in codes[np.argsort(first)].tolist():
            document[code] = self._document_of("" if code < 0 else names[code])
        self._document.add(document[common.documents])
        self._ids.add(common.ids)
        self._lines.add(common.lines)
        self._tokens.add(records.tokens)
        self._n_tokens += len(records.tokens.sizes)
        self._lengths.add(records.lengths)
        self.n_records += len(common.lines)

    def add_tokens(
        self,
        name: str,
        document: str,
        tokens: list[str],
        annotations: dict[str, Any],
        where: str,
        text: str | None = None,
        borders: list[tuple[int, int]] | None = None,
    ) -> None:
        """Add a sentence of tokens; annotations are lists of tags (None: not labelled) or None."""
        sentence = self._open(name, document, tokens, text, borders, where)
        for annotator, tags in annotations.items():
            number = self._annotator(annotator, where)
            if tags is None:
                continue
            if not isinstance(tags, list):
                raise InputError(
                    f"annotator {annotator!r} must have a list of tags, or null", where=where
                )
            if len(tags) != len(tokens):
                raise InputError(
                    f"annotator {annotator!r} needs one tag per token ({len(tokens)})",
                    where=where,
                    got=str(len(tags)),
                    fix="write null for a tag that was not given",
                )
            try:
                self._tags.open.extend([self._codes[tag] for tag in tags])
                self._widen()
            except TypeError:
                bad = next(t for t in tags if t is not None and (not isinstance(t, str) or not t))
                raise InputError(
                    f"annotator {annotator!r}: a tag must be a string, or null",
                    where=where,
                    got=f"{bad!r:.40}",
                ) from None
            self._rows.open.extend((sentence, number))

    def add_text(
        self,
        name: str,
        document: str,
        text: str,
        marked: dict[str, list[TextSpan] | None],
        where: str,
    ) -> None:
        """Add a text; annotations are lists of character spans, or None."""
        spans = {
            annotator: None
            if found is None
            else tidy(found, text, f"annotator {annotator!r}", where)
            for annotator, found in marked.items()
        }
        cuts = {edge for found in spans.values() for span in found or () for edge in span[:2]}
        borders = tokenise(text, cuts)
        tokens = [text[a:b] for a, b in borders]
        sentence = self._open(name, document, tokens, text, borders, where)
        for annotator, found in spans.items():
            in_tokens = None if found is None else token_spans(found, borders)
            self._add_spans(sentence, annotator, in_tokens, where)

    def add_token_spans(
        self,
        name: str,
        document: str,
        tokens: list[str],
        marked: dict[str, list[TextSpan] | None],
        where: str,
    ) -> None:
        """Add a sentence of tokens; annotations are lists of token spans, or None."""
        sentence = self._open(name, document, tokens, None, None, where)
        for annotator, spans in marked.items():
            who = f"annotator {annotator!r}"
            for span in spans or ():
                if not 0 <= span.start < span.end <= len(tokens):
                    raise InputError(
                        f"{who}: a span must lie inside the sentence (0 to {len(tokens)}) and not "
                        "be empty",
                        where=where,
                        got=f"{span.start} to {span.end}",
                        fix="start and end count tokens, the end is exclusive",
                    )
            found = None if spans is None else in_order(spans, who, where)
            self._add_spans(sentence, annotator, found, where)

    def _add_spans(
        self, sentence: int, annotator: str, spans: list[TextSpan] | None, where: str
    ) -> None:
        number = self._annotator(annotator, where)
        if spans is None:
            return
        row = len(self._span_rows)
        self._span_rows.append((sentence, number))
        for start, end, label in spans:
            kind = self._types.setdefault(label, len(self._types))
            self._spans.append((row, start, end, kind))

    def _annotator(self, name: str, where: str) -> int:
        if not name:
            raise InputError("an annotator's name is empty", where=where)
        return self._annotators.setdefault(name, len(self._annotators))

    def _open(
        self,
        name: str,
        document: str,
        tokens: list[str],
        text: str | None,
        borders: list[tuple[int, int]] | None,
        where: str,
    ) -> int:
        self._ids.extend([name])
        prefix, _, line = where.rpartition(":")
        by_line = prefix == self.name and line.isdecimal()
        if not by_line:
            self._where[self.n_records] = where
        self._lines.open.append(int(line) if by_line else -1)
        self._document.open.append(self._document_of(document))
        self._tokens.extend(tokens)
        self._lengths.open.append(len(tokens))
        if text is not None:
            self._texts[self.n_records] = text
        if borders is not None:
            self._borders[self._n_tokens] = borders
        self._n_tokens += len(tokens)
        self.n_records += 1
        return self.n_records - 1

    def _widen(self) -> None:
        """Let tags be numbers that are large enough."""
        if len(self._codes) > MAX_ONE_BYTE_LABELS:
            self._tags.widen(np.int16 if len(self._codes) < 1 << 15 else np.int32)

    def _document_of(self, name: str) -> int:
        return self._documents.setdefault(name, len(self._documents))

    def corpus(self) -> Corpus:
        """The sentences of all records."""
        if not self.n_records:
            raise InputError("the file has no sentences", where=self.name)
        ids = self._ids.whole()
        texts, places = None, np.zeros((0, 2), np.int32)
        if self._texts:
            texts = pa.array(map(self._texts.get, range(self.n_records)), pa.large_string())
            places = np.full((self._n_tokens, 2), -1, np.int32)
            for first, borders in self._borders.items():
                if borders:
                    places[first : first + len(borders)] = borders
        used, document = np.unique(self._document.whole(), return_inverse=True)
        names = list(self._documents)
        try:
            return Corpus(
                offsets_of(self._lengths.whole()),
                ids,
                self._tokens.whole(),
                tuple(names[number] for number in used),
                document.astype(np.int32),
                texts,
                None if texts is None else places[:, 0],
                None if texts is None else places[:, 1],
            )
        except DataError as error:
            raise self._given_twice(ids) or as_input_error(error, self.name) from None

    def _given_twice(self, ids: pa.Array) -> InputError | None:
        """The fault of an id that stands for two records; None where there is none."""
        first: dict[str, int] = {}
        for number, name in enumerate(ids.to_pylist()):
            if first.setdefault(name, number) != number:
                return given_twice(name, self._place(number), self._place(first[name]))
        return None

    def _place(self, record: int) -> str:
        if self._line_of is None:
            self._line_of = self._lines.whole()
        line = int(self._line_of[record])
        return self._where[record] if line < 0 else f"{self.name}:{line}"

    def crowd(self, scheme: str | None) -> Crowd:
        """All records as a crowd."""
        corpus = self.corpus()

        def where(sentence: int, token: int, annotator: int) -> str:
            return self._place(sentence)

        rows = self._rows.whole().reshape(-1, 2)
        columns = Columns(
            self.name,
            corpus,
            list(self._annotators),
            list(self._codes)[1:],  # type: ignore[arg-type]
            rows[:, 0],
            rows[:, 1],
            self._tags.whole(),
            where,
        )
        kind = find_scheme(columns, scheme or self.scheme)
        if self._span_rows:
            columns = self._with_spans(columns, kind)
        return assemble(columns, kind)

    def _with_spans(self, columns: Columns, kind: str) -> Columns:
        """The columns with the span rows added, spelled in the scheme."""
        if kind == "plain":
            raise InputError(
                "spans cannot be spelled in plain tags",
                where=self.name,
                fix='name another scheme, such as scheme="iob2", and check the tags beside them',
            )
        rows = np.array(self._span_rows, np.int64)
        offsets, _ = gather(columns.corpus.token_offsets, rows[:, 0])
        try:
            rules = Scheme.of(kind, [f"I-{name}" for name in self._types])
        except DataError as error:
            raise as_input_error(error, self.name) from None
        numbers = np.array([rules.types.index(name) for name in self._types] or [0], np.int16)
        found = np.array(self._spans, np.int64).reshape(-1, 4)
        spans = Spans(
            found[:, 0],
            found[:, 1].astype(np.int32),
            found[:, 2].astype(np.int32),
            numbers[found[:, 3]],
        )
        tags: npt.NDArray[np.int64] = paint(spans, offsets, rules).astype(np.int64)
        return Columns(
            self.name,
            columns.corpus,
            columns.annotators,
            [*columns.labels, *rules.labels],
            np.concatenate([columns.row_sentence, rows[:, 0]]),
            np.concatenate([columns.row_annotator, rows[:, 1]]),
            np.concatenate([columns.tags, tags + len(columns.labels)]),
            columns.where,
        )


def _in_use(codes: npt.NDArray[np.int32], n: int) -> list[int]:
    """The different numbers in a column, -1 left out, in ascending order."""
    seen = np.zeros(n + 1, np.bool_)
    seen[codes] = True
    return [int(code) for code in np.flatnonzero(seen[:n])]
