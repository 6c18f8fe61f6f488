"""Trusts: the slope of what is maximised, who earns trust, and what stays forbidden."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqtruth.data.corpus import Corpus
from seqtruth.data.scheme import Scheme
from seqtruth.kernels.chain import Chain, forward_backward, viterbi
from seqtruth.kernels.grammar import is_legal
from seqtruth.methods.accord import trust
from seqtruth.methods.accord.trust import Beliefs, learn_trust, log_evidence

SCHEME = Scheme.of("iob2", ["B-A", "B-B"])
LABELS = len(SCHEME.labels)


def random_chain(rng: np.random.Generator) -> Chain:
    return Chain(*(x * (rng.random(x.shape) + 0.05) for x in Chain.legal(SCHEME.grammar)))


def corpus_of(lengths: list[int]) -> Corpus:
    return Corpus.of([["w"] * n for n in lengths], [f"s{i}" for i in range(len(lengths))])


def told(
    rng: np.random.Generator, tags: np.ndarray, right: float, spread: float = 0.0
) -> np.ndarray:
    """Log evidence for the tags: ``right`` for the true one, noise of size ``spread`` for all."""
    said = rng.normal(0, spread, (len(tags), LABELS))
    said[np.arange(len(tags)), tags] += right
    return said - np.log(np.exp(said).sum(axis=1, keepdims=True))


def scene(seed: int = 0, n: int = 80) -> tuple[Beliefs, np.ndarray, Corpus]:
    """Annotators who are mostly right, a source that knows, a source that guesses."""
    rng = np.random.default_rng(seed)
    corpus = corpus_of(rng.integers(1, 9, n).tolist())
    chain = random_chain(rng)
    noise = rng.gumbel(size=(corpus.n_tokens, LABELS))
    tags = viterbi(noise, corpus.token_offsets, chain)
    evidence = told(rng, tags, 3.0, 1.0)
    features = (told(rng, tags, 2.0, 1.0), told(rng, tags, 0.0, 2.0))
    return Beliefs(chain, features, np.array([0.5, 1.0, 1.0])), evidence, corpus


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2))
def test_slope_is_that_of_the_value(seed: int, n_chains: int) -> None:
    rng = np.random.default_rng(seed)
    offsets = np.array([0, 3, 3, 7, 8])
    features = tuple(rng.normal(0, 1, (8, LABELS)) for _ in range(2))
    evidence, at = rng.normal(0, 2, (8, LABELS)), rng.uniform(0.2, 2.0, 3)
    chain, small = random_chain(rng), 1e-5
    follow = tuple(random_chain(rng) for _ in range(n_chains))

    def value(trusts: np.ndarray) -> float:
        return log_evidence(Beliefs(chain, features, trusts, follow), evidence, offsets)[0]

    slope = log_evidence(Beliefs(chain, features, at, follow), evidence, offsets)[1]
    for k, step in enumerate(small * np.eye(3)):
        expected = (value(at + step) - value(at - step)) / (2 * small)
        assert slope[k] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_value_is_the_expected_likelihood_of_the_evidence() -> None:
    """One token: log Σ_t p(t) exp(W(t)) by hand."""
    source, evidence = np.log([[0.7, 0.1, 0.05, 0.05, 0.1]]), np.log([[0.2, 0.3, 0.1, 0.1, 0.3]])
    beliefs = Beliefs(Chain.free(LABELS), (source,), np.array([1.0, 2.0]))
    p = np.exp(2 * source)
    expected = np.log((p / p.sum() * np.exp(evidence)).sum())
    assert log_evidence(beliefs, evidence, np.array([0, 1]))[0] == pytest.approx(expected)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_who_foretells_the_annotators_is_trusted(seed: int) -> None:
    beliefs, evidence, corpus = scene(seed)
    learnt = learn_trust(beliefs, evidence, corpus)
    assert (learnt.trust > 0).all()
    assert learnt.trust[1] > 2 * learnt.trust[2] and learnt.trust[2] < 0.5
    start, _ = log_evidence(beliefs, evidence, corpus.token_offsets)
    found, _ = log_evidence(beliefs._replace(trust=learnt.trust), evidence, corpus.token_offsets)
    assert found > start and learnt.log_evidence == pytest.approx(found)


def test_nothing_heard_nothing_changed() -> None:
    beliefs, evidence, corpus = scene()
    learnt = learn_trust(beliefs, np.zeros_like(evidence), corpus)
    np.testing.assert_allclose(learnt.trust, beliefs.trust)
    assert learnt.log_evidence == pytest.approx(0.0, abs=1e-9)
    none = corpus_of([])
    empty = Beliefs(beliefs.chain, (np.zeros((0, LABELS)),) * 2, beliefs.trust)
    learnt = learn_trust(empty, np.zeros((0, LABELS)), none)
    np.testing.assert_allclose(learnt.trust, beliefs.trust)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
def test_huge_evidence_leaves_trusts_finite(size: float) -> None:
    beliefs, evidence, corpus = scene()
    learnt = learn_trust(beliefs, size * evidence, corpus)
    assert np.isfinite(learnt.trust).all() and (learnt.trust > 0).all()
    assert np.isfinite(learnt.log_evidence)


def test_a_part_of_a_large_corpus_is_drawn_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "ENOUGH_TOKENS", 100)
    beliefs, evidence, corpus = scene()
    order = np.random.default_rng(5).permutation(corpus.n_sentences)
    turned = corpus[order]

    def drawn(of: Corpus, seed: int) -> set[str]:
        names = of.sentence_ids.to_pylist()
        return {names[s] for s in trust._sample(of, seed)}

    assert drawn(corpus, 3) == drawn(turned, 3) != drawn(corpus, 4)
    chosen = trust._sample(corpus, 3)
    tokens = np.diff(corpus.token_offsets)[chosen].sum()
    assert 100 <= tokens < 110 and (np.diff(chosen) > 0).all()
    places = np.concatenate(
        [np.arange(*corpus.token_offsets[s : s + 2]) for s in order]  # each sentence's tokens
    )
    other = Beliefs(beliefs.chain, tuple(f[places] for f in beliefs.features), beliefs.trust)
    one = learn_trust(beliefs, evidence, corpus, seed=3)
    two = learn_trust(other, evidence[places], turned, seed=3)
    np.testing.assert_allclose(one.trust, two.trust, rtol=1e-6)
    assert one.log_evidence == pytest.approx(two.log_evidence)


@pytest.mark.parametrize("power", [1e-9, 0.3, 1.0, 40.0])
def test_what_is_forbidden_stays_forbidden(power: float) -> None:
    beliefs, evidence, corpus = scene()
    tempered = beliefs._replace(trust=np.array([power, 1.0, 1.0])).tempered_chain()
    for now, allowed in zip(tempered, Chain.legal(SCHEME.grammar), strict=True):
        np.testing.assert_array_equal(now > 0, allowed > 0)
    tags = viterbi(beliefs.scores(evidence), corpus.token_offsets, tempered)
    assert is_legal(tags, corpus.token_offsets, SCHEME.grammar).all()
    found = forward_backward(beliefs.scores(evidence), corpus.token_offsets, tempered)
    assert not found.transition[~SCHEME.allowed].any()


def test_scores_add_what_each_source_says_by_its_trust() -> None:
    beliefs, evidence, _ = scene(n=3)
    before = evidence.copy()
    a, b = beliefs.features
    np.testing.assert_allclose(
        beliefs._replace(trust=np.array([9.0, 2.0, 0.5])).scores(evidence), evidence + 2 * a + b / 2
    )
    np.testing.assert_array_equal(evidence, before)
