"""Small and odd crowds that are not among the development sets, simulated: never below what went in."""

from __future__ import annotations

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.paper.crowds import load
from seqtruth.predictors import CRF

QUICK = CRF(max_iter=15, further_iter=8)


@pytest.fixture(scope="module")
def gold() -> Crowd:
    return st.datasets.load("demo").gold


def f1(result: st.Result, gold: Crowd) -> float:
    return 100 * st.evaluate(result, gold).f1


def vote(crowd: Crowd, gold: Crowd) -> float:
    """The best of the votes that silence allows."""
    return max(f1(st.MajorityVote(abstain=tag).fit(crowd), gold) for tag in (None, "O", "auto"))


@pytest.mark.parametrize("name", ["sim-habit", "sim-uneven", "sim-tenth", "sim-batches"])
def test_never_below_a_vote(name: str) -> None:
    data = load(name)
    assert f1(st.Accord(predictor=QUICK).fit(data.crowd), data.gold) >= vote(data.crowd, data.gold)


@pytest.mark.parametrize("cast", ["careful:3", "careful,sloppy:2", "sloppy:4"])
@pytest.mark.parametrize("n", [2, 5, 10, 16])
def test_a_few_sentences(gold: Crowd, cast: str, n: int) -> None:
    for seed in range(4):
        some = gold[np.sort(np.random.default_rng(seed).permutation(gold.n_sentences)[:n])]
        crowd = st.simulate(some, cast, seed=seed)
        assert f1(st.Accord(predictor=None).fit(crowd), some) >= vote(crowd, some)


def test_a_habit_of_two_among_five_is_not_the_truth() -> None:
    data = load("sim-habit")
    found = f1(st.Accord(predictor=None).fit(data.crowd), data.gold)
    assert found >= vote(data.crowd, data.gold)


@pytest.mark.parametrize("cast", ["misser:7/miss=0.7", "misser:10/miss=0.8"])
def test_people_who_miss_most_judge_a_predictor(gold: Crowd, cast: str) -> None:
    crowd = st.simulate(gold, cast, seed=1)
    assert f1(st.Accord(predictor=None).fit(crowd), gold) >= vote(crowd, gold) - 1
    heard = st.Accord(predictor=QUICK).fit(crowd)
    assert f1(heard, gold) >= vote(crowd, gold) + 3
    assert heard.provenance["chosen"].endswith("+predictor")


@pytest.mark.parametrize("cast", ["careful,spammer", "careful,spammer:2"])
def test_one_careful_person_among_spammers(gold: Crowd, cast: str) -> None:
    crowd = st.simulate(gold, cast, seed=1)
    careful = crowd.select_annotators(["careful"])
    result = st.Accord(predictor=QUICK).fit(crowd)
    assert f1(result, gold) >= vote(careful, gold) - 0.5
    assert result.provenance["not_heard"] == [n for n in crowd.annotators if n != "careful"]
    assert any("follow nothing in the text" in text for text in result.warnings)


@pytest.mark.parametrize("cast", ["careful,sloppy", "sloppy:2"])
def test_nobody_who_agrees_with_anybody_is_left_unheard(gold: Crowd, cast: str) -> None:
    crowd = st.simulate(gold, cast, seed=1)
    assert "not_heard" not in st.Accord(predictor=QUICK).fit(crowd).provenance
