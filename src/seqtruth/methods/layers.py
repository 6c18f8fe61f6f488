"""A crowd on several layers: each layer is fitted on its own, and the results are put together.

Marks that overlap lie on layers (:mod:`seqtruth.io.overlaps`), each a crowd of its own on the same texts
with labels of its own, so that any method works on them as it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataWarning
from seqtruth.kernels.arrays import F32, F64, I64
from seqtruth.metrics.annotators import annotator_scores
from seqtruth.predictors.tagger import Tagger
from seqtruth.result import Annotators, Result


class Layer(NamedTuple):
    """One layer: its sentences among all, the crowd on them, and what is known of their labels."""

    name: str
    places: I64
    crowd: Crowd
    gold: Labelling | None


def is_layered(crowd: Crowd) -> bool:
    return len(crowd.corpus.layers) > 1


def fit_layers(crowd: Crowd, gold: Labelling | None, fit: Callable[[int, Layer], Result]) -> Result:
    """The result of all layers.

    Parameters
    ----------
    crowd : on several layers.
    gold : on the crowd's sentences, or some of them.
    fit : fits one layer, whose number and crowd it is given.
    """
    layers = [_layer(crowd, gold, number) for number in range(len(crowd.corpus.layers))]
    return _together(crowd, layers, [fit(number, layer) for number, layer in enumerate(layers)])


def _layer(crowd: Crowd, gold: Labelling | None, number: int) -> Layer:
    corpus = crowd.corpus
    places = np.flatnonzero(corpus.sentence_layer == number)
    part = crowd[places]
    part = replace(part, corpus=_flat(part.corpus))
    own = None
    if gold is not None:
        found = gold.corpus.find(part.corpus.sentence_ids)
        own = _sentences(gold, found[found >= 0])
    return Layer(corpus.layers[number], places, _with_own_labels(part), own)


def _flat(corpus: Corpus) -> Corpus:
    return replace(corpus, layers=("",), sentence_layer=np.zeros(corpus.n_sentences, np.int32))


def _sentences(labelling: Labelling, places: I64) -> Labelling:
    _, flat = gather(labelling.corpus.token_offsets, places)
    return Labelling(_flat(labelling.corpus[places]), labelling.scheme, labelling.tags[flat])


def _with_own_labels(crowd: Crowd) -> Crowd:
    """The crowd with the labels of types that somebody uses; with all of them where nobody uses any."""
    scheme = crowd.scheme
    used = np.unique(crowd.tags[crowd.tags >= 0])
    types = sorted({scheme.types[scheme.type_of[tag]] for tag in used if scheme.type_of[tag] >= 0})
    if not types or scheme.kind == "plain":
        return crowd
    own = Scheme.of(scheme.kind, [f"I-{name}" for name in types])
    known = {label: number for number, label in enumerate(own.labels)}
    table = np.array([*(known.get(label, -1) for label in scheme.labels), -1], crowd.tags.dtype)
    return replace(crowd, scheme=own, tags=table[crowd.tags])


def _together(crowd: Crowd, layers: Sequence[Layer], results: Sequence[Result]) -> Result:
    kinds = {result.scheme.kind for result in results}
    kind = crowd.scheme.kind if len(kinds) > 1 else kinds.pop()
    labels = {label for result in results for label in result.scheme.labels}
    scheme = Scheme.of(kind, {*crowd.scheme.labels, *labels})
    offsets = crowd.corpus.token_offsets
    tags = np.full(crowd.n_tokens, -1, crowd.tags.dtype)
    probabilities = np.zeros((crowd.n_tokens, len(scheme.labels)), np.float32)
    of_span = np.zeros(crowd.n_tokens, np.float32)
    of_sentence = np.zeros(crowd.n_sentences)
    for layer, result in zip(layers, results, strict=True):
        numbers = np.array([scheme.index(label) for label in result.scheme.labels])
        flat = gather(offsets, layer.places)[1]
        tags[flat] = np.append(numbers, -1)[result.tags]
        probabilities[np.ix_(flat, numbers)] = result.probabilities
        if result.of_span is not None:
            of_span[flat] = result.of_span
        if result.of_sentence is not None:
            of_sentence[layer.places] = result.of_sentence
    first = results[0]
    return Result(
        crowd.corpus,
        scheme,
        tags,
        probabilities,
        _annotators(crowd, Labelling(crowd.corpus, scheme, tags), layers, results),
        first.history,
        _tagger(layers, results),
        {**first.provenance, "input": crowd.digest(), "layers": list(crowd.corpus.layers)},
        None if any(result.of_span is None for result in results) else of_span,
        None if any(result.of_sentence is None for result in results) else of_sentence,
    )


def _tagger(layers: Sequence[Layer], results: Sequence[Result]) -> Tagger | None:
    """One tagger of all layers that have one."""
    taggers = [
        (layer.name, result.tagger)
        for layer, result in zip(layers, results, strict=True)
        if result.tagger is not None
    ]
    if taggers and len(taggers) < len(layers):
        without = [result.scheme.types for result in results if result.tagger is None]
        warnings.warn(
            f"the tagger leaves out a layer from which nothing was learnt:"
            f" {' | '.join(', '.join(types) for types in without)}",
            DataWarning, stacklevel=6,
        )  # fmt: skip
    return replace(taggers[0][1], layers=tuple(taggers[1:])) if taggers else None


def _annotators(
    crowd: Crowd, found: Labelling, layers: Sequence[Layer], results: Sequence[Result]
) -> Annotators:
    """Weights as means over the layers, each counting by the tokens that are marked on it."""
    share = np.array([1.0 + _marked(layer.crowd) for layer in layers])
    weights = np.stack([result.annotators.weight for result in results])
    first = results[0].annotators
    return Annotators(
        crowd.annotators,
        np.average(weights, axis=0, weights=share),
        first.sentences,
        first.tokens,
        annotator_scores(crowd, found).f1 if (found.tags >= 0).any() else first.agreement,
        _confusion(found.scheme, share, results),
    )


def _marked(crowd: Crowd) -> int:
    return int((crowd.scheme.type_of[crowd.tags[crowd.tags >= 0]] >= 0).sum())


def _confusion(scheme: Scheme, share: F64, results: Sequence[Result]) -> F32 | None:
    """P(tag | true label) of all labels: a layer says nothing of labels that it does not have."""
    tables = [result.annotators.confusion for result in results]
    n_labels = len(scheme.labels)
    total = np.zeros((len(results[0].annotators), n_labels, n_labels))
    for table, part, result in zip(tables, share, results, strict=True):
        if table is None:
            return None
        numbers = np.array([scheme.index(label) for label in result.scheme.labels])
        total[np.ix_(np.arange(len(total)), numbers, numbers)] += part * table
    rows = total.sum(axis=2, keepdims=True)
    return np.where(rows > 0, total / np.where(rows > 0, rows, 1.0), 1.0 / n_labels).astype(
        np.float32
    )
