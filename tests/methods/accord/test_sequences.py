"""How much the prior of the sequential model weighs is found out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.engine import MemoryParts, sample
from seqtruth.methods.accord.first_state import first_state
from seqtruth.methods.accord.options import CAUTIOUS
from seqtruth.methods.accord.remembering import fitted_of
from seqtruth.methods.accord.run import Run
from seqtruth.methods.accord.sequences import (
    FARTHEST,
    best_strength,
    learn_sequences,
    learn_with,
)
from seqtruth.methods.task import Task


def run_on(crowd: Crowd, **how: bool) -> Run:
    return Run(st.Accord(predictor=None), Task(MemoryParts(crowd)), **how)


@pytest.fixture(scope="module")
def gold() -> Crowd:
    return st.datasets.load("demo").gold


@pytest.fixture(scope="module")
def thin(gold: Crowd) -> Crowd:
    """Thirty people with some fifty sentences each."""
    return st.simulate(gold, "careful:6,sloppy:16,misser:8", per_sentence=3)


@given(some.integers(-FARTHEST, FARTHEST), some.floats(0.01, 0.1))
def test_a_hill_is_climbed_to_its_top(top: int, steep: float) -> None:
    tried: list[float] = []

    def score(strength: float) -> float:
        tried.append(strength)
        return 1.0 - steep * abs(2 * np.log10(strength) - top)

    assert best_strength(score) == pytest.approx(10 ** (top / 2))
    assert tried[0] == 1.0 and len(tried) <= abs(top) + 3


def test_differences_too_small_to_count_move_nothing() -> None:
    assert best_strength(lambda strength: 0.7 + 1e-4 * strength) == 1.0


def test_few_labels_of_many_people_want_a_weak_prior(thin: Crowd, gold: Crowd) -> None:
    found = learn_sequences(run := run_on(thin))
    assert found.strength < 1 and found.cautious is not None

    def f1(table: np.ndarray) -> float:
        opinion = run.sources.settle(found.model._replace(table=table), [], 1.0).opinion
        tags = run.labels("sequential", opinion).tags
        return 100 * st.evaluate(st.Labelling(thin.corpus, thin.scheme, tags), gold).f1

    assert f1(found.model.table) > f1(found.cautious.table) + 1


def test_a_weak_prior_is_compared_by_its_cautious_twin(thin: Crowd) -> None:
    """Who judges has been learnt from, so that a model that fits everybody would look too good."""
    run = run_on(thin)
    state = first_state(run)
    usual = {**state, "sequential/table": state[f"{CAUTIOUS}/table"]}
    usual["sequential/chain"] = usual.pop(f"{CAUTIOUS}/chain")
    del usual[f"{CAUTIOUS}/table"]
    with_twin, without = run.chosen(state), run_on(thin).chosen(usual)
    assert with_twin[0] == without[0] and with_twin[2] == without[2]


def test_a_sample_tells_the_prior_of_a_large_crowd(
    thin: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "TOKENS", thin.n_tokens // 3)
    monkeypatch.setattr(sample, "FEWEST_DOCUMENTS", 10)
    run = run_on(thin)
    assert not run.everything
    alone = learn_sequences(run_on(run.crowd, sampled=False)).strength
    share = np.count_nonzero(thin.tags >= 0) / np.count_nonzero(run.crowd.tags >= 0)
    assert share > 2

    def f1(strength: float) -> float:
        model, _ = learn_with(run, run.task, strength)
        return run.judge.f1(run.sources.settle(model, [], 1.0).opinion)

    found = learn_sequences(run)
    assert found.strength == pytest.approx(max((alone, alone * share), key=f1))
    assert found.cautious is None


def test_what_was_found_is_told_and_kept_for_updates(thin: Crowd) -> None:
    run = run_on(thin)
    state = first_state(run)
    strength = float(state["sums/strength"][0])
    assert run.notes(state, "both, mostly sequential", {})["prior_of_sequences"] == round(
        strength, 4
    )
    assert "prior_of_sequences" not in run.notes(state, "confusion", {})
    opinion = run.options(state)["sequential"]
    final = {"counts": state["population/counts"], "prior": state["population/prior"]}
    fitted = fitted_of(run, state, "sequential", opinion, final, None)
    assert fitted is not None and fitted.sums["sequential/strength"].tolist() == [strength]
