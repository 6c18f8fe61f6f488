"""Methods on a crowd in parts give what they give on the whole crowd."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as some

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.engine import Facts, Labels, Parts, PartsResult, Sums, add
from seqtruth.errors import DataError, DataWarning, ParameterError
from seqtruth.history import Step
from seqtruth.methods.base import Aggregator
from seqtruth.methods.bayes.bsc import BSCCV
from seqtruth.testing import small_crowd
from strategies import crowds


class Slices(Parts):
    """The smallest engine: a crowd in memory, cut at some sentences."""

    def __init__(self, crowd: Crowd, cuts: list[int]) -> None:
        bounds = [0, *sorted(cuts), crowd.n_sentences]
        self.crowds = [crowd[a:b] for a, b in pairwise(bounds)]
        self.passes = 0
        self.facts = Facts(
            crowd.scheme, crowd.annotators, crowd.n_sentences, crowd.n_tokens, len(crowd.tags),
            crowd.annotator_sentences, crowd.annotator_tokens, crowd.corpus.tokens is not None,
            crowd.digest(),
        )  # fmt: skip

    def seeing_text(self) -> Parts:
        return self

    def gather(self, function: Callable[[Crowd], Sums]) -> list[Sums]:
        self.passes += 1
        return [function(part) for part in self.crowds]

    def add_up(self, function: Callable[[Crowd], Sums]) -> Sums:
        return add(self.gather(function))

    def write(self, function: Callable[[Crowd], Labels], path: str | Path) -> None:
        np.save(path, np.concatenate([function(part).tags for part in self.crowds]))

    def tags(self, result: PartsResult) -> np.ndarray:
        return np.concatenate([result.label(part).tags for part in self.crowds])


METHODS: dict[str, Aggregator] = {
    "mv": st.MajorityVote(),
    "mv, random ties": st.MajorityVote(ties="random", seed=3),
    "ds": st.DawidSkene(),
    "aggslc": st.AggSLC(predictor=None),
    "aggslc, contested": st.AggSLC(
        predictor=None, class_weights="contested", decoding="exact", weight_norm="sum"
    ),
    "aggslc, inverse": st.AggSLC(
        predictor=None, class_weights="inverse", average="token", decoding="none"
    ),
    "hmm-crowd": st.HMMCrowd(text_features=False),
    "hmm-crowd from the vote": st.HMMCrowd(text_features=False, start="mv", worker_model="cm"),
    "bsc-seq": st.BSCSeq(),
    "bsc-cv": BSCCV(),
}


def same(method: Aggregator, crowd: Crowd, cuts: list[int]) -> None:
    whole = method.fit(crowd)
    parts = Slices(crowd, cuts)
    found = method.fit(parts)
    np.testing.assert_array_equal(parts.tags(found), whole.tags)
    np.testing.assert_allclose(
        found.annotators.weight, whole.annotators.weight, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_array_equal(found.annotators.agreement, whole.annotators.agreement)
    assert [step.objective for step in found.history.steps] == pytest.approx(
        whole.history.objective
    )
    assert found.history.stop_reason == whole.history.stop_reason
    if whole.annotators.confusion is not None:
        np.testing.assert_allclose(
            found.annotators.confusion, whole.annotators.confusion, rtol=1e-6
        )
    sure = np.concatenate([found.label(part).confidence for part in parts.crowds])
    np.testing.assert_allclose(sure, whole.token_confidence, rtol=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_parts_change_nothing(name: str) -> None:
    same(METHODS[name], small_crowd(), [3, 4, 4, 11])


@settings(max_examples=15, deadline=None)
@given(crowds(), some.sampled_from(["mv", "ds", "aggslc", "bsc-seq"]), some.data())
@pytest.mark.filterwarnings("ignore")
def test_parts_of_any_crowd(crowd: Crowd, name: str, data: some.DataObject) -> None:
    assume(crowd.n_annotators > 1)
    cuts = data.draw(some.lists(some.integers(0, crowd.n_sentences), max_size=3))
    same(METHODS[name], crowd, cuts)


def test_one_pass_a_round() -> None:
    parts = Slices(small_crowd(), [5])
    found = st.AggSLC(predictor=None).fit(parts)
    assert (
        parts.passes == 1 + len(found.history) + 1
    )  # the vote, the rounds, the annotators' scores
    parts = Slices(small_crowd(), [5])
    found = st.DawidSkene().fit(parts)
    assert parts.passes == 1 + len(found.history) + 2


def test_checkpoint_goes_on(tmp_path: Path) -> None:
    crowd = small_crowd()
    straight = st.BSCSeq(max_iter=8).fit(Slices(crowd, [7]))

    def stop(step: Step) -> None:
        if step.iteration == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        st.BSCSeq(max_iter=8).fit(Slices(crowd, [7]), checkpoint=tmp_path, progress=stop)
    parts = Slices(crowd, [7])
    found = st.BSCSeq(max_iter=8).fit(parts, checkpoint=tmp_path, resume=True)
    np.testing.assert_array_equal(found.annotators.weight, straight.annotators.weight)
    assert parts.passes < 8


def test_predictor_learns_from_a_sample() -> None:
    crowd = st.datasets.load("demo").crowd
    gold = st.datasets.load("demo").gold.labelling().tags
    method = st.AggSLC(predictor=st.predictors.CRF(max_iter=20), max_iter=5, tol=0.01)
    one, two = Slices(crowd, []), Slices(crowd, [100, 300])
    found, again = method.fit(one), method.fit(two)
    np.testing.assert_array_equal(one.tags(found), two.tags(again))
    assert found.tagger is not None
    assert found.tagger.tag(["Marta", "Lindqvist", "left", "."])[0] != "O"
    plain = st.AggSLC(predictor=None, max_iter=5).fit(crowd).tags
    assert (one.tags(found) == gold).mean() > (plain == gold).mean()


def test_what_parts_cannot_do() -> None:
    crowd = small_crowd()
    parts = Slices(crowd, [5])
    with pytest.raises(ParameterError, match="in memory"):
        st.CRH().fit(parts)
    with pytest.raises(ParameterError, match="table of all words"):
        st.HMMCrowd().fit(parts)
    with pytest.raises(ParameterError, match="abstains"):
        st.MajorityVote(abstain="O").fit(parts)
    with pytest.raises(DataError, match="cannot aggregate this"):
        st.MajorityVote().fit(["no crowd"])  # type: ignore[call-overload]


def test_one_annotator_stands() -> None:
    crowd = small_crowd()
    one = crowd.select_annotators([crowd.annotators[0]])
    parts = Slices(one, [5])
    with pytest.warns(DataWarning, match="only one annotator"):
        found = st.AggSLC(predictor=None).fit(parts)
    with pytest.warns(DataWarning, match="only one annotator"):
        whole = st.AggSLC(predictor=None).fit(one)
    np.testing.assert_array_equal(parts.tags(found), whole.tags)
