"""Layers that were written as sentences of their own, known again by their ids.

CoNLL columns and long tables have no place for layers: a sentence stands there once per layer, and the ids
of further layers end in ``@`` and the layer's name. Where *every* sentence has the same such followers, each
with the sentence's own tokens, they are layers again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seqtruth.data.crowd import Crowd

#: More than these are no layers.
MOST = 100


def with_layers(crowd: Crowd) -> Crowd:
    """The crowd with its layers, where its ids say that it has some; else as it is.

    >>> tags = {"ann": [["B-LOC", "O"], ["B-ORG", "I-ORG"]]}
    >>> plain = Crowd.of(tags, [["Bonn", "Zoo"]] * 2, ids=["a", "a@ORG"])
    >>> with_layers(plain).corpus.layers
    ('', 'ORG')
    """
    corpus = crowd.corpus
    if len(corpus.layers) > 1 or corpus.tokens is None or corpus.n_sentences < 2:
        return crowd
    start = corpus.sentence_ids[0].as_py() + "@"
    ids = corpus.sentence_ids.slice(0, MOST + 1).to_pylist()
    n_layers = next((k for k in range(1, len(ids)) if not ids[k].startswith(start)), len(ids))
    if n_layers == 1 or n_layers > MOST or corpus.n_sentences % n_layers:
        return crowd
    names = [name.removeprefix(start) for name in ids[1:n_layers]]
    everything = corpus.sentence_ids.to_pylist()
    endings = ["", *(f"@{name}" for name in names)]
    bases = everything[::n_layers]
    if any(
        everything[k::n_layers] != [base + ending for base in bases]
        for k, ending in enumerate(endings)
    ):
        return crowd
    lengths = np.diff(corpus.token_offsets).reshape(-1, n_layers)
    if (lengths != lengths[:, :1]).any():
        return crowd
    first = np.repeat(corpus.token_offsets[:-1:n_layers], n_layers)
    width = np.diff(corpus.token_offsets)
    places = np.arange(corpus.n_tokens) - np.repeat(corpus.token_offsets[:-1] - first, width)
    if not corpus.tokens.take(places).equals(corpus.tokens):
        return crowd
    layer = np.tile(np.arange(n_layers, dtype=np.int32), len(bases))
    return replace(crowd, corpus=replace(corpus, layers=("", *names), sentence_layer=layer))
