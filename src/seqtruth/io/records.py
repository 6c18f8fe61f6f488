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
    make_corpus,
    offsets_of,
)
from seqtruth.io.text_spans import TextSpan, in_order, tidy, token_spans
from seqtruth.io.tokens import tokenise


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
    """Many strings, held as Arrow chunks."""

    def __init__(self) -> None:
        self._chunks: list[pa.Array] = []
        self._open: list[str] = []

    def extend(self, strings: list[str]) -> None:
        self._open += strings
        if len(self._open) > 1 << 18:
            self._close()

    def _close(self) -> None:
        self._chunks.append(pa.array(self._open, pa.large_string()))
        self._open = []

    def column(self) -> pa.Array:
        self._close()
        return pa.concat_arrays(self._chunks)


class Collector:
    """Gathers records and makes a crowd of them.

    Parameters
    ----------
    name : file name for messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.ids: list[str] = []
        self.scheme: str | None = None  #: what the file itself says
        self._id_place: dict[str, str] = {}
        self._documents: list[str] = []
        self._tokens = _Strings()
        self._lengths: list[int] = []
        self._texts: list[str | None] = []
        self._borders = array("i")
        self._annotators: dict[str, int] = {}
        self._codes = _Codes()
        self._rows = array("q")
        self._tags = array("i")
        self._span_rows: list[tuple[int, int]] = []
        self._spans: list[tuple[int, int, int, int]] = []  # row, start, end, type
        self._types: dict[str, int] = {}

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
                self._tags.extend([self._codes[tag] for tag in tags])
            except TypeError:
                bad = next(t for t in tags if t is not None and (not isinstance(t, str) or not t))
                raise InputError(
                    f"annotator {annotator!r}: a tag must be a string, or null",
                    where=where,
                    got=f"{bad!r:.40}",
                ) from None
            self._rows.extend((sentence, number))

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
        if self._id_place.setdefault(name, where) != where:
            raise given_twice(name, where, self._id_place[name])
        self.ids.append(name)
        self._documents.append(document)
        self._tokens.extend(tokens)
        self._lengths.append(len(tokens))
        self._texts.append(text)
        for pair in borders if borders is not None else [(-1, -1)] * len(tokens):
            self._borders.extend(pair)
        return len(self.ids) - 1

    def corpus(self) -> Corpus:
        """The sentences of all records."""
        if not self.ids:
            raise InputError("the file has no sentences", where=self.name)
        places = np.array(self._borders, np.int32).reshape(-1, 2)
        with_text = any(text is not None for text in self._texts)
        return make_corpus(
            self.name,
            offsets_of(self._lengths),
            self.ids,
            self._tokens.column(),
            self._documents,
            pa.array(self._texts, pa.large_string()) if with_text else None,
            places[:, 0] if with_text else None,
            places[:, 1] if with_text else None,
        )

    def crowd(self, scheme: str | None) -> Crowd:
        """All records as a crowd."""
        corpus = self.corpus()
        lines = list(self._id_place.values())

        def where(sentence: int, token: int, annotator: int) -> str:
            return lines[sentence]

        rows = np.array(self._rows, np.int64).reshape(-1, 2)
        columns = Columns(
            self.name,
            corpus,
            list(self._annotators),
            list(self._codes)[1:],  # type: ignore[arg-type]
            rows[:, 0],
            rows[:, 1],
            np.array(self._tags, np.int32),
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
