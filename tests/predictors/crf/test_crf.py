"""The CRF: its gradient, its weights and soft labels, warm starts, and probabilities by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from oracles.paths import Enumeration, path_score
from seqtruth.data.corpus import Corpus
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError, ParameterError
from seqtruth.predictors.crf.crf import CRF, _Problem
from seqtruth.predictors.crf.features import Views
from seqtruth.predictors.crf.lbfgs import minimise

TOKENS = [["Ann", "saw", "Bob"], ["Ames", "is", "big"], ["Ann", "ran"], ["Yes"]] * 2
TAGS = [["B-PER", "O", "B-PER"], ["B-LOC", "O", "O"], ["B-PER", "O"], ["O"]] * 2
SCHEME = Scheme.of("iob2", ["B-PER", "B-LOC"])
CODES = np.array([SCHEME.index(tag) for row in TAGS for tag in row], np.int8)
TIGHT = {"max_iter": 400, "further_iter": 400, "tol": 1e-13}


def soft_targets(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(len(SCHEME.labels)), len(CODES))


def holed_targets() -> np.ndarray:
    hard = np.eye(len(SCHEME.labels))[CODES]
    hard[::3] = 0.0
    return hard


@pytest.mark.parametrize("targets", [soft_targets(), holed_targets()], ids=["soft", "missing"])
def test_gradient_agrees_with_finite_differences(targets: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    corpus, crf = Corpus.of(TOKENS), CRF()
    channels = crf._encoder.encode(corpus, grow=True)
    sizes = [len(vocabulary) for vocabulary in crf._encoder.vocabularies]
    problem = _Problem(
        Views.of(channels, sizes), corpus.token_offsets, targets, rng.random(len(TOKENS)),
        len(SCHEME.labels), 0.3,
    )  # fmt: skip
    n = (sum(sizes) + len(SCHEME.labels) + 2) * len(SCHEME.labels)
    x = rng.normal(0, 0.3, n)
    _, gradient = problem.loss(x)
    chosen = np.concatenate([rng.choice(n, 40, replace=False), np.arange(n - 35, n)])
    for k in chosen:  # features at random, and the whole chain
        step = np.zeros(n)
        step[k] = 1e-5
        slope = (problem.loss(x + step)[0] - problem.loss(x - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(slope, abs=2e-5)


def test_hard_labels_are_one_hot_soft_labels() -> None:
    hard = CRF().fit(TOKENS, CODES, scheme=SCHEME)
    soft = CRF().fit(TOKENS, np.eye(len(SCHEME.labels))[CODES], scheme=SCHEME)
    words = CRF().fit(TOKENS, TAGS)
    expected = hard.predict_proba(TOKENS)
    np.testing.assert_array_equal(soft.predict_proba(TOKENS), expected)
    np.testing.assert_array_equal(words.predict_proba(TOKENS), expected)
    assert expected.argmax(axis=1).tolist() == CODES.tolist()


def test_a_weight_of_three_is_a_sentence_three_times() -> None:
    n = len(TOKENS)
    weights = np.where(np.arange(n) % 4 == 1, 3.0, 1.0)
    repeated = [s for s in range(n) for _ in range(int(weights[s]))]
    weighed = CRF(**TIGHT).fit(TOKENS, TAGS, weights=weights)
    thrice = CRF(**TIGHT).fit([TOKENS[s] for s in repeated], [TAGS[s] for s in repeated])
    np.testing.assert_allclose(
        weighed.predict_proba(TOKENS), thrice.predict_proba(TOKENS), atol=2e-4
    )


def test_a_weight_of_nought_is_no_sentence() -> None:
    weights = np.where(np.arange(len(TOKENS)) % 4 == 1, 0.0, 1.0)
    upside_down = [["O", "B-PER", "B-PER"] if row[0] == "B-LOC" else row for row in TAGS]
    a = CRF(**TIGHT).fit(TOKENS, CODES, scheme=SCHEME, weights=weights)
    b = CRF(**TIGHT).fit(
        TOKENS, np.array([SCHEME.index(t) for row in upside_down for t in row], np.int8),
        scheme=SCHEME, weights=weights,
    )  # fmt: skip
    np.testing.assert_allclose(a.predict_proba(TOKENS), b.predict_proba(TOKENS), atol=1e-6)


def test_pair_counts_make_mixtures_of_sequences_exact() -> None:
    # two readings of every sentence, 0.7 to 0.3, against both as sentences of their own
    tokens = [["New", "York"], ["in", "New", "York"], ["New", "ideas"]] * 2
    long = [["B-LOC", "I-LOC"], ["O", "B-LOC", "I-LOC"], ["B-PER", "I-PER"]] * 2
    readings = {0.7: long, 0.3: [["O"] * len(row) for row in tokens]}
    both = CRF(**TIGHT).fit(
        tokens * 2, [row for tags in readings.values() for row in tags], scheme=SCHEME,
        weights=np.repeat(list(readings), len(tokens)),
    )  # fmt: skip
    n = len(SCHEME.labels)
    targets, pairs = np.zeros((sum(map(len, tokens)), n)), np.zeros((n, n))
    for share, tags in readings.items():
        rows = [[SCHEME.index(tag) for tag in row] for row in tags]
        targets += share * np.eye(n)[[code for row in rows for code in row]]
        for row in rows:
            for before, after in itertools.pairwise(row):
                pairs[before, after] += share
    expected = both.predict_proba(tokens)
    mixed = CRF(**TIGHT).fit(tokens, targets, scheme=SCHEME, transitions=pairs)
    np.testing.assert_allclose(mixed.predict_proba(tokens), expected, atol=1e-4)
    independent = CRF(**TIGHT).fit(tokens, targets, scheme=SCHEME)
    chains = [crf.potentials(tokens)[1].transition for crf in (mixed, both, independent)]
    np.testing.assert_allclose(chains[0], chains[1], rtol=1e-2)
    assert np.abs(np.log(chains[2] / chains[1])).max() > 0.1


def test_missing_tags_are_summed_over() -> None:
    tokens = [["Ann", "saw", "Bob"], ["Yes", "no"]] * 10
    holed = [["B-PER", None, "B-PER"], ["O", "O"]] * 10
    crf = CRF().fit(tokens, holed)
    scores, _ = crf.potentials(tokens)
    assert np.abs(scores).max() < 10  # nothing is learnt of a token that nobody labelled
    assert crf.predict_proba([["Ann"]]).argmax() == crf.scheme.index("B-PER")
    soft = soft_targets()
    soft[3] = 0.0
    with pytest.raises(DataError, match="every token"):
        CRF().fit(TOKENS, soft, scheme=SCHEME)


def test_training_goes_on_from_where_it_stood() -> None:
    short = CRF(max_iter=3, further_iter=3, tol=0.0).fit(TOKENS, TAGS)
    first = short.log_likelihood(TOKENS, CODES).sum()
    second = short.fit(TOKENS, TAGS).log_likelihood(TOKENS, CODES).sum()
    assert second > first
    done = CRF(**TIGHT).fit(TOKENS, TAGS)
    before = done.predict_proba(TOKENS)
    np.testing.assert_allclose(done.fit(TOKENS, TAGS).predict_proba(TOKENS), before, atol=1e-4)


def test_training_goes_on_with_new_words() -> None:
    crf = CRF().fit(TOKENS, TAGS)
    crf.fit([["Oslo", "sleeps"]] * 5, [["B-LOC", "O"]] * 5, scheme=SCHEME)
    assert crf.predict_proba([["Oslo"]]).argmax() == SCHEME.index("B-LOC")
    with pytest.raises(DataError, match="labels of the first"):
        crf.fit([["x"]], [["NOUN"]])


def test_likelihood_and_marginals_agree_with_every_path() -> None:
    crf = CRF(max_iter=5).fit(TOKENS, TAGS)
    sentence = ["Ann", "saw", "Ames", "today"]
    scores, chain = crf.potentials([sentence])
    truth = Enumeration(4, len(SCHEME.labels), lambda p: path_score(p, scores, chain))
    np.testing.assert_allclose(crf.predict_proba([sentence]), truth.marginals, atol=1e-6)
    for path, p in zip(truth.paths[::37], truth.p[::37], strict=True):
        found = crf.log_likelihood([sentence], np.array(path, np.int8))
        assert found[0] == pytest.approx(np.log(p), abs=1e-7)
    # a missing tag is summed over
    part = np.array([0, -1, -1, SCHEME.outside], np.int8)
    expected = sum(
        p
        for path, p in zip(truth.paths, truth.p, strict=True)
        if path[0] == 0 and path[3] == SCHEME.outside
    )
    assert crf.log_likelihood([sentence], part)[0] == pytest.approx(np.log(expected), abs=1e-7)
    nothing = np.full(4, -1, np.int8)
    assert crf.log_likelihood([sentence], nothing)[0] == pytest.approx(0.0, abs=1e-9)


def test_likelihoods_of_many_sentences_come_one_by_one() -> None:
    crf = CRF(max_iter=5).fit(TOKENS, TAGS)
    found = crf.log_likelihood(TOKENS, CODES)
    alone = [
        crf.log_likelihood([words], CODES[a:b])[0]
        for words, a, b in zip(
            TOKENS, *(Corpus.of(TOKENS).token_offsets[k : len(TOKENS) + k] for k in (0, 1)),
            strict=True,
        )
    ]  # fmt: skip
    np.testing.assert_allclose(found, alone, atol=1e-9)
    assert (found < 0).all()


def test_state_round_trip_gives_the_same_bytes() -> None:
    crf = CRF(l2=0.2, max_iter=7).fit(TOKENS, TAGS)
    again = CRF.from_state(*crf.state(), crf.scheme)
    news = [["Eve", "saw", "Oslo"], ["ANN", "-", "3"]]
    assert again.predict_proba(news).tobytes() == crf.predict_proba(news).tobytes()
    assert (again.l2, again.max_iter) == (0.2, 7)
    for model in (crf, again):
        model.fit(TOKENS, TAGS)
    assert again.predict_proba(news).tobytes() == crf.predict_proba(news).tobytes()
    untrained = CRF.from_state(*CRF().state(), SCHEME)
    with pytest.raises(DataError, match="not been trained"):
        untrained.predict_proba(news)


def test_unknown_words_get_a_distribution() -> None:
    crf = CRF().fit(TOKENS, TAGS)
    found = crf.predict_proba([["Ωmega", "🙂", "", "x" * 300], []])
    assert found.shape == (4, len(SCHEME.labels))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-5)


def test_a_name_like_those_seen_is_known_by_its_looks() -> None:
    crf = CRF().fit(TOKENS * 3, TAGS * 3)
    assert crf.predict_proba([["Eve", "saw", "Bob"]])[0].argmax() != SCHEME.outside


def test_number_of_threads_does_not_change_a_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    tokens = [[f"w{k}" for k in rng.integers(0, 300, 12)] for _ in range(2500)]
    tags = rng.integers(0, len(SCHEME.labels), 30000).astype(np.int8)
    outcomes = []
    for threads in ("1", "4"):
        monkeypatch.setenv("SEQTRUTH_THREADS", threads)
        crf = CRF(max_iter=3).fit(tokens, tags, scheme=SCHEME)
        outcomes.append(crf.predict_proba(tokens).tobytes())
    assert outcomes[0] == outcomes[1]


def test_clone_is_untrained() -> None:
    crf = CRF(l2=0.7, max_iter=9, further_iter=3, tol=1e-2).fit(TOKENS, TAGS)
    copy = crf.clone()
    assert copy == CRF(0.7, 9, 3, 1e-2) and copy.scheme is None


def test_bad_input_is_named() -> None:
    with pytest.raises(ParameterError, match="l2"):
        CRF(l2=0)
    with pytest.raises(DataError, match="scheme"):
        CRF().fit(TOKENS, CODES)
    with pytest.raises(DataError, match="one tag per token"):
        CRF().fit(TOKENS, CODES[:-1], scheme=SCHEME)
    with pytest.raises(DataError, match="columns"):
        CRF().fit(TOKENS, np.ones((len(CODES), 2)), scheme=SCHEME)


def test_minimise_finds_the_bottom_of_a_bowl() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(12, 12))
    bowl, aim = root @ root.T + np.eye(12), rng.normal(size=12)

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float(0.5 * (x - aim) @ bowl @ (x - aim)), bowl @ (x - aim)

    found = minimise(function, np.zeros(12), max_iter=300, tol=1e-16)
    np.testing.assert_allclose(found, aim, atol=1e-4)
