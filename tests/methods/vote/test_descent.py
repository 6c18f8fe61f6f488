"""AggSLC by descent: every block is the minimiser it claims to be, and F never rises at any step."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqtruth.data.crowd import Crowd
from seqtruth.engine.memory import MemoryParts
from seqtruth.errors import ParameterError
from seqtruth.methods.vote.aggslc import AggSLC
from seqtruth.methods.vote.descent import (
    PENALTY,
    Descent,
    cost_of_labels,
    descent_weights,
    inconsistencies,
    levelled,
)
from seqtruth.methods.vote.labeller import Labeller
from seqtruth.methods.vote.prediction import PredictionModule
from seqtruth.predictors import CRF
from seqtruth.testing import small_crowd
from strategies import crowds

seeds = st.integers(0, 2**32 - 1)
SMALL = 1e-9


def descent_on(crowd: Crowd, units: np.ndarray, predictor: object = None) -> Descent:
    parts = MemoryParts(crowd)
    first = Labeller(np.ones(crowd.n_annotators), np.ones(crowd.n_labels), soft=True)
    module = None
    if predictor is not None:
        module = PredictionModule(predictor, parts, "cross-fit", 0.5, 2, 0, 1000)
    none = np.zeros(crowd.n_annotators)
    return Descent(parts, first, units, module, (none, none), False)


@given(st.lists(st.tuples(st.floats(1e-3, 10), st.floats(0, 50)), min_size=1, max_size=6), seeds)
def test_weights_minimise_the_weighted_loss_under_the_constraint(
    annotators: list[tuple[float, float]], seed: int
) -> None:
    means, counts = np.array(annotators).T
    losses, said = means * counts, counts > 0
    weights = descent_weights(losses, counts)
    assert np.all(weights >= 0)
    assert not weights[~said].any()
    if not said.any():
        return
    budget = counts.sum() / max(said.sum(), 2)
    assert counts @ np.exp(-weights) * said.any() <= budget + counts[~said].sum() + 1e-6 * budget
    rng = np.random.default_rng(seed)
    for _ in range(50):  # nothing feasible is better
        other = weights + rng.normal(0, rng.choice([0.01, 0.3]), len(weights))
        other = np.maximum(other, 0.0) * said
        used = counts[said] @ np.exp(-other[said])
        if used > budget:  # the least common rise that makes it feasible
            other[said] += np.log(used / budget)
        assert losses @ other >= losses @ weights - 1e-6 * max(losses @ weights, 1e-6)


@given(seeds, st.integers(1, 6), st.booleans())
def test_the_cost_of_a_label_is_what_its_best_y_loses(seed: int, n_labels: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    votes = rng.gamma(0.5, 2.0, (5, n_labels)) + 1e-3
    if ties:
        votes = np.round(votes) + 0.5
    costs = cost_of_labels(votes)
    best = -(votes * np.log(votes / votes.sum(axis=1, keepdims=True))).sum(axis=1)
    for label in range(n_labels):
        soft = levelled(votes, np.full(5, label))
        np.testing.assert_allclose(soft.sum(axis=1), 1.0)
        assert np.all(soft[:, label] >= soft.max(axis=1) - 1e-12)
        here = -(votes * np.log(soft)).sum(axis=1)
        np.testing.assert_allclose(here - best, costs[:, label], atol=1e-8)
        # no other distribution with the label on top does better
        for _ in range(20):
            other = rng.dirichlet(np.ones(n_labels), 5)
            other = 0.98 * soft + 0.02 * other if rng.random() < 0.5 else other
            other[:, label] = np.maximum(other[:, label], other.max(axis=1))
            other /= other.sum(axis=1, keepdims=True)
            assert np.all(-(votes * np.log(np.maximum(other, 1e-300))).sum(axis=1) >= here - 1e-8)


@settings(max_examples=40)
@given(crowds(), seeds)
def test_no_path_has_a_smaller_f_than_the_one_that_is_found(crowd: Crowd, seed: int) -> None:
    rng = np.random.default_rng(seed)
    run = descent_on(crowd, np.where(crowd.scheme.is_entity, 2.0, 1.0))
    now = run._first
    now = type(now)(now.given, rng.gamma(1.0, 1.0, crowd.n_annotators), now.units)
    found, fixed = now.vote(crowd), now.given(crowd)
    cells = fixed.place * crowd.n_labels + fixed.tag
    by = now.weights[fixed.annotator] * now.units[fixed.tag]
    votes = np.bincount(cells, by, crowd.n_tokens * crowd.n_labels).reshape(-1, crowd.n_labels)
    costs = fixed.of_token[:, None] * cost_of_labels(votes + fixed.pseudo)
    for s in range(crowd.n_sentences):
        a, b = crowd.corpus.token_offsets[s : s + 2]
        if not 0 < b - a <= 4 or crowd.n_labels ** (b - a) > 3000:
            continue
        one = crowd[np.array([s])]

        def value(path: tuple[int, ...], a: int = a, one: Crowd = one) -> float:
            tags = np.array(path, crowd.tags.dtype)
            cost = sum(costs[a + i, label] for i, label in enumerate(path))
            return float(cost + PENALTY * inconsistencies(tags, one))

        least = min(value(path) for path in product(range(crowd.n_labels), repeat=int(b - a)))
        assert value(tuple(int(t) for t in found.tags[a:b])) <= least + 1e-9


def never_rises(run: Descent, rounds: int) -> list[float]:
    """F after every step: predictions, weights, labels."""
    state, values = run.start(), []
    for number in range(rounds):
        before = run.labeller(state)
        taught, _ = run.learn(before)
        if taught is not None and number:
            kept = type(before)(before.given, before.weights, before.units, before.w_dl, taught)
            values.append(sum(run.terms(kept, before).values()))
        weighed = run.weigh(taught, before)
        values.append(sum(run.terms(weighed, before).values()))
        state = run.advance(state).state
        now = run.labeller(state)
        np.testing.assert_allclose(now.weights, weighed.weights)
        values.append(sum(run.terms(now, now).values()))
    for before_, after in pairwise(values):
        assert after <= before_ + SMALL * abs(before_)
    return values


@settings(max_examples=60)
@given(crowds(), st.sampled_from([1.0, 2.0, 5.0]))
def test_f_never_rises_at_any_step(crowd: Crowd, factor: float) -> None:
    never_rises(descent_on(crowd, np.where(crowd.scheme.is_entity, factor, 1.0)), 4)


def test_f_never_rises_with_a_predictor() -> None:
    crowd = small_crowd(n_sentences=30)
    values = never_rises(descent_on(crowd, np.ones(crowd.n_labels), CRF(max_iter=5)), 4)
    assert values[-1] < values[0]


def test_it_halts_and_labels_are_legal() -> None:
    crowd = small_crowd(n_sentences=40)
    result = AggSLC(descent=True, predictor=None, tol=1e-12, max_iter=200).fit(crowd)
    assert result.history.stop_reason == "converged"
    assert all(b <= a * (1 + SMALL) for a, b in pairwise(result.history.objective))
    assert inconsistencies(result.tags, crowd) == 0
    assert set(result.history.steps[0].parts) >= {"L_agg", "L_pred", "L_inc"}


def test_known_labels_stay_and_the_papers_split_is_refused() -> None:
    crowd = small_crowd(n_sentences=12)
    gold = crowd.select_annotators([crowd.annotators[0]]).labelling()
    result = AggSLC(descent=True, predictor=None).fit(crowd, gold=gold)
    known = gold.tags >= 0
    np.testing.assert_array_equal(result.tags[known], gold.tags[known])
    with pytest.raises(ParameterError, match="every sentence"):
        AggSLC(descent=True, prediction="low-confidence")
