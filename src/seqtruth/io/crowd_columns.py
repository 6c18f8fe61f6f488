"""Columns of sentences, tokens, rows and spans that grow batch by batch, and become a crowd at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.origin import Origin
from seqtruth.data.ragged import in_order
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import Spans, paint
from seqtruth.io.assemble import offsets_of
from seqtruth.io.growing import Growing, GrowingTexts, counting, string_array
from seqtruth.io.text_batch import Batch, Cut, strings
from seqtruth.kernels.native import call

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]


#: The largest place that fits into two bytes.
_MOST_SHORT = (1 << 16) - 1


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


class CrowdColumns:
    """Flat columns: sentences, tokens, one row per (sentence, annotator), spans and silences in rows."""

    def __init__(self) -> None:
        self.n_sentences = self.n_rows = 0
        self.documents, self.numbers, self.lengths = (Growing(np.int32) for _ in range(3))
        self.text_starts = Growing(np.int64)
        self.starts, self.ends = Growing(np.uint16), Growing(np.uint16)
        self.texts, self.tokens = GrowingTexts(), GrowingTexts()
        self.row_sentence, self.row_annotator = Growing(np.int32), Growing(np.int32)
        #: row, first token, token after the last, node; in the sentence's tokens
        self.spans = Growing(np.int32, 4)
        #: row, token that was not seen
        self.silences = Growing(np.int32, 2)

    def add(self, batch: Batch, cut: Cut, said: Said, first_document: int) -> None:
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
        for column, places in ((self.starts, cut.token_starts), (self.ends, cut.token_ends)):
            inside = places - base
            if int(inside.max(initial=0)) > _MOST_SHORT:
                column.widen(np.int32)
            column.append(inside)
        self.texts.append(strings(batch, cut.sentence_starts, cut.sentence_ends))
        self.tokens.append(strings(batch, cut.token_starts, cut.token_ends))
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
        spans = np.empty(said.spans.shape, np.int32)
        call("place_spans", cut.token_starts, cut.tokens_of, to_row, row, said.spans, spans)
        self.spans.append(spans)
        who, token = said.unseen.T
        there = np.searchsorted(cut.tokens_of, token, "right") - 1
        columns = [row[to_row[who] + there], token - cut.tokens_of[there]]
        self.silences.append(np.stack(columns, axis=1).astype(np.int32))
        self.n_rows += int(kept.sum())

    def corpus(self, documents: Sequence[str], split: bool, origin: Origin) -> Corpus:
        """The sentences; those of documents that were ``split`` are numbered."""
        document = self.documents.whole()
        ids = string_array(documents)  # where a document is one sentence
        if split:
            names = ids.take(_int_array(document))
            within = self.numbers.whole() + 1
            numbers = counting(int(within.max(initial=0)) + 1).take(_int_array(within))
            ids = pc.binary_join_element_wise(names, numbers, string_array("#")[0])
        return Corpus(
            offsets_of(self.lengths.whole()), ids, self.tokens.whole(), tuple(documents),
            document, self.texts.whole(),
            self.starts.whole(), self.ends.whole(),
            self.text_starts.whole(), origin=origin,
        )  # fmt: skip

    def crowd(
        self,
        corpus: Corpus,
        numbers: I64,
        names: tuple[str, ...],
        layering: Layering,
        kind: str,
        keep: bool = False,
    ) -> Crowd:
        """The rows of the annotators chosen, on their layers.

        Parameters
        ----------
        corpus : on layers already.
        numbers : by annotator, the number in the crowd, or -1.
        names : of the annotators chosen.
        kind : of the scheme.
        keep : whether another crowd will be asked for; the spans, of which there may be as many as tokens,
            are let go otherwise.
        """
        n_layers = len(layering.names)
        annotator = numbers[self.row_annotator.whole()].astype(np.int32)
        rows = np.flatnonzero(annotator >= 0)
        sentence, annotator = self.row_sentence.whole()[rows], annotator[rows]
        # rows were added document by document and annotator by annotator
        order = np.lexsort((annotator, sentence)).astype(np.int32)
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
        spans = self._spans(new_row, types, layering, on_layer)
        if not keep:
            self.spans = Growing(np.int32, 4)
        tags = paint(spans, offsets, scheme)
        del spans
        quiet = self.silences.whole()
        quiet = quiet[new_row[quiet[:, 0]] >= 0]
        for number in range(n_layers):
            tags[offsets[on_layer(new_row[quiet[:, 0]], number)] + quiet[:, 1]] = -1
        return Crowd(corpus, scheme, names, row_sentence, row_annotator, tags)

    def _spans(
        self, new_row: I32, types: npt.NDArray[np.int16], layering: Layering, on_layer: Any
    ) -> Spans:
        """Spans by row and place, in few copies: there may be as many of them as of tokens."""
        found = self.spans.whole()
        row = new_row[found[:, 0]]
        if (row < 0).any():
            found, row = found[row >= 0], row[row >= 0]
        at = row
        if len(layering.names) > 1:
            at = on_layer(row, np.array(layering.of, np.int64)[found[:, 3]])
        del row
        if not in_order(at, found[:, 1]):
            sequence = np.lexsort((found[:, 1], at)).astype(np.int32)
            at, found = at[sequence], found[sequence]
        start, end = (np.ascontiguousarray(found[:, k]) for k in (1, 2))
        return Spans(at.astype(np.int64), start, end, types[found[:, 3]])


def _int_array(column: I32) -> pa.Array:
    return pa.Array.from_buffers(pa.int32(), len(column), [None, pa.py_buffer(column)])
