"""Documents, as a tool's file has them, to a :class:`~seqtruth.data.crowd.Crowd`.

Every text is cut into tokens in which nobody's mark begins or ends, and into sentences that cut nobody's
mark (:mod:`~seqtruth.io.tokens`, :mod:`~seqtruth.io.sentences`); marks that overlap are put on layers
(:mod:`~seqtruth.io.overlaps`). The opinions left out of the crowd (gold, by default) count in all three, so
that a crowd and the gold read from the same file lie on the same tokens.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.origin import Discontinuous, Origin
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import Spans, paint
from seqtruth.errors import DataError, InputError, ParameterError
from seqtruth.io.assemble import as_input_error, offsets_of
from seqtruth.io.documents import Document, Mark, Notes, Opinion, Role
from seqtruth.io.overlaps import Overlaps, Placed, tidy
from seqtruth.io.sentences import WIDE_ENDS, split_text
from seqtruth.io.tokens import tokenise

ROLES: tuple[Role, ...] = get_args(Role)
I64 = npt.NDArray[np.int64]


class RepeatedIdError(Exception):
    """Two documents have one id; they have to be brought together before they are cut."""


@dataclass(frozen=True)
class Cutting:
    """How documents become sentences, layers and annotators.

    Parameters
    ----------
    split : ``"sentences"``, ``"lines"`` or ``"none"``.
    overlap : ``"layers"``, ``"longest"`` or ``"error"``.
    roles : whose opinions make the crowd; those of a file that has no others are taken if none is named.
    scheme : how spans are spelled.
    """

    split: str = "sentences"
    overlap: str = "layers"
    roles: Collection[str] | str | None = None
    scheme: str | None = None

    def wanted(self) -> tuple[str, ...]:
        """The roles as names."""
        chosen = ("annotator", "model") if self.roles is None else self.roles
        names = tuple(chosen.split(",")) if isinstance(chosen, str) else tuple(chosen)
        for name in names:
            if name not in ROLES:
                raise ParameterError(f"roles must be of {', '.join(ROLES)}", got=repr(name))
        return names


def documents_to_crowd(
    documents: Iterable[Document], name: str, notes: Notes, cutting: Cutting, format: str = ""
) -> Crowd:
    """All documents as one crowd.

    Parameters
    ----------
    name : the file's, for messages.
    notes : gets what could not be carried.
    format : name of the format that they were read from, to be remembered.

    Raises
    ------
    RepeatedIdError
        where an id comes twice; see :func:`seqtruth.io.same_text.merged`.
    """
    builder = CrowdBuilder(name, notes, cutting)
    for document in documents:
        builder.add(document)
    return builder.crowd(format)


class _Strings:
    """Many strings, held as Arrow chunks."""

    def __init__(self) -> None:
        self._chunks: list[pa.Array] = []
        self._open: list[str] = []

    def extend(self, strings: Iterable[str]) -> None:
        self._open += strings
        if len(self._open) > 1 << 18:
            self._close()

    def _close(self) -> None:
        self._chunks.append(pa.array(self._open, pa.large_string()))
        self._open = []

    def column(self) -> pa.Array:
        self._close()
        return pa.concat_arrays(self._chunks)


@dataclass
class _Rows:
    """Flat columns that grow: one row per (sentence, annotator), spans and silences in rows."""

    sentence: array[int] = field(default_factory=lambda: array("q"))
    annotator: array[int] = field(default_factory=lambda: array("q"))
    #: row, first token, token after the last, node; in the sentence's tokens
    spans: array[int] = field(default_factory=lambda: array("q"))
    #: row, token that was not seen
    silences: array[int] = field(default_factory=lambda: array("q"))


class CrowdBuilder:
    """Takes documents one by one; see :func:`documents_to_crowd`."""

    def __init__(self, name: str, notes: Notes, cutting: Cutting) -> None:
        self.name, self.notes, self.cutting = name, notes, cutting
        self.roles = cutting.wanted()
        self.overlaps = Overlaps(cutting.overlap)
        self._documents: dict[str, int] = {}
        self._ids: list[str] = []
        self._sentence_document = array("q")
        self._text_starts = array("q")
        self._texts, self._tokens = _Strings(), _Strings()
        self._lengths, self._starts, self._ends = array("q"), array("q"), array("q")
        self._annotators: dict[tuple[str, str], int] = {}
        self._rows = _Rows()
        self._records: dict[str, str] = {}
        self._discontinuous: list[Discontinuous] = []
        self._given_tokens = self._given_sentences = False

    @property
    def sentences(self) -> list[str]:
        """Ids of the sentences so far, without layers."""
        return self._ids

    def announce(self, annotator: str) -> None:
        """List an annotator who may have no opinion."""
        self._annotators.setdefault((annotator, "annotator"), len(self._annotators))

    def add(self, document: Document) -> None:
        """Cut a document and take its opinions."""
        if document.id in self._documents:
            raise RepeatedIdError(document.id)
        number = self._documents[document.id] = len(self._documents)
        where = document.where or f"{self.name}: document {document.id!r}"
        opinions = self._last_ones(document, where)
        placed = {
            who: self.overlaps.place(tidy(document, opinion, self.notes), where, who[0], self.notes)
            for who, opinion in opinions.items()
        }
        marks = [found.mark for some in placed.values() for found in some]
        cuts = {place for mark in marks for piece in _stretches(mark) for place in piece}
        cuts |= {
            place
            for opinion in opinions.values()
            for stretch in opinion.seen or ()
            for place in stretch
        }
        tokens = tokenise(document.text, cuts, document.tokens)
        hulls = {(mark.start, mark.end) for mark in marks}
        first = len(self._lengths)
        self._add_sentences(document, number, tokens, hulls)
        bounds = _sentence_bounds(self._lengths[first:])
        for who, opinion in opinions.items():
            self._add_opinion(document, (first, bounds), tokens, who, opinion, placed[who])
        self._remember(document, placed)

    def _last_ones(self, document: Document, where: str) -> dict[tuple[str, str], Opinion]:
        """The opinion of each annotator (by name and role), in the order of their numbers."""
        found: dict[tuple[str, str], Opinion] = {}
        for opinion in document.opinions:
            who = (opinion.annotator, opinion.role)
            if who in found:
                self.notes.left_out("earlier opinion of an annotator on the same text", where)
            self._annotators.setdefault(who, len(self._annotators))
            found[who] = opinion
        return dict(sorted(found.items(), key=lambda item: self._annotators[item[0]]))

    def _add_sentences(
        self,
        document: Document,
        number: int,
        tokens: list[tuple[int, int]],
        hulls: set[tuple[int, int]],
    ) -> None:
        text, split = document.text, self.cutting.split
        # a token of the source may hold a line end, one of ours a full stop with an accent: they are not cut
        solid = tokens
        if document.tokens is None:
            solid = [(a, b) for a, b in tokens if b - a > 1 and text[a] in WIDE_ENDS]
        borders = split_text(text, split, document.sentences, [*hulls, *solid])
        place = 0
        for n, (start, end) in enumerate(borders, start=1):
            self._ids.append(document.id if split == "none" else f"{document.id}#{n}")
            self._sentence_document.append(number)
            self._text_starts.append(start)
            begin = place
            while place < len(tokens) and tokens[place][0] < end:
                place += 1
            self._lengths.append(place - begin)
            self._starts.extend([a - start for a, _ in tokens[begin:place]])
            self._ends.extend([b - start for _, b in tokens[begin:place]])
        self._texts.extend([text[start:end] for start, end in borders])
        self._tokens.extend([text[a:b] for a, b in tokens])
        self._given_tokens |= document.tokens is not None
        self._given_sentences |= document.sentences is not None

    def _add_opinion(
        self,
        document: Document,
        sentences: tuple[int, list[int]],
        tokens: list[tuple[int, int]],
        who: tuple[str, str],
        opinion: Opinion,
        placed: list[Placed],
    ) -> None:
        first, bounds = sentences
        spans = sorted(
            (bisect_left(tokens, (m.start,)), bisect_left(tokens, (m.end,)), node)
            for m, node in placed
        )
        seen = None if opinion.seen is None else _seen(tokens, opinion, [m for m, _ in placed])
        annotator, rows, at = self._annotators[who], self._rows, 0
        for number in range(len(bounds) - 1):
            a, b = bounds[number : number + 2]
            if seen is not None and not any(seen[a:b]):
                continue
            row = len(rows.sentence)
            rows.sentence.append(first + number)
            rows.annotator.append(annotator)
            while at < len(spans) and spans[at][0] < b:
                start, end, node = spans[at]
                rows.spans.extend((row, start - a, end - a, node))
                at += 1
            if seen is not None:
                for token in range(a, b):
                    if not seen[token]:
                        rows.silences.extend((row, token - a))

    def _remember(self, document: Document, placed: dict[tuple[str, str], list[Placed]]) -> None:
        """The record, and the marks in pieces: of everybody, and of most."""
        if document.source is not None:
            try:
                record = json.dumps(document.source, ensure_ascii=False, allow_nan=False)
                self._records[document.id] = record
            except (TypeError, ValueError):
                self.notes.left_out("record that is not plain JSON", document.where)
        votes: dict[tuple[int, int, str], Counter[Any]] = {}
        for who, some in placed.items():
            for mark, _ in some:
                if mark.pieces:
                    votes.setdefault((mark.start, mark.end, mark.label), Counter())
                    name = self._annotator_name(who)
                    self._discontinuous.append(
                        Discontinuous(
                            document.id, name, mark.start, mark.end, mark.label, mark.pieces
                        )
                    )
        if not votes:
            return
        for some in placed.values():
            for mark, _ in some:
                if (key := (mark.start, mark.end, mark.label)) in votes:
                    votes[key][mark.pieces] += 1
        for (start, end, label), counts in votes.items():
            pieces = max(counts, key=lambda found: (counts[found], bool(found)))
            if pieces:
                self._discontinuous.append(
                    Discontinuous(document.id, "", start, end, label, pieces)
                )

    def _annotator_name(self, who: tuple[str, str]) -> str:
        """Where a person and a model have one name, the model's says so."""
        name, role = who
        others = [other for other in ROLES if other != role and (name, other) in self._annotators]
        return name if role == "annotator" or not others else f"{name} ({role})"

    def crowd(
        self,
        format: str = "",
        roles: tuple[str, ...] | None = None,
        origin: Origin | None = None,
        scheme: str | None = None,
    ) -> Crowd:
        """Everything added so far.

        Parameters
        ----------
        format : name of the format, to be remembered.
        roles : other ones than asked for at first.
        origin : what is to be remembered instead.
        scheme : how to spell spans, where nothing was said at first.
        """
        if not self._documents:
            raise InputError("there are no documents", where=self.name)
        n_layers, layers, layer_of = self._layers()
        corpus = self._corpus(format, layers, origin)
        chosen = self._chosen(roles)
        try:
            return self._crowd(corpus, chosen, n_layers, layer_of, scheme)
        except DataError as error:
            raise as_input_error(error, self.name) from None

    def _layers(self) -> tuple[int, tuple[str, ...], list[int]]:
        names, of = self.overlaps.layers()
        return len(names), names, of

    def _chosen(self, roles: tuple[str, ...] | None) -> list[tuple[str, str]]:
        """The annotators of the crowd: those with the roles wanted, or all where there are none."""
        if roles is not None:
            return [who for who in self._annotators if who[1] in roles]
        chosen = [who for who in self._annotators if who[1] in self.roles]
        if not chosen and self.cutting.roles is None:
            chosen = list(self._annotators)
        if not chosen and self._annotators:
            raise InputError(
                f"the file has no opinions of the role {' or '.join(self.roles)}", where=self.name,
                got=", ".join(sorted({role for _, role in self._annotators})),
                fix="name the roles that it has",
            )  # fmt: skip
        return chosen

    def _corpus(self, format: str, layers: tuple[str, ...], origin: Origin | None) -> Corpus:
        models = [who for who in self._annotators if who[1] == "model"]
        origin = origin or Origin(
            format,
            self._records,
            tuple(self._annotator_name(who) for who in models),
            tuple(self._discontinuous),
            self._given_tokens,
            self._given_sentences,
        )
        corpus = Corpus(
            offsets_of(np.array(self._lengths, np.int64)),
            pa.array(self._ids, pa.large_string()),
            self._tokens.column(),
            tuple(self._documents),
            np.array(self._sentence_document, np.int32),
            self._texts.column(),
            np.array(self._starts, np.int32),
            np.array(self._ends, np.int32),
            np.array(self._text_starts, np.int64),
            origin=origin,
        )
        return corpus if len(layers) == 1 else corpus.on_layers(layers)

    def _crowd(
        self,
        corpus: Corpus,
        chosen: list[tuple[str, str]],
        n_layers: int,
        layer_of: list[int],
        kind: str | None,
    ) -> Crowd:
        numbers = np.full(len(self._annotators) + 1, -1, np.int64)
        numbers[[self._annotators[who] for who in chosen]] = np.arange(len(chosen))
        annotator = numbers[np.array(self._rows.annotator, np.int64)]
        rows = np.flatnonzero(annotator >= 0)
        sentence = np.array(self._rows.sentence, np.int64)[rows]
        # rows were added document by document and annotator by annotator
        order = np.lexsort((annotator[rows], sentence))
        sentence, annotator = sentence[order], annotator[rows][order]
        new_row = np.full(len(self._rows.sentence), -1, np.int64)
        new_row[rows[order]] = np.arange(len(rows))
        # each row stands once per layer, sentence by sentence: all annotators, layer by layer
        counts = np.bincount(sentence, minlength=corpus.n_sentences // n_layers)
        first = offsets_of(counts)[:-1]

        def on_layer(row: I64, layer: I64 | int) -> I64:
            base = sentence[row]
            place = row - first[base]
            return np.asarray(first[base] * n_layers + layer * counts[base] + place)

        every = np.arange(len(rows))
        row_sentence = np.empty(len(rows) * n_layers, np.int64)
        row_annotator = np.empty(len(rows) * n_layers, np.int64)
        for layer in range(n_layers):
            row_sentence[on_layer(every, layer)] = sentence * n_layers + layer
            row_annotator[on_layer(every, layer)] = annotator
        kind = self.cutting.scheme or kind or "iob2"
        nodes = list(self.overlaps.nodes)
        scheme = Scheme.of(kind, [f"I-{node.label}" for node in nodes] or ["O"])
        types = np.array([scheme.types.index(node.label) for node in nodes] or [0], np.int16)
        offsets, _ = gather(corpus.token_offsets, row_sentence)
        found = np.array(self._rows.spans, np.int64).reshape(-1, 4)
        found = found[new_row[found[:, 0]] >= 0]
        on = np.array(layer_of or [0], np.int64)[found[:, 3]]
        at = on_layer(new_row[found[:, 0]], on)
        sequence = np.lexsort((found[:, 1], at))
        spans = Spans(
            at[sequence],
            found[sequence, 1].astype(np.int32),
            found[sequence, 2].astype(np.int32),
            types[found[sequence, 3]],
        )
        tags = np.array(paint(spans, offsets, scheme))
        quiet = np.array(self._rows.silences, np.int64).reshape(-1, 2)
        quiet = quiet[new_row[quiet[:, 0]] >= 0]
        for number in range(n_layers):
            tags[offsets[on_layer(new_row[quiet[:, 0]], number)] + quiet[:, 1]] = -1
        return Crowd(
            corpus,
            scheme,
            tuple(self._annotator_name(who) for who in chosen),
            row_sentence.astype(np.int32),
            row_annotator.astype(np.int32),
            tags,
        )


def _stretches(mark: Mark) -> tuple[tuple[int, int], ...]:
    return mark.pieces or ((mark.start, mark.end),)


def _sentence_bounds(lengths: array[int]) -> list[int]:
    return [int(x) for x in offsets_of(np.array(lengths, np.int64))]


def _seen(tokens: list[tuple[int, int]], opinion: Opinion, marks: list[Mark]) -> list[bool]:
    """Whether each token was seen; whoever marks something has seen it."""
    stretches = sorted([*(opinion.seen or ()), *((mark.start, mark.end) for mark in marks)])
    seen, place, reached = [], 0, 0
    for start, end in tokens:
        while place < len(stretches) and stretches[place][0] <= start:
            reached = max(reached, stretches[place][1])
            place += 1
        seen.append(end <= reached)
    return seen
