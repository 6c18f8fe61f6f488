"""What agreement is made of: sums over documents, from which every coefficient follows.

Sums of documents add up, so that drawing documents again (the bootstrap) is a product of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.spans import Spans, extract
from seqtruth.kernels.agreement import (
    Lengths,
    Mute,
    PairSums,
    RowPairs,
    SpanSums,
    TokenSums,
    Walk,
    compare_rows,
    compare_spans,
    count_lengths,
    count_tokens,
    unitising_differences,
)
from seqtruth.kernels.arrays import F64, I64, Bool
from seqtruth.metrics.bootstrap import knows_documents
from seqtruth.metrics.span import keep_spans

#: Numbers held at most in the sums of documents; beyond that, documents are counted in groups.
MOST = 20_000_000
#: Groups in which documents are counted where there are too many, or where every sentence is one.
GROUPS = 1000
#: Counts of a pair in a unit held at most, and units that are left for them at least.
MOST_CELLS, FEWEST_GROUPS = 200_000, 50


@dataclass(frozen=True, eq=False)
class Units:
    """What is drawn again: documents, or groups of sentences where documents are unknown.

    Parameters
    ----------
    of_sentence : int64[S].
    n : how many there are.
    documents : whether a unit is one document.
    """

    of_sentence: I64
    n: int
    documents: bool

    @staticmethod
    def of(crowd: Crowd) -> Units:
        """The crowd's documents, dealt into groups where they (or sentences instead) are too many."""
        corpus = crowd.corpus
        width = 4 * crowd.n_labels + 12 * len(crowd.scheme.types)
        known = knows_documents(corpus)
        if known:
            number = np.asarray(corpus.sentence_document, np.int64)
            n = len(corpus.documents)
        else:  # a sentence is in one unit on all its layers
            _, number = np.unique(corpus.base_ids.to_numpy(False), return_inverse=True)
            n = int(number.max(initial=-1)) + 1
        if known and n * width <= MOST:
            return Units(number, n, True)
        groups = max(2, min(n, GROUPS, MOST // max(width, 1)))
        dealt = np.random.default_rng(0).permutation(n) % groups
        return Units(dealt[number] if n else number, groups, False)


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of a pair of annotators in a unit, [E].

    Parameters
    ----------
    pair, unit : int64[E].
    n_units : units in which cells are counted, the documents or groups of them.
    first, second : int64[P], the annotators of each pair.
    tokens, spans : what was counted.
    """

    pair: I64
    unit: I64
    n_units: int
    first: I64
    second: I64
    tokens: PairSums
    spans: SpanSums


@dataclass(frozen=True, eq=False)
class Unitising:
    """What α_U is made of, by unit and type (G, K).

    Parameters
    ----------
    differences : float64[G, K], Σ δ² between annotators.
    length, observed : float64[G, K], tokens that two or more labelled, and labels on them.
    lengths : of spans and gaps.
    """

    differences: F64
    length: F64
    observed: F64
    lengths: Lengths


class Counter:
    """Counts a crowd; each kind of sums when it is first asked for.

    Parameters
    ----------
    crowd : the annotations.
    strict : the reading of spans.
    silent : bool[W, K], sources whose ``O`` is no opinion on a type.
    """

    def __init__(self, crowd: Crowd, strict: str, silent: Bool | None = None) -> None:
        self.crowd, self.strict = crowd, strict
        self.units = Units.of(crowd)
        n_types = len(crowd.scheme.types)
        on = np.zeros((crowd.n_annotators, n_types), np.bool_) if silent is None else silent
        on = on & (crowd.scheme.outside >= 0)
        self.mute = Mute(int(crowd.scheme.outside), on, np.asarray(on.any(axis=1)), bool(on.any()))

    @cached_property
    def spans(self) -> Spans:
        crowd = self.crowd
        return extract(crowd.tags, crowd.row_offsets, crowd.scheme, self.strict)

    @cached_property
    def marks(self) -> I64:
        """int64[K]: how often all annotators together marked each type."""
        scheme, n_types = self.crowd.scheme, len(self.crowd.scheme.types)
        if scheme.kind != "plain":
            return np.bincount(self.spans.type, minlength=n_types)
        kinds = scheme.type_of[self.crowd.tags[self.crowd.tags >= 0]]
        return np.bincount(kinds[kinds >= 0], minlength=n_types)

    @cached_property
    def layer_types(self) -> Bool:
        """bool[layers, K]: the types that are marked on each layer (all, where there is one layer)."""
        crowd = self.crowd
        n_layers, n_types = len(crowd.corpus.layers), len(crowd.scheme.types)
        if n_layers == 1:
            return np.ones((1, n_types), np.bool_)
        marked = np.zeros((n_layers, n_types), np.bool_)
        row_layer = crowd.corpus.sentence_layer[crowd.row_sentence]
        marked[row_layer[self.spans.sequence], self.spans.type] = True
        return marked

    @cached_property
    def tokens(self) -> tuple[TokenSums, TokenSums]:
        """[G, L] of all labels, and [G, K, 2] of each type against the rest."""
        crowd, n = self.crowd, self.units.n
        n_types = len(crowd.scheme.types)
        whole, typed = _token_sums((n,), crowd.n_labels), _token_sums((n, n_types), 2)
        for layer, types in enumerate(self.layer_types):
            at = np.flatnonzero(crowd.corpus.sentence_layer == layer)
            part = crowd if len(self.layer_types) == 1 else crowd[at]
            own = _token_sums((n, n_types), 2)
            unit = self.units.of_sentence[at]
            count_tokens(part.view, crowd.scheme.type_of, unit, self.mute, whole, own)
            for total, sums in zip(typed, own, strict=True):
                total[:, types] += sums[:, types]
        return whole, typed

    @cached_property
    def row_pairs(self) -> tuple[I64, I64]:
        """Every two rows of one sentence, the earlier first."""
        sentence_rows = self.crowd.sentence_rows
        rows = np.diff(sentence_rows)
        last = np.repeat(sentence_rows[1:], rows)
        row = np.arange(len(last))
        partners = last - row - 1
        left = np.repeat(row, partners)
        first = np.concatenate([[0], np.cumsum(partners)])[:-1]
        right = left + 1 + np.arange(len(left)) - np.repeat(first, partners)
        labelled = self.crowd.row_labelled > 0  # a row without any label says nothing
        if labelled.all():
            return left, right
        both = labelled[left] & labelled[right]
        return left[both], right[both]

    @cached_property
    def cells(self) -> Cells:
        crowd = self.crowd
        left, right = self.row_pairs
        n_annotators = max(1, crowd.n_annotators)
        key = crowd.row_annotator[left].astype(np.int64) * n_annotators + crowd.row_annotator[right]
        names, pair = np.unique(key, return_inverse=True)
        unit = self.units.of_sentence[crowd.row_sentence[left]]
        groups = max(self.units.n, 1)
        cells, cell = np.unique(pair * groups + unit, return_inverse=True)
        if len(cells) > MOST_CELLS:  # fewer and larger units of their own
            groups = max(FEWEST_GROUPS, groups * MOST_CELLS // len(cells))
            dealt = np.random.default_rng(0).permutation(self.units.n) % groups
            cells, cell = np.unique(pair * groups + dealt[unit], return_inverse=True)
        both = RowPairs(left, right, cell)
        tokens = self._compared(both, len(cells))
        spans = _span_sums(len(cells), len(crowd.scheme.types))
        compare_spans(
            crowd.view, crowd.row_offsets, self.spans, self._row_spans(self.spans), both, self.mute,
            spans,
        )  # fmt: skip
        return Cells(
            cells // groups, cells % groups, groups, names // n_annotators, names % n_annotators,
            tokens, spans,
        )  # fmt: skip

    @cached_property
    def unit_spans(self) -> SpanSums:
        """Spans of all pairs together, by unit."""
        crowd, (left, right) = self.crowd, self.row_pairs
        both = RowPairs(left, right, self.units.of_sentence[crowd.row_sentence[left]])
        spans = _span_sums(self.units.n, len(crowd.scheme.types))
        compare_spans(
            crowd.view, crowd.row_offsets, self.spans, self._row_spans(self.spans), both, self.mute,
            spans,
        )  # fmt: skip
        return spans

    def _compared(self, both: RowPairs, n_cells: int) -> PairSums:
        crowd = self.crowd
        n_types = len(crowd.scheme.types)
        total = _pair_sums(n_cells, crowd.n_labels, n_types)
        layer = crowd.corpus.sentence_layer[crowd.row_sentence[both.left]]
        for number, types in enumerate(self.layer_types):
            mine = slice(None) if len(self.layer_types) == 1 else layer == number
            own = _pair_sums(n_cells, crowd.n_labels, n_types)
            part = RowPairs(*(column[mine] for column in both))
            compare_rows(crowd.view, crowd.row_offsets, crowd.scheme.type_of, part, self.mute, own)
            for name, sums in own._asdict().items():
                if name.startswith("typed"):
                    sums[..., ~types] = 0
                getattr(total, name)[...] += sums
        return total

    def _row_spans(self, spans: Spans) -> I64:
        return np.searchsorted(spans.sequence, np.arange(self.crowd.n_rows + 1))

    @cached_property
    def unitising(self) -> Unitising:
        """Spans and gaps on the texts that two or more labelled, without silent sources and rows in which
        some token was left unsaid."""
        crowd, n = self.crowd, self.units.n
        corpus, n_types = crowd.corpus, len(crowd.scheme.types)
        sentence = crowd.row_sentence.astype(np.int64)
        tokens = np.diff(corpus.token_offsets)
        whole = crowd.row_labelled == tokens[sentence]
        heard = self.layer_types[corpus.sentence_layer[sentence]] & whole[:, None]
        heard &= ~self.mute.on[crowd.row_annotator]
        voices = np.zeros((crowd.n_sentences, n_types), np.int64)
        np.add.at(voices, sentence, heard)
        heard &= voices[sentence] >= 2
        spans = keep_spans(self.spans, heard[self.spans.sequence, self.spans.type])
        row_spans = self._row_spans(spans)
        length, observed = np.zeros((2, n, n_types))
        both = np.where(voices >= 2, tokens[:, None], 0).astype(np.float64)
        np.add.at(length, self.units.of_sentence, both)
        np.add.at(observed, self.units.of_sentence, both * voices)
        differences = np.zeros((n, n_types))
        left, right = self.row_pairs
        pairs = RowPairs(left, right, np.zeros(0, np.int64))
        unitising_differences(
            spans, row_spans, sentence, pairs, heard, voices, self.units.of_sentence, differences
        )
        most = int((spans.end - spans.start).max(initial=1))
        lengths = Lengths(*(np.zeros((n, n_types, most + 1)) for _ in range(3)))
        walk = self._walk(sentence, tokens)
        count_lengths(walk, spans, row_spans, heard[walk.row], lengths)
        return Unitising(differences, length, observed, lengths)

    def _walk(self, sentence: I64, tokens: I64) -> Walk:
        """Rows by annotator, layer and document, so that neighbours in a text follow each other."""
        corpus, who = self.crowd.corpus, self.crowd.row_annotator
        place = np.lexsort((corpus.sentence_layer, corpus.sentence_document))
        rank = np.empty_like(place)
        rank[place] = np.arange(len(place))
        row = np.lexsort((rank[sentence], who))
        at = sentence[row]
        home = (
            corpus.sentence_document.astype(np.int64) * len(corpus.layers) + corpus.sentence_layer
        )
        goes_on = np.zeros(len(row), np.bool_)
        goes_on[1:] = (np.diff(rank[at]) == 1) & (np.diff(home[at]) == 0) & (np.diff(who[row]) == 0)
        if not knows_documents(corpus):  # sentences without a document are texts of their own
            goes_on[:] = False
        return Walk(row, self.units.of_sentence[at], tokens[at], goes_on)


def _token_sums(shape: tuple[int, ...], n: int) -> TokenSums:
    return TokenSums(
        np.zeros((*shape, n)), np.zeros(shape), np.zeros(shape), np.zeros((*shape, 2)),
        np.zeros((*shape, n)),
    )  # fmt: skip


def _pair_sums(n: int, n_labels: int, n_types: int) -> PairSums:
    return PairSums(
        np.zeros(n), np.zeros(n), np.zeros((n, 2, n_labels)), np.zeros((n, n_types)),
        np.zeros((n, n_types)), np.zeros((n, 2, n_types)),
    )  # fmt: skip


def _span_sums(n: int, n_types: int) -> SpanSums:
    return SpanSums(
        np.zeros((n, 2, n_types)), np.zeros((n, n_types)), np.zeros((n, 2, n_types)), np.zeros(n)
    )
