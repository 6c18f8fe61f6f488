"""A sample of a crowd that fits into memory: whole documents, drawn by name.

What is learnt from examples (taggers, trusts, confidences) needs enough of them, not all of them. A
sample is drawn by a number that follows from a document's name and the seed, so that it is the same one
whatever engine the crowd is on; where a crowd is small, it is the whole crowd.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seqtruth import archive
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.engine.base import Parts, Sums
from seqtruth.kernels.arrays import F64, I64
from seqtruth.kernels.random import uniform_by_name

#: A sample has at most about so many tokens, and so many annotations.
TOKENS, ANNOTATIONS = 500_000, 6_000_000
#: Fewer documents than this are no units to draw: sentences are drawn.
FEWEST_DOCUMENTS = 50
#: The numbers drawn are told apart to one in so many.
BUCKETS = 1 << 16


class Sample(NamedTuple):
    """What was drawn.

    crowd : the sentences, in the order of the parts.
    places : int64[S], which of the crowd's sentences these are, where that is in memory and they are
        not all; else None.
    everything : whether the sample is the whole crowd.
    """

    crowd: Crowd
    places: I64 | None
    everything: bool


def draw_sample(parts: Parts, seed: int) -> Sample:
    """Documents (sentences, where there are few documents) in the order of their numbers, as many as hold
    at most :data:`TOKENS` and :data:`ANNOTATIONS`; all where there are no more than that.

    Parameters
    ----------
    parts : the crowd.
    seed : of the draw.
    """
    facts, below, by_document = parts.facts, 1.0, True
    everything = facts.n_tokens <= TOKENS and facts.n_annotations <= ANNOTATIONS
    if everything and parts.in_memory:
        return Sample(parts.whole, None, True)
    if not everything:
        below, by_document = _bound(parts, seed)
    draw = partial(_drawn, seed=seed, by_document=by_document, below=below)
    if parts.in_memory:
        places = draw(parts.whole)
        return Sample(parts.whole[places], places, False)
    text = parts.seeing_text() if facts.has_text else parts
    return Sample(_joined(text.gather(partial(_packed, draw=draw)), parts), None, everything)


def _bound(parts: Parts, seed: int) -> tuple[float, bool]:
    """Numbers below this are drawn; and whether they are those of documents."""
    sums = parts.add_up(partial(_sizes, seed=seed))
    by_document = int((sums["document"][:, 2] > 0).sum()) >= FEWEST_DOCUMENTS
    sizes = np.cumsum(sums["document" if by_document else "sentence"], axis=0)
    fits = (sizes[:, 0] <= TOKENS) & (sizes[:, 1] <= ANNOTATIONS)
    return max(int(fits.sum()), 1) / BUCKETS, by_document


def _sizes(part: Crowd, seed: int) -> Sums:
    """int64[BUCKETS, 3]: tokens, annotations and sentences by the numbers of their documents, and by
    their own."""
    lengths = np.diff(part.corpus.token_offsets)
    given = np.concatenate([[0], np.cumsum(part.tags >= 0)])[part.row_offsets]
    rows = np.concatenate([[0], np.cumsum(np.diff(given))])
    annotations = np.diff(rows[part.sentence_rows])
    columns = lengths, annotations, np.ones(len(lengths), np.int64)
    found = {}
    for name, by_document in (("document", True), ("sentence", False)):
        bucket = (_numbers(part.corpus, seed, by_document) * BUCKETS).astype(np.int64)
        found[name] = np.stack(
            [np.bincount(bucket, column, BUCKETS).astype(np.int64) for column in columns], axis=1
        )
    return found


def _numbers(corpus: Corpus, seed: int, by_document: bool) -> F64:
    """float64[S], from 0 to below 1: the number of each sentence, or of its document."""
    if not by_document:
        return uniform_by_name(corpus.sentence_ids, seed)
    names = pa.array(corpus.documents, pa.large_string())
    return uniform_by_name(names, seed)[corpus.sentence_document]


def _drawn(part: Crowd, seed: int, by_document: bool, below: float) -> I64:
    return np.flatnonzero(_numbers(part.corpus, seed, by_document) < below)


def _packed(part: Crowd, draw: partial[I64]) -> Sums:
    """The drawn sentences of a part as arrays, to travel to where the sample is wanted."""
    crowd = part[draw(part)]
    corpus = crowd.corpus
    names = pa.array(corpus.documents, pa.large_string())
    texts = {} if corpus.tokens is None else archive.pack_strings("tokens", corpus.tokens)
    return {
        "lengths": np.diff(corpus.token_offsets),
        "rows": np.diff(crowd.sentence_rows),
        "annotator": crowd.row_annotator,
        "tags": crowd.tags,
        **texts,
        **archive.pack_strings("ids", corpus.sentence_ids),
        **archive.pack_strings("documents", names.take(pa.array(corpus.sentence_document))),
    }


def _joined(found: list[Sums], parts: Parts) -> Crowd:
    """What the parts sent, as one crowd."""

    def column(name: str) -> np.ndarray:
        return np.concatenate([part[name] for part in found])

    def texts(name: str) -> pa.Array:
        return pa.concat_arrays([archive.unpack_strings(name, part, "sample") for part in found])

    lengths, rows = column("lengths"), column("rows")
    documents = texts("documents").dictionary_encode()
    corpus = Corpus(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        texts("ids"),
        texts("tokens") if parts.facts.has_text else None,
        tuple(documents.dictionary.to_pylist()) or ("",),
        np.asarray(documents.indices).astype(np.int32),
    )
    sentence = np.repeat(np.arange(len(lengths), dtype=np.int32), rows)
    return Crowd(
        corpus, parts.scheme, parts.annotators, sentence, column("annotator"), column("tags")
    )
