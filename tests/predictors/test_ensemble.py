"""Several predictors as one: the formula, the training, the file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.paths import Enumeration, path_score
from seqtruth import archive
from seqtruth.data.corpus import Corpus
from seqtruth.data.scheme import Scheme
from seqtruth.errors import InputError, ParameterError
from seqtruth.kernels.chain import Chain
from seqtruth.predictors import CRF, Ensemble, Predictor, Tagger
from seqtruth.predictors.base import normalised

SENTENCES = [["Ann", "Lee", "saw", "Oslo"], ["Bob", "left", "Brno"], ["Eve", "ran"]]
TAGS = [["B-PER", "I-PER", "O", "B-LOC"], ["B-PER", "O", "B-LOC"], ["B-PER", "O"]]


class Fixed:
    """Says the same of every token; counts how often it was trained."""

    name = "fixed"

    def __init__(self, said: list[float], fits: int = 0) -> None:
        self.said, self.fits = said, fits

    def clone(self) -> Fixed:
        return Fixed(self.said)

    def fit(self, tokens, tags, *, scheme=None, weights=None) -> Fixed:
        self.fits += 1
        self.got = (tokens, tags, scheme, weights)
        return self

    def predict_proba(self, tokens) -> np.ndarray:
        return np.tile(np.array(self.said, np.float32), (sum(map(len, tokens)), 1))


def test_opinions_are_multiplied_by_their_weights() -> None:
    one, two = [0.7, 0.2, 0.1], [0.1, 0.6, 0.3]
    found = Ensemble([Fixed(one), Fixed(two)], [3.0, 1.0]).predict_proba(SENTENCES)
    expected = np.array(one) ** 0.75 * np.array(two) ** 0.25
    np.testing.assert_allclose(found, np.tile(expected / expected.sum(), (9, 1)), rtol=1e-5)
    assert found.dtype == np.float32


def test_weights_are_rescaled_and_even_where_not_given() -> None:
    members = [Fixed([1.0]), Fixed([1.0])]
    assert Ensemble(members).weights.tolist() == [0.5, 0.5]
    assert Ensemble(members, np.array([1.0, 3.0])).weights.tolist() == [0.25, 0.75]
    alone = Ensemble([Fixed([0.9, 0.1]), Fixed([0.2, 0.8])], [1.0, 0.0]).predict_proba([["x"]])
    np.testing.assert_allclose(alone, [[0.9, 0.1]], rtol=1e-6)


def test_certain_and_contrary_members_stay_a_distribution() -> None:
    found = Ensemble([Fixed([1.0, 0.0, 0.0]), Fixed([0.0, 1.0, 0.0])]).predict_proba([["x"]])
    np.testing.assert_allclose(found, [[0.5, 0.5, 0.0]], atol=1e-5)
    zeros = Ensemble([Fixed([0.0, 0.0])]).predict_proba([["x"]])
    np.testing.assert_allclose(zeros, [[0.5, 0.5]])
    assert Ensemble([Fixed([0.5, 0.5])]).predict_proba([]).shape == (0, 2)


class Sequences(Fixed):
    """Says something of pairs of labels, too."""

    def __init__(self, scores: np.ndarray, chain: Chain) -> None:
        super().__init__([])
        self.scores, self.chain = scores, chain

    def potentials(self, tokens) -> tuple[np.ndarray, Chain]:
        return self.scores, self.chain


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.0))
def test_whole_sequences_are_multiplied(seed: int, weight: float) -> None:
    rng, n, labels = np.random.default_rng(seed), 4, 3
    said = rng.dirichlet(np.ones(labels))
    scores = rng.normal(0, 2, (n, labels))
    chain = Chain(*(np.exp(rng.normal(0, 1, s)) for s in (labels, (labels, labels), labels)))
    members = [Sequences(scores, chain), Fixed(said.tolist())]

    def of_path(path: tuple[int, ...]) -> float:
        known = [np.log(said[label]) for label in path]
        return weight * path_score(path, scores, chain) + (1 - weight) * float(np.sum(known))

    found = Ensemble(members, [weight, 1 - weight]).predict_proba([["w"] * n])
    expected = Enumeration(n, labels, of_path).marginals
    np.testing.assert_allclose(found, expected, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_centred_it_says_the_same_of_sequences(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 4
    scheme = Scheme.of("iob2", ["B-A", "B-B"])
    labels = len(scheme.labels)
    chain = Chain(*(np.exp(rng.normal(0, 2, s)) for s in (labels, (labels, labels), labels)))
    said = normalised(rng.normal(0, 2, (n, labels)), chain)
    again = said.centred(scheme.allowed)
    offsets = np.array([0, 1, n])
    np.testing.assert_allclose(again.probabilities(offsets), said.probabilities(offsets), atol=1e-5)
    # whatever was in scores and what in the chain before: it is the same afterwards
    shift, turn = rng.normal(0, 3, (2, labels))
    logs = Chain(*map(np.log, chain))
    moved = Chain(logs.start - shift, logs.transition - turn[:, None] - shift, logs.end - turn)
    other = normalised(said.scores + (shift + turn), Chain(*map(np.exp, moved)))
    other = other.centred(scheme.allowed)
    np.testing.assert_allclose(other.scores, again.scores, atol=1e-4)
    legal = scheme.allowed
    np.testing.assert_allclose(
        np.log(other.chain.transition)[legal], np.log(again.chain.transition)[legal], atol=1e-4
    )


def test_a_tagger_keeps_its_threshold(tmp_path: Path) -> None:
    scheme = Scheme.of("iob2", ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
    predictor = CRF(max_iter=5).fit(SENTENCES, TAGS, scheme=scheme)
    tagger = Tagger(predictor, scheme, threshold=0.25)
    tagger.save(tmp_path / "kept.tagger")
    again = Tagger.load(tmp_path / "kept.tagger")
    assert again.threshold == 0.25
    corpus = Corpus.of(SENTENCES)
    assert again.label(corpus).tags.tolist() == tagger.label(corpus).tags.tolist()
    timid, bold = (Tagger(predictor, scheme, threshold=t).label(corpus).tags for t in (0.99, 0.0))
    assert scheme.is_entity[timid].sum() <= scheme.is_entity[bold].sum()
    meta, arrays = tagger.state()
    with pytest.raises(InputError, match="threshold"):
        Tagger.from_state(meta | {"threshold": 2.0}, arrays, "here")


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan], [1.0, np.inf]])
def test_wrong_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(ParameterError, match="a weight for each member"):
        Ensemble([Fixed([1.0]), Fixed([1.0])], weights)


def test_an_ensemble_of_nobody_is_refused() -> None:
    with pytest.raises(ParameterError, match="members"):
        Ensemble([])


def test_every_member_learns_everything() -> None:
    members = [Fixed([1.0]), Fixed([1.0])]
    whole = Ensemble(members)
    assert isinstance(whole, Predictor)
    weights = np.ones(3)
    assert whole.fit(SENTENCES, TAGS, weights=weights) is whole
    for member in members:
        assert member.fits == 1 and member.got == (SENTENCES, TAGS, None, weights)
    copy = whole.clone()
    assert all(member.fits == 0 for member in copy.members)
    assert copy.weights.tolist() == whole.weights.tolist()


def test_fit_again_goes_on_from_where_it_was() -> None:
    members = [CRF(max_iter=3, further_iter=3), CRF(max_iter=3, l2=2.0, further_iter=3)]
    whole = Ensemble([member.clone() for member in members])
    first = whole.fit(SENTENCES, TAGS).predict_proba(SENTENCES)
    again = whole.fit(SENTENCES, TAGS).predict_proba(SENTENCES)
    assert np.abs(again - first).max() > 1e-3
    twice = Ensemble([member.fit(SENTENCES, TAGS).fit(SENTENCES, TAGS) for member in members])
    np.testing.assert_array_equal(again, twice.predict_proba(SENTENCES))
    np.testing.assert_array_equal(
        first, whole.clone().fit(SENTENCES, TAGS).predict_proba(SENTENCES)
    )


def trained() -> Tagger:
    whole = Ensemble([CRF(max_iter=8), CRF(max_iter=8, l2=3.0)], [2.0, 1.0]).fit(SENTENCES, TAGS)
    return Tagger(whole, whole.members[0].scheme)


def test_saved_in_a_tagger_it_comes_back(tmp_path: Path) -> None:
    tagger = trained()
    tagger.save(tmp_path / "t")
    again = Tagger.load(tmp_path / "t")
    assert isinstance(again.predictor, Ensemble)
    new = Corpus.of([["Ann", "saw", "Brno"], []])
    np.testing.assert_array_equal(
        again.predictor.predict_proba(new), tagger.predictor.predict_proba(new)
    )
    assert again.predictor.weights.tolist() == tagger.predictor.weights.tolist()
    assert again.tag(["Ann", "Lee"]) == ["B-PER", "I-PER"]
    assert b"pickle" not in (tmp_path / "t").read_bytes()


def test_ensemble_in_an_ensemble_comes_back(tmp_path: Path) -> None:
    tagger = trained()
    nested = Tagger(
        Ensemble([tagger.predictor, CRF(max_iter=3).fit(SENTENCES, TAGS)]), tagger.scheme
    )
    nested.save(tmp_path / "t")
    np.testing.assert_array_equal(
        Tagger.load(tmp_path / "t").predictor.predict_proba(SENTENCES),
        nested.predictor.predict_proba(SENTENCES),
    )


def test_a_member_that_cannot_be_saved_is_named(tmp_path: Path) -> None:
    tagger = Tagger(Ensemble([CRF(), Fixed([1.0])]), Scheme.of("iob2", ["B-A"]))
    with pytest.raises(ParameterError, match=r"Fixed; savable are crf.*bilstm"):
        tagger.save(tmp_path / "t")
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("damage", [
    {"kinds": ["crf", "os.system"]}, {"kinds": ["crf"]}, {"weights": [1.0]}, {"weights": ["x", "y"]},
    {"settings": [{}, {}]}, {"settings": None},
])  # fmt: skip
def test_a_damaged_file_is_refused(damage: dict[str, object], tmp_path: Path) -> None:
    meta, arrays = trained().state()
    meta = json.loads(json.dumps(meta))
    meta["settings"] |= damage
    archive.save(tmp_path / "t", "tagger", meta, arrays)
    with pytest.raises(InputError):
        Tagger.load(tmp_path / "t")
