"""Worker models: tables, priors, counts."""

from __future__ import annotations

import numpy as np
import pytest

from seqtruth.data.scheme import KINDS, Scheme
from seqtruth.methods.bayes import dirichlet
from seqtruth.methods.bayes.worker_models import (
    ANNOTATOR_MODELS,
    ConfusionMatrix,
    Sequential,
    Spammer,
    information,
)

SCHEME = Scheme.of("iob2", ["B-LOC", "B-PER"])
NOTHING = np.full(3, np.nan)


def random_counts(model, n_labels: int, seed: int = 0) -> np.ndarray:
    width = n_labels if model.previous else 1
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, 3.0, (3, width, n_labels, n_labels))


def fitted(model, scheme: Scheme, variational: bool, seed: int = 0):
    n_labels = len(scheme.labels)
    prior = model.prior(scheme, NOTHING)
    logs = {k: dirichlet.logs(v, variational) for k, v in prior.items()}
    counts = model.counts(random_counts(model, n_labels, seed), logs)
    return prior, {k: prior[k] + counts[k] for k in prior}


@pytest.mark.parametrize("name", ANNOTATOR_MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_tables_and_confusions_are_distributions_over_tags(name, kind):
    scheme = Scheme.of(kind, ["DET", "NOUN"] if kind == "plain" else ["I-LOC", "I-PER"])
    model, n_labels = ANNOTATOR_MODELS[name](), len(scheme.labels)
    prior, n = fitted(model, scheme, variational=False)
    logs = {k: dirichlet.logs(v, False) for k, v in n.items()}
    table = model.table(logs, n_labels)
    assert table.shape == (3, n_labels if model.previous else 1, n_labels, n_labels)
    np.testing.assert_allclose(np.exp(table).sum(axis=2), 1.0)
    confusion = model.confusion(n, prior, n_labels)
    np.testing.assert_allclose(confusion.sum(axis=2), 1.0)
    if not model.previous:
        np.testing.assert_allclose(confusion, np.exp(table[:, 0]).transpose(0, 2, 1))


@pytest.mark.parametrize("name", ANNOTATOR_MODELS)
def test_counts_lose_nothing(name):
    model = ANNOTATOR_MODELS[name]()
    n_labels = len(SCHEME.labels)
    tags = random_counts(model, n_labels)
    logs = {k: dirichlet.logs(v, True) for k, v in model.prior(SCHEME, NOTHING).items()}
    first = next(iter(model.counts(tags, logs).values()))
    np.testing.assert_allclose(first.reshape(3, -1).sum(axis=1), tags.reshape(3, -1).sum(axis=1))


@pytest.mark.parametrize("name", ANNOTATOR_MODELS)
def test_an_annotator_is_expected_to_be_right_more_often_than_not(name):
    model = ANNOTATOR_MODELS[name](base=1.0, diagonal=10.0)
    prior = model.prior(SCHEME, NOTHING)
    confusion = model.confusion(prior, prior, len(SCHEME.labels))
    on = np.arange(len(SCHEME.labels))
    begins = [i for i, label in enumerate(SCHEME.labels) if not label.startswith("I-")]
    assert (confusion[:, on, on][:, begins] > 0.5).all()


def test_honesty_is_inferred_by_summing_over_it():
    model, n_labels = Spammer(), 3
    theta, habit = 0.7, np.array([0.2, 0.3, 0.5])
    logs = {
        "honest": np.log([[theta, 1 - theta]]),
        "habit": np.log(habit[None]),
    }
    tags = np.zeros((1, 1, n_labels, n_labels))
    tags[0, 0, 1, 1] = 4.0  # said 1 where 1 was true
    tags[0, 0, 2, 1] = 2.0  # said 2 where 1 was true: spam for certain
    knew = theta / (theta + (1 - theta) * habit[1])
    counts = model.counts(tags, logs)
    np.testing.assert_allclose(counts["honest"][0], [4 * knew, 4 * (1 - knew) + 2])
    np.testing.assert_allclose(counts["habit"][0], [0, 4 * (1 - knew), 2])
    expected = theta * np.eye(3) + (1 - theta) * habit[:, None]
    np.testing.assert_allclose(np.exp(model.table(logs, n_labels)[0, 0]), expected)


def test_seq_prior_spares_forbidden_tags():
    scheme, model = SCHEME, Sequential(base=1.0, diagonal=10.0, rare=0.1, begin=2.0)
    prior = model.prior(scheme, NOTHING)["confusion"][0]
    o, b, i = scheme.index("O"), scheme.index("B-PER"), scheme.index("I-PER")
    assert prior[o, b, i] == pytest.approx(0.1)  # I- after O
    assert prior[b, i, i] == pytest.approx(11.0)
    assert prior[o, b, b] == pytest.approx(21.0)  # a beginning counts more
    legal = scheme.allowed[o]
    np.testing.assert_allclose(prior[o, i, legal], 1.0 + 10.0 / legal.sum())  # cannot be right
    none = Sequential(base=1.0, diagonal=10.0, stray=0.0).prior(scheme, NOTHING)["confusion"][0]
    np.testing.assert_allclose(none[o, i, legal], 1.0)


def test_known_reliability_moves_the_prior():
    accuracy = np.array([0.99, 0.2, np.nan])
    for model in (ANNOTATOR_MODELS[name](strength=1000.0) for name in ANNOTATOR_MODELS):
        prior = model.prior(SCHEME, accuracy)
        confusion = model.confusion(prior, prior, len(SCHEME.labels))
        o = SCHEME.index("O")
        right = confusion[:, o, o]
        assert right[0] == pytest.approx(0.99, abs=0.02)
        assert right[1] < 0.4
        plain = model.prior(SCHEME, NOTHING)
        for name, values in prior.items():
            np.testing.assert_allclose(values[2], plain[name][2])


def test_information_knows_spammers_and_liars():
    prior = np.array([0.9, 0.1])
    always_o = np.array([[1.0, 0.0], [1.0, 0.0]])
    liar = np.array([[0.0, 1.0], [1.0, 0.0]])
    found = information(np.array([np.eye(2), always_o, liar]), prior)
    assert found[1] == pytest.approx(0.0, abs=1e-12)
    assert found[0] == pytest.approx(found[2])  # who always lies tells as much


def test_models_without_counts_are_their_prior():
    model = ConfusionMatrix(base=2.0, diagonal=3.0)
    prior = model.prior(SCHEME, NOTHING)
    assert prior["confusion"].shape == (3, 1, 5, 5)
    np.testing.assert_allclose(prior["confusion"][0, 0], 2.0 + 3.0 * np.eye(5))
