"""The HMM loop against the enumeration of all paths, and its bound step by step."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.paths import Enumeration, Path, log
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataError, ParameterError
from seqtruth.kernels.grammar import is_legal
from seqtruth.methods.bayes.sequence_model import SEQUENCES, CrowdHMM, label_scores
from seqtruth.methods.bayes.word_emissions import WordFeatures
from seqtruth.methods.bayes.worker_models import ANNOTATOR_MODELS
from seqtruth.testing import small_crowd

TOKENS = [["Ann", "saw", "Bo", "Lee"], ["Bo"], ["saw", "Ann"]]


def tiny_crowd() -> Crowd:
    return Crowd.of(
        {
            "a": [["B-P", "O", "B-P", "I-P"], ["B-P"], ["O", "B-P"]],
            "b": [["B-P", "O", "O", "I-P"], None, ["O", "O"]],
            "c": [["O", None, "B-P", "B-P"], ["O"], None],
        },
        TOKENS,
        "iob2",
    )


def path_weight(model: CrowdHMM, tables, sentence: int):
    """log p(t, c, x) of one path, token by token, straight from the definition."""
    crowd = model.crowd
    first = int(crowd.corpus.token_offsets[sentence])
    outside = crowd.scheme.outside

    def weight(path: Path) -> float:
        if tables.transition is None:
            total = sum(log(tables.start[t]) for t in path)
        else:
            total = log(tables.start[path[0]])
            total += sum(log(tables.transition[a, b]) for a, b in pairwise(path))
        for i, t in enumerate(path):
            if tables.evidence is not None:
                total += float(tables.evidence[first + i, t])
            if model.known is not None and model.known[first + i] not in (-1, t):
                return float("-inf")
        for annotator in range(crowd.n_annotators):
            row = crowd.row(sentence, annotator)
            if row is None:
                continue
            previous = outside
            for i, t in enumerate(path):
                context = previous if model.annotators.previous else 0
                if row[i] >= 0:
                    total += tables.annotators[annotator, context, row[i], t]
                previous = row[i] if row[i] >= 0 else outside
        return total

    return weight


def models(crowd: Crowd):
    rng = np.random.default_rng(4)
    evidence = np.log(rng.dirichlet(np.ones(crowd.n_labels), crowd.n_tokens)).astype(np.float32)
    known = np.full(crowd.n_tokens, -1, np.int8)
    known[2] = crowd.scheme.index("B-P")
    for name, kind in ANNOTATOR_MODELS.items():
        for sequence in SEQUENCES:
            for variational in (True, False):
                model = CrowdHMM(crowd, kind(), sequence=sequence, variational=variational)
                yield pytest.param(model, None, id=f"{name}-{sequence}-{variational}")
    full = CrowdHMM(crowd, ANNOTATOR_MODELS["seq"](), words=WordFeatures.of(crowd.corpus))
    yield pytest.param(full, evidence, id="words and evidence")
    yield pytest.param(replace(full, known=known), evidence, id="known")


@pytest.mark.parametrize(("model", "evidence"), list(models(tiny_crowd())))
def test_posterior_counts_and_path_are_those_of_all_paths(model, evidence):
    crowd, n_labels = model.crowd, model.crowd.n_labels
    state = model.advance(model.advance(model.start(), evidence).state, evidence).state
    found, tags = model.expect(state, evidence), model.decode(state, evidence)
    posterior = model.posterior(state, evidence)
    tables = model.tables(state, evidence)
    total, pairs = 0.0, np.zeros((n_labels, n_labels))
    for s in range(crowd.n_sentences):
        a, b = crowd.corpus.token_offsets[s : s + 2]
        truth = Enumeration(b - a, n_labels, path_weight(model, tables, s))
        np.testing.assert_allclose(posterior[a:b], truth.marginals, atol=1e-5)
        best = truth.paths[int(truth.p.argmax())]
        assert tags[a:b].tolist() == list(best)
        total += truth.log_normaliser
        pairs += truth.pairs
    assert found["log_likelihood"][0] == pytest.approx(total, abs=1e-4)
    if model.sequence == "markov":
        np.testing.assert_allclose(found["transition"], pairs, atol=1e-5)


@pytest.mark.parametrize("name", ANNOTATOR_MODELS)
@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("variational", [True, False])
@pytest.mark.parametrize("text", [True, False])
def test_objective_never_falls_from_one_step_to_the_next(name, sequence, variational, text):
    crowd = small_crowd(1)
    model = CrowdHMM(
        crowd, ANNOTATOR_MODELS[name](0.5, 2.0), sequence=sequence, variational=variational,
        words=WordFeatures.of(crowd.corpus, ("word", "shape")) if text else None,
    )  # fmt: skip
    vote = np.full((crowd.n_tokens, crowd.n_labels), 1 / crowd.n_labels, np.float32)
    for state in (model.start(), model.start(vote)):
        before = -np.inf
        for _ in range(15):
            state, value, parts = model.advance(state)[:3]
            assert value >= before - 1e-7 * abs(value)
            assert value == pytest.approx(sum(parts.values()))
            before = value


def test_bound_is_below_the_exact_evidence():
    """One token, one annotator: the marginal likelihood under the prior has a closed form."""
    crowd = Crowd.of({"a": [["B-P"]]}, [["Ann"]], "iob2")
    model = CrowdHMM(crowd, ANNOTATOR_MODELS["cm"](1.0, 1.0), sequence="uniform")
    n = crowd.n_labels
    exact = np.log(sum((2.0 if t == 0 else 1.0) / (n + 1) for t in range(n)) / n)
    state, bound = model.start(), -np.inf
    for _ in range(50):
        state, bound = model.advance(state)[:2]
    assert exact - 0.5 < bound < exact


def test_evidence_decides_where_annotators_are_silent():
    crowd = Crowd.of({"a": [["O", None]], "b": [["O", None]]}, [["the", "Ann"]], "plain").recode(
        Crowd.of({"a": [["O", "P"]]}, [["x", "y"]], "plain").scheme
    )
    evidence = np.log(np.array([[0.5, 0.5], [0.1, 0.9]], np.float32))
    model = CrowdHMM(crowd, ANNOTATOR_MODELS["cm"](1.0, 5.0))
    state = model.advance(model.start(), evidence).state
    assert model.decode(state, evidence).tolist() == [0, 1]


def test_known_labels_stay_even_where_they_break_the_scheme():
    crowd = small_crowd()
    known = np.full(crowd.n_tokens, -1, np.int8)
    known[:2] = [crowd.scheme.index("O"), crowd.scheme.index("I-LOC")]
    model = CrowdHMM(crowd, ANNOTATOR_MODELS["seq"](), known=known)
    state = model.start()
    for _ in range(3):
        state = model.advance(state).state
    assert model.decode(state)[:2].tolist() == known[:2].tolist()
    assert model.posterior(state)[[0, 1], known[:2]] == pytest.approx([1.0, 1.0])


@given(seed=st.integers(0, 100), name=st.sampled_from(sorted(ANNOTATOR_MODELS)))
def test_scores_are_sums_over_annotators(seed, name):
    crowd = small_crowd(seed, n_sentences=4)
    model = CrowdHMM(crowd, ANNOTATOR_MODELS[name]())
    table = model.tables(model.advance(model.start()).state).annotators
    scores = label_scores(crowd, table)
    expected = np.zeros_like(scores)
    for s in range(crowd.n_sentences):
        for annotator in range(crowd.n_annotators):
            row = crowd.row(s, annotator)
            if row is None:
                continue
            previous = crowd.scheme.outside
            for i, tag in enumerate(row):
                context = previous if model.annotators.previous else 0
                expected[crowd.corpus.token_offsets[s] + i] += table[annotator, context, tag]
                previous = tag
    np.testing.assert_allclose(scores, expected)


@pytest.mark.parametrize("kind", ["iob1", "iob2", "bioes", "bilou", "io"])
def test_paths_are_legal_in_every_scheme(kind):
    crowd = small_crowd(2, kind)
    model = CrowdHMM(crowd, ANNOTATOR_MODELS["seq"]())
    tags = model.decode(model.advance(model.start()).state)
    assert is_legal(tags, crowd.corpus.token_offsets, crowd.scheme.grammar).all()


def test_words_count_and_speak():
    crowd = tiny_crowd()
    words = WordFeatures.of(crowd.corpus, ("word", "lower"))
    posterior = np.zeros((crowd.n_tokens, crowd.n_labels), np.float32)
    posterior[:, 0] = 1.0
    counts = words.counts(posterior)
    assert counts["words/word"][0].tolist() == [2, 2, 1, 2]  # Ann, Bo, Lee, saw
    logs = {name: np.log(values + 1) for name, values in counts.items()}
    np.testing.assert_allclose(words.evidence(logs)[0, 0], 2 * np.log(3), rtol=1e-6)


def test_bad_parameters_are_named():
    crowd = tiny_crowd()
    with pytest.raises(ParameterError, match="sequence"):
        CrowdHMM(crowd, ANNOTATOR_MODELS["cm"](), sequence="tree")
    with pytest.raises(ParameterError, match="text features"):
        WordFeatures.of(crowd.corpus, ("colour",))
    with pytest.raises(DataError, match="tokens"):
        WordFeatures.of(replace(crowd.corpus, tokens=None))
