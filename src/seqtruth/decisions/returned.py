"""Labels that come back from a tool, on the tokens that the result has.

A sample that was written for a tool is a document a sentence (or the documents that the result was read
from). What comes back has its own tokens and ids; marks are laid over ours by their characters, blanks
apart. Labels on the result's own sentences are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.io.documents import Document
from seqtruth.io.to_documents import documents_of, place_of_sentences
from seqtruth.kernels.arrays import I64
from seqtruth.metrics.align import Source, as_labelling
from seqtruth.result import Result


def on_own_tokens(result: Result, labels: Source) -> Labelling:
    """The labels as they are where they are of the result's sentences, else laid over its tokens.

    Parameters
    ----------
    result : whose tokens.
    labels : true labels of some sentences, as :func:`~seqtruth.metrics.align.as_labelling` takes them.
    """
    given = as_labelling(labels)
    plain = "plain" in (result.scheme.kind, given.scheme.kind)
    found = (result.corpus.find(given.corpus.sentence_ids) >= 0).any()
    if found or plain or given.corpus.texts is None or len(result.corpus.layers) > 1:
        return given
    theirs = {document.id: document for document in documents_of(given.as_crowd("gold"))}
    kinds = Scheme.of("iob2", {f"{p}-{name}" for name in given.scheme.types for p in "BI"} | {"O"})
    tags = kinds.unlabelled(result.corpus.n_tokens)
    any_match = False
    for document, tokens in _own_documents(result):
        other = theirs.get(document.id)
        if other is None or "".join(other.text.split()) != "".join(document.text.split()):
            continue
        any_match = True
        tags[tokens] = kinds.encode(_labels(document, other))
    return Labelling(result.corpus, kinds, tags) if any_match else given


def _own_documents(result: Result) -> Iterator[tuple[Document, I64]]:
    """The documents that the result is written as, and the numbers of their tokens."""
    corpus = result.corpus
    sentences: dict[str, list[int]] = {}
    for s, name in enumerate(place_of_sentences(corpus)[0]):
        sentences.setdefault(name, []).append(s)
    for document in documents_of(result.as_crowd("result"), borders=True):
        tokens = gather(corpus.token_offsets, np.array(sentences[document.id], np.int64))[1]
        if document.tokens is not None and len(document.tokens) == len(tokens):
            yield document, tokens


def _labels(document: Document, other: Document) -> list[str]:
    """A label for each token of a document, from the marks of another with the same letters."""
    ours, theirs = _letters(document.text), _letters(other.text)
    assert document.tokens is not None
    starts = np.array([ours[a] for a, _ in document.tokens], np.int64)
    ends = np.array([ours[b] for _, b in document.tokens], np.int64)
    labels = ["O"] * len(starts)
    for mark in sorted(mark for opinion in other.opinions for mark in opinion.marks):
        inside = np.flatnonzero((starts < theirs[mark.end]) & (ends > theirs[mark.start]))
        for number, token in enumerate(inside.tolist()):
            labels[token] = f"{'I' if number else 'B'}-{mark.label}"
    return labels


def _letters(text: str) -> I64:
    """int64[n + 1]: how many letters that are no blanks stand before each place of a text."""
    return np.concatenate([[0], np.cumsum([not letter.isspace() for letter in text])])
