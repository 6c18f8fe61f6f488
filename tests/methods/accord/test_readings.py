"""Where nothing tells silence from a vote, both readings are tried."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.methods.abstention import understand_silence
from seqtruth.methods.accord.annotators import SLIP, slips_of
from seqtruth.predictors import CRF

QUICK = CRF(max_iter=15, further_iter=8)
INVENT = "careful:3,sloppy:4,misser:2,spammer"


@pytest.fixture(scope="module")
def gold() -> Crowd:
    return st.datasets.load("demo").gold


def f1(result: st.Result, gold: Crowd) -> float:
    return 100 * st.evaluate(result, gold).f1


@pytest.mark.parametrize(("people", "better"), [(INVENT, "votes"), ("misser:6", "silence")])
def test_pairs_of_people_are_read_as_what_they_are(gold: Crowd, people: str, better: str) -> None:
    crowd = st.simulate(gold, people, per_sentence=2)
    assert understand_silence(crowd).in_doubt
    result = st.Accord(predictor=QUICK).fit(crowd)
    readings = result.provenance["readings_of_O"]
    assert max(readings, key=readings.get) == better
    assert any("what O means was chosen" in text for text in result.warnings)
    others = [f1(st.aggregate(crowd, name), gold) for name in ("mv", "hmm-crowd", "ds")]
    assert f1(result, gold) > max(others) + 3


def test_where_three_look_there_is_nothing_to_try(gold: Crowd) -> None:
    result = st.Accord(predictor=QUICK).fit(st.simulate(gold, "careful:2,sloppy:2"))
    assert "readings_of_O" not in result.provenance


def test_the_rounds_of_the_trial_are_not_made_again_and_a_resumed_run_is_the_same(
    gold: Crowd, tmp_path: Path
) -> None:
    crowd = st.simulate(gold, INVENT, per_sentence=2)
    whole = st.Accord(predictor=QUICK).fit(crowd)
    kept = tmp_path / "rounds.checkpoint"
    st.Accord(predictor=QUICK).fit(crowd, checkpoint=kept)
    again = st.Accord(predictor=QUICK).fit(crowd, checkpoint=kept, resume=True)
    assert len(whole.history.steps) == len(again.history.steps) == 2
    assert np.array_equal(whole.tags, again.tags)
    assert np.array_equal(whole.span_confidence(), again.span_confidence())


def test_rare_labels_seldom_slip_in_unless_many_look() -> None:
    scheme = Crowd.of({"a": [["B-X", "I-X", "O"]]}, [["u", "v", "w"]]).scheme
    counts = np.zeros((2, 3, 3))
    counts[:, scheme.outside] = np.where(np.arange(3) == scheme.outside, 98.0, 1.0)
    closed = np.zeros(1, np.bool_)
    few, many = (slips_of(scheme, closed, counts, voices) for voices in (2.0, 90.0))
    begin = scheme.index("B-X")
    assert few.floor[scheme.outside, begin] == pytest.approx(SLIP / 100)
    assert many.floor[scheme.outside, begin] == pytest.approx(SLIP * 0.3)
    assert np.allclose((few.keep + few.floor.sum(axis=1, keepdims=True)), 1.0)
    assert slips_of(scheme, ~closed, counts, 2.0).floor[scheme.outside, begin] == 0.0
