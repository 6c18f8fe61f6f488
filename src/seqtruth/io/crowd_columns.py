"""Columns of sentences, tokens, rows and spans that grow batch by batch, and become a crowd at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.origin import Origin
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import Spans, paint
from seqtruth.io.assemble import offsets_of
from seqtruth.io.text_batch import Batch, Cut, Texts, strings

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]


class Layering(NamedTuple):
    """Layers' names, the labels of nodes, and the layer of each node."""

    names: tuple[str, ...]
    labels: list[str]
    of: list[int]


class Said(NamedTuple):
    """What a batch's opinions say.

    ``opinions[n]`` is (text in the batch, annotator); ``spans[n]`` is (opinion, start, end, node), counted
    in the batch; ``unseen`` has (opinion, token) of what was not seen, and ``dropped`` (opinion, sentence)
    where that is a whole sentence.
    """

    opinions: I64
    spans: I64
    unseen: I64
    dropped: I64


def whole(chunks: list[Any], dtype: type) -> npt.NDArray[Any]:
    """Chunks as one array, which takes their place; each is let go as soon as it is copied."""
    if len(chunks) == 1:
        return np.asarray(chunks[0], dtype)
    width = chunks[0].shape[1:] if chunks else ()
    out = np.empty((sum(map(len, chunks)), *width), dtype)
    place = 0
    for number, chunk in enumerate(chunks):
        out[place : place + len(chunk)] = chunk
        place += len(chunk)
        chunks[number] = None
    chunks[:] = [out]
    return out


@dataclass
class _TextColumn:
    """Texts that come in parts, and become a column."""

    sizes: list[Any] = field(default_factory=list)
    data: list[Any] = field(default_factory=list)

    def append(self, texts: Texts) -> None:
        self.sizes.append(texts.sizes)
        self.data.append(texts.data)

    def column(self) -> pa.Array:
        offsets = offsets_of(whole(self.sizes, np.int32))
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(whole(self.data, np.uint8))]
        return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)


@dataclass
class CrowdColumns:
    """Flat columns: sentences, tokens, one row per (sentence, annotator), spans and silences in rows."""

    n_sentences: int = 0
    n_rows: int = 0
    documents: list[I64] = field(default_factory=list)
    text_starts: list[I64] = field(default_factory=list)
    numbers: list[I64] = field(default_factory=list)
    lengths: list[I64] = field(default_factory=list)
    starts: list[I32] = field(default_factory=list)
    ends: list[I32] = field(default_factory=list)
    texts: _TextColumn = field(default_factory=_TextColumn)
    tokens: _TextColumn = field(default_factory=_TextColumn)
    row_sentence: list[I32] = field(default_factory=list)
    row_annotator: list[I32] = field(default_factory=list)
    #: row, first token, token after the last, node; in the sentence's tokens
    spans: list[I32] = field(default_factory=list)
    #: row, token that was not seen
    silences: list[I32] = field(default_factory=list)

    def add(self, batch: Batch, cut: Cut, said: Said, first_document: int, name: str) -> None:
        """A batch of texts, cut, with what was said of them."""
        counts = np.diff(cut.sentences_of)
        self.documents.append(np.repeat(np.arange(len(counts)), counts) + first_document)
        self.text_starts.append(cut.sentence_starts - np.repeat(batch.starts, counts))
        self.numbers.append(
            np.arange(len(cut.sentence_starts)) - np.repeat(cut.sentences_of[:-1], counts)
        )
        lengths = np.diff(cut.tokens_of)
        self.lengths.append(lengths)
        base = np.repeat(cut.sentence_starts, lengths)
        self.starts.append((cut.token_starts - base).astype(np.int32))
        self.ends.append((cut.token_ends - base).astype(np.int32))
        self.texts.append(strings(batch, cut.sentence_starts, cut.sentence_ends, name))
        self.tokens.append(strings(batch, cut.token_starts, cut.token_ends, name))
        self._add_rows(cut, said, counts)
        self.n_sentences += len(lengths)

    def _add_rows(self, cut: Cut, said: Said, counts: I64) -> None:
        text, annotator = said.opinions.T
        per_opinion = counts[text]
        base = np.concatenate([[0], np.cumsum(per_opinion)])
        opinion = np.repeat(np.arange(len(text)), per_opinion)
        # sentences of each opinion's text, one after the other
        sentence = np.arange(base[-1]) - np.repeat(base[:-1] - cut.sentences_of[text], per_opinion)
        kept = np.ones(len(sentence), np.bool_)
        to_row = base[:-1] - cut.sentences_of[text]
        kept[to_row[said.dropped[:, 0]] + said.dropped[:, 1]] = False
        row = np.cumsum(kept) - 1 + self.n_rows
        self.row_sentence.append((sentence[kept] + self.n_sentences).astype(np.int32))
        self.row_annotator.append(annotator[opinion[kept]].astype(np.int32))
        who, start, end, node = said.spans.T
        first, last = (
            np.searchsorted(cut.token_starts, start),
            np.searchsorted(cut.token_starts, end),
        )
        there = np.searchsorted(cut.tokens_of, first, "right") - 1
        zero = cut.tokens_of[there]
        columns = [row[to_row[who] + there], first - zero, last - zero, node]
        self.spans.append(np.stack(columns, axis=1).astype(np.int32))
        who, token = said.unseen.T
        there = np.searchsorted(cut.tokens_of, token, "right") - 1
        columns = [row[to_row[who] + there], token - cut.tokens_of[there]]
        self.silences.append(np.stack(columns, axis=1).astype(np.int32))
        self.n_rows += int(kept.sum())

    def corpus(self, documents: Sequence[str], split: bool, origin: Origin) -> Corpus:
        """The sentences; those of documents that were ``split`` are numbered."""
        document = whole(self.documents, np.int64)
        names = pa.array(documents, pa.large_string()).take(pa.array(document))
        ids = names
        if split:
            numbers = pa.array(whole(self.numbers, np.int64) + 1).cast(pa.large_string())
            ids = pc.binary_join_element_wise(names, numbers, pa.scalar("#", pa.large_string()))
        return Corpus(
            offsets_of(whole(self.lengths, np.int64)), ids, self.tokens.column(), tuple(documents),
            document.astype(np.int32), self.texts.column(),
            whole(self.starts, np.int32), whole(self.ends, np.int32),
            whole(self.text_starts, np.int64), origin=origin,
        )  # fmt: skip

    def crowd(
        self, corpus: Corpus, numbers: I64, names: tuple[str, ...], layering: Layering, kind: str
    ) -> Crowd:
        """The rows of the annotators chosen, on their layers.

        Parameters
        ----------
        corpus : on layers already.
        numbers : by annotator, the number in the crowd, or -1.
        names : of the annotators chosen.
        kind : of the scheme.
        """
        n_layers = len(layering.names)
        annotator = numbers[whole(self.row_annotator, np.int32)].astype(np.int32)
        rows = np.flatnonzero(annotator >= 0)
        sentence, annotator = whole(self.row_sentence, np.int32)[rows], annotator[rows]
        # rows were added document by document and annotator by annotator
        order = np.lexsort((annotator, sentence))
        sentence, annotator = sentence[order], annotator[order]
        new_row = np.full(self.n_rows, -1, np.int32)
        new_row[rows[order]] = np.arange(len(rows), dtype=np.int32)
        del rows, order
        # each row stands once per layer, sentence by sentence: all annotators, layer by layer
        counts = np.bincount(sentence, minlength=corpus.n_sentences // n_layers)
        first = offsets_of(counts)[:-1]

        def on_layer(row: npt.NDArray[Any], layer: I64 | int) -> npt.NDArray[Any]:
            if n_layers == 1:
                return row
            base = sentence[row]
            place = row - first[base]
            return np.asarray(first[base] * n_layers + layer * counts[base] + place)

        row_sentence, row_annotator = sentence, annotator
        if n_layers > 1:
            every = np.arange(len(sentence))
            row_sentence = np.empty(len(sentence) * n_layers, np.int32)
            row_annotator = np.empty(len(sentence) * n_layers, np.int32)
            for layer in range(n_layers):
                row_sentence[on_layer(every, layer)] = sentence * n_layers + layer
                row_annotator[on_layer(every, layer)] = annotator
        scheme = Scheme.of(kind, [f"I-{label}" for label in layering.labels] or ["O"])
        types = np.array([scheme.types.index(label) for label in layering.labels] or [0], np.int16)
        offsets = offsets_of(np.diff(corpus.token_offsets)[row_sentence])
        found = whole(self.spans, np.int32).reshape(-1, 4)
        found = found[new_row[found[:, 0]] >= 0]
        on = np.array(layering.of or [0], np.int64)[found[:, 3]]
        at = on_layer(new_row[found[:, 0]], on)
        sequence = np.lexsort((found[:, 1], at))
        spans = Spans(
            at[sequence].astype(np.int64),
            found[sequence, 1].astype(np.int32),
            found[sequence, 2].astype(np.int32),
            types[found[sequence, 3]],
        )
        tags = paint(spans, offsets, scheme)
        quiet = whole(self.silences, np.int32).reshape(-1, 2)
        quiet = quiet[new_row[quiet[:, 0]] >= 0]
        for number in range(n_layers):
            tags[offsets[on_layer(new_row[quiet[:, 0]], number)] + quiet[:, 1]] = -1
        return Crowd(corpus, scheme, names, row_sentence, row_annotator, tags)
