"""Hypothesis strategies for corpora and crowds, named by shape; shared by all tests."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import KINDS, Scheme

#: Text that every format must carry: any character but controls, surrogates and white space.
visible = st.characters(exclude_categories=("Cc", "Cs", "Z", "Cn", "Cf"))
words = st.one_of(
    st.sampled_from(["Ann", "ran", "#tag", "#", "?", '"', "a,b", "NA", "null", "O", "-", "token"]),
    st.text(visible, min_size=1, max_size=6),
)
names = st.text(
    st.characters(categories=("L", "N"), include_characters="-_ .%/\"'"), min_size=1, max_size=8
).filter(lambda name: name == name.strip() and not name.startswith("#"))
type_names = st.sampled_from(["PER", "LOC", "X-Y", "größe"])


@st.composite
def corpora(draw, max_sentences: int = 5, max_tokens: int = 5, min_tokens: int = 0) -> Corpus:
    """A corpus with ids and documents, and at least one token."""
    sentences = draw(
        st.lists(
            st.lists(words, min_size=min_tokens, max_size=max_tokens),
            min_size=1,
            max_size=max_sentences,
        ).filter(any)
    )
    n = len(sentences)
    ids = None
    if draw(st.booleans()):
        ids = draw(st.lists(names, min_size=n, max_size=n, unique=True))
    documents = None
    if draw(st.booleans()):
        document = st.sampled_from(["", "d1", "second doc"])
        documents = draw(st.lists(document, min_size=n, max_size=n))
    return Corpus.of(sentences, ids, documents)


@st.composite
def schemes(draw, kinds=KINDS) -> Scheme:
    """A scheme with one or two types."""
    kind = draw(st.sampled_from(kinds))
    types = draw(st.lists(type_names, min_size=1, max_size=2, unique=True))
    return Scheme.of(kind, types if kind == "plain" else [f"I-{name}" for name in types])


@st.composite
def crowds(draw, kinds=KINDS, missing: bool = True, corpus=None, max_workers: int = 4) -> Crowd:
    """A crowd with any tags (also illegal paths), absent rows and, unless told, missing tags."""
    sentences = draw(corpora() if corpus is None else corpus)
    scheme = draw(schemes(kinds))
    annotators = draw(st.lists(names, min_size=1, max_size=max_workers, unique=True))
    n_pairs = sentences.n_sentences * len(annotators)
    seen = np.array(draw(st.lists(st.booleans(), min_size=n_pairs, max_size=n_pairs)), bool)
    sentence, annotator = np.nonzero(seen.reshape(sentences.n_sentences, len(annotators)))
    n_tags = int(np.diff(sentences.token_offsets)[sentence].sum())
    tag = st.integers(-1 if missing else 0, len(scheme.labels) - 1)
    tags = np.array(draw(st.lists(tag, min_size=n_tags, max_size=n_tags)), np.int8)
    return Crowd(sentences, scheme, tuple(annotators), sentence, annotator, tags)


@st.composite
def marked_texts(draw) -> tuple[str, dict[str, list[dict[str, object]]]]:
    """A text and, per annotator, spans that do not overlap and do not end in white space."""
    alphabet = st.one_of(
        st.sampled_from(["a", "B", "1", ".", ",", " ", "\n", "\r\n", "é", "e\u0301", "😀", "字"]),
        st.characters(exclude_categories=("Cs",)),
    )
    text = "".join(draw(st.lists(alphabet, max_size=20)))
    marked: dict[str, list[dict[str, object]]] = {}
    for annotator in draw(st.lists(names, max_size=3, unique=True)):
        edges = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
        spans = []
        for start, end in zip(edges[::2], edges[1::2], strict=False):
            if not text[start].isspace() and not text[end - 1].isspace():
                spans.append({"start": start, "end": end, "label": draw(type_names)})
        marked[annotator] = spans
    return text, marked


def same_corpus(a: Corpus, b: Corpus, tokens: bool = True) -> bool:
    """Whether two corpora say the same."""
    return (
        np.array_equal(a.token_offsets, b.token_offsets)
        and a.sentence_ids.equals(b.sentence_ids)
        and document_names(a) == document_names(b)
        and (not tokens or _same(a.tokens, b.tokens))
        and _same(a.texts, b.texts)
    )


def _same(a: pa.Array | None, b: pa.Array | None) -> bool:
    return (a is None) == (b is None) and (a is None or a.equals(b))


def document_names(corpus: Corpus) -> list[str]:
    """Name of each sentence's document."""
    assert corpus.sentence_document is not None
    return [corpus.documents[i] for i in corpus.sentence_document]


def spelled(crowd: Crowd) -> dict[tuple[str, str], list[str | None]]:
    """Tags in words by (sentence id, annotator): what a crowd says, whatever its numbering."""
    labels = [*crowd.scheme.labels, None]
    ids = crowd.corpus.sentence_ids.to_pylist()
    return {
        (ids[s], crowd.annotators[w]): [
            labels[t] for t in crowd.tags[crowd.row_offsets[r] : crowd.row_offsets[r + 1]]
        ]
        for r, (s, w) in enumerate(zip(crowd.row_sentence, crowd.row_annotator, strict=True))
    }
