"""The document's opinion against a loop over its words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqtruth.data.corpus import Corpus
from seqtruth.data.scheme import Scheme
from seqtruth.methods.accord.documents import COMMON, FEWEST, LEAST, Documents

IOB2 = Scheme.of("iob2", ["B-LOC", "B-PER"])
PLAIN = Scheme.of("plain", ["ADJ", "NOUN", "VERB"])


def corpus_of(seed: int, n_documents: int = 12, n_words: int = 15) -> Corpus:
    """Documents that share some words; an empty sentence among them."""
    rng = np.random.default_rng(seed)
    words = [f"w{k}" for k in range(n_words)]
    odds = 1.0 / np.arange(1, n_words + 1) ** 2
    names = [f"d{k}" for k in range(n_documents)] + rng.choice(
        [f"d{k}" for k in range(n_documents)], n_documents
    ).tolist()
    sentences = [rng.choice(words, rng.integers(0, 6), p=odds / odds.sum()).tolist() for _ in names]
    return Corpus.of(sentences, documents=names)


def posterior_of(corpus: Corpus, scheme: Scheme, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(len(scheme.labels), 0.3), corpus.n_tokens).astype(np.float32)


def by_hand(corpus: Corpus, scheme: Scheme, posterior: np.ndarray) -> np.ndarray:
    """f[i, l] as the module's docstring says it."""
    documents = np.repeat(corpus.sentence_document, np.diff(corpus.token_offsets)).tolist()
    words = corpus.tokens.to_pylist()
    places = {
        word: {d for d, w in zip(documents, words, strict=True) if w == word} for word in words
    }
    kinds = scheme.type_of.tolist()
    out = np.zeros(posterior.shape)
    for i, (document, word) in enumerate(zip(documents, words, strict=True)):
        others = [
            j for j, pair in enumerate(zip(documents, words, strict=True))
            if pair == (document, word) and j != i
        ]  # fmt: skip
        if not others or len(places[word]) > COMMON * len(set(corpus.sentence_document.tolist())):
            continue
        mean = {
            kind: np.mean([
                np.log(max(sum(float(posterior[j, k]) for k, t in enumerate(kinds) if t == kind), LEAST))
                for j in others
            ])
            for kind in set(kinds)
        }  # fmt: skip
        out[i] = [mean[kind] - max(mean.values()) for kind in kinds]
    return out


@given(st.integers(0, 10**6), st.sampled_from([IOB2, PLAIN]))
def test_evidence_is_what_the_docstring_says(seed: int, scheme: Scheme) -> None:
    corpus = corpus_of(seed)
    posterior = posterior_of(corpus, scheme, seed)
    found = Documents(corpus, scheme).evidence(posterior)
    np.testing.assert_allclose(found, by_hand(corpus, scheme, posterior), atol=1e-5)


def story(n_documents: int) -> Corpus:
    """``Ann`` twice in the first document, ``the`` twice in every."""
    texts = [["the", "Ann", "saw", "the", "Ann"], *[["the", "dog", "the"]] * (n_documents - 1)]
    return Corpus.of(texts, documents=[f"d{k}" for k in range(n_documents)])


def test_a_word_hears_its_other_places_and_common_words_hear_nothing() -> None:
    corpus = story(6)
    posterior = np.zeros((corpus.n_tokens, len(IOB2.labels)), np.float32)
    posterior[:, IOB2.outside] = 1.0
    posterior[1] = 0.0
    posterior[1, IOB2.index("B-PER")] = 1.0  # the first Ann is a person
    found = Documents(corpus, IOB2).evidence(posterior)
    person = [IOB2.index("B-PER"), IOB2.index("I-PER")]
    assert (found[4, person] == 0).all() and (np.delete(found[4], person) == np.log(LEAST)).all()
    assert found[1, IOB2.outside] == 0 and (found[1, person] == np.log(LEAST)).all()
    assert not found[[0, 2, 3]].any() and not found[5:].any()


@pytest.mark.parametrize("corpus", [
    story(FEWEST - 1),
    replace(story(8), tokens=None),
    story(8)[[1, 2, 3]],
    story(8)[:0],
], ids=["few documents", "no text", "few documents of many", "nothing"])  # fmt: skip
def test_nothing_to_say(corpus: Corpus) -> None:
    documents = Documents(corpus, IOB2)
    assert not documents.repeat
    posterior = posterior_of(corpus, IOB2, 0)
    assert not documents.evidence(posterior).any()


def test_part_of_a_corpus_is_a_corpus_of_its_own() -> None:
    """Documents that are listed and have no sentence here do not make a word rarer."""
    whole = story(40)
    names = ["d0", "d1", "d2", "d3", "d4"]
    alone = Corpus.of([whole.words(k) for k in range(5)], documents=names)
    for one, other in zip(
        (Documents(whole[:5], IOB2).others, Documents(whole[:5], IOB2).group),
        (Documents(alone, IOB2).others, Documents(alone, IOB2).group),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    assert Documents(alone, IOB2).repeat
