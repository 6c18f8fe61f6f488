"""Methods on a crowd in parts give what they give on the whole crowd."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as some

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.datasets import demo
from seqtruth.engine import Facts, Labels, Parts, StoredResult, Sums, add
from seqtruth.errors import DataWarning, InputError, ParameterError
from seqtruth.history import Step
from seqtruth.methods.base import Aggregator
from seqtruth.methods.bayes.bsc import BSCCV
from seqtruth.methods.folds import Folds, document_folds
from seqtruth.simulation import simulate_rules
from seqtruth.testing import small_crowd
from strategies import crowds


class Slices(Parts):
    """The smallest engine: a crowd in memory, cut at some sentences."""

    def __init__(self, crowd: Crowd, cuts: list[int]) -> None:
        bounds = [0, *sorted(cuts), crowd.n_sentences]
        self.crowds = [crowd[a:b] for a, b in pairwise(bounds)]
        self.passes = 0
        self.facts = Facts(
            crowd.scheme, crowd.annotators, crowd.n_sentences, crowd.n_tokens, int((crowd.tags >= 0).sum()),
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

    def tags(self, result: StoredResult) -> np.ndarray:
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
    "crh": st.CRH(),
    "catd, random ties": st.CATD(ties="random", seed=2, decoding="none"),
    "optsla": st.OptSLA(predictor=None),
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


@pytest.mark.parametrize("name", ["mv", "ds", "aggslc", "bsc-seq", "bsc-cv"])
def test_silence_is_found_in_parts_as_in_the_whole(name: str) -> None:
    rules = simulate_rules(demo.load().gold[:120], 2)
    same(METHODS[name], rules, [40, 41, 90])
    whole = METHODS[name].fit(rules)
    assert whole.provenance["silence"]["silent"].keys() == set(rules.annotators)
    assert METHODS[name].fit(Slices(rules, [40])).warnings == whole.warnings


def test_one_pass_a_round() -> None:
    parts = Slices(small_crowd(), [5])
    found = st.AggSLC(predictor=None).fit(parts)
    # silence, the vote, the rounds, the annotators' scores
    assert parts.passes == 2 + len(found.history) + 1
    parts = Slices(small_crowd(), [5])
    found = st.DawidSkene().fit(parts)
    assert parts.passes == 2 + len(found.history) + 2


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


@pytest.mark.filterwarnings("ignore::seqtruth.errors.ConvergenceWarning")
def test_the_prediction_module_is_the_same_in_parts() -> None:
    crowd = st.datasets.load("demo").crowd
    method = st.AggSLC(predictor=st.predictors.CRF(max_iter=20), max_iter=3, tol=0.0)
    whole, parts = method.fit(crowd), Slices(crowd, [100, 300])
    found = method.fit(parts)
    np.testing.assert_array_equal(parts.tags(found), whole.tags)
    np.testing.assert_allclose(found.annotators.weight, whole.annotators.weight, rtol=1e-9)
    for mine, theirs in zip(found.history.steps, whole.history.steps, strict=True):
        assert mine.objective == pytest.approx(theirs.objective)
        assert (mine.confident, mine.change) == (theirs.confident, theirs.change)
    words = ["Marta", "Lindqvist", "left", "Oslo", "."]
    assert found.tagger is not None and whole.tagger is not None
    assert found.tagger.tag(words) == whole.tagger.tag(words)


@pytest.mark.filterwarnings("ignore::seqtruth.errors.ConvergenceWarning")
def test_a_sample_is_drawn_by_name() -> None:
    crowd = st.datasets.load("demo").crowd
    method = st.AggSLC(
        predictor=st.predictors.CRF(max_iter=10), max_iter=2, tol=0.0, folds=2, sample=100
    )
    whole, parts = method.fit(crowd), Slices(crowd, [7, 250])
    np.testing.assert_array_equal(parts.tags(method.fit(parts)), whole.tags)
    everything = replace(method, sample=10**6).fit(crowd)
    assert (everything.tags != whole.tags).any()


def test_folds_are_dealt_alike_in_parts_and_on_disk() -> None:
    crowd = st.datasets.load("demo").crowd
    for corpus in (crowd, crowd[:4]):  # by document, by sentence
        whole = document_folds(corpus.corpus, 3, 1)
        parts = Slices(corpus, [1, 2])
        folds = Folds.deal(parts, 3, 1)
        np.testing.assert_array_equal(
            np.concatenate([folds.of(part.corpus) for part in parts.crowds]), whole
        )
        assert set(whole.tolist()) == {0, 1, 2}


def test_checkpoint_with_a_predictor_goes_on(tmp_path: Path) -> None:
    crowd = small_crowd()
    quick = st.predictors.CRF(max_iter=10, further_iter=4)
    method = st.AggSLC(predictor=quick, folds=2, threshold=0.3, max_iter=3, tol=0.0)

    def stop(step: Step) -> None:
        raise KeyboardInterrupt

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        straight = method.fit(Slices(crowd, [7]))
        with pytest.raises(KeyboardInterrupt):
            method.fit(Slices(crowd, [7]), checkpoint=tmp_path, progress=stop)
        found = method.fit(Slices(crowd, [7]), checkpoint=tmp_path, resume=True)
    np.testing.assert_array_equal(found.annotators.weight, straight.annotators.weight)


def test_what_parts_cannot_do() -> None:
    crowd = small_crowd()
    parts = Slices(crowd, [5])
    with pytest.raises(ParameterError, match=r"in memory.*use one of mv, ds, crh, catd, bsc-seq"):
        st.MACE().fit(parts)
    with pytest.raises(ParameterError, match="set prediction to cross-fit"):
        st.OptSLA(predictor=st.predictors.CRF()).fit(parts)
    with pytest.raises(ParameterError, match="known beforehand"):
        st.MajorityVote().fit(parts, crowd)  # type: ignore[call-overload]
    with pytest.raises(ParameterError, match="table of all words"):
        st.HMMCrowd().fit(parts)
    with pytest.raises(ParameterError, match="abstains"):
        st.MajorityVote(abstain="O").fit(parts)
    with pytest.raises(InputError, match="no crowd: cannot read the file"):
        st.MajorityVote().fit(["no crowd"])


def test_one_annotator_stands() -> None:
    crowd = small_crowd()
    one = crowd.select_annotators([crowd.annotators[0]])
    parts = Slices(one, [5])
    with pytest.warns(DataWarning, match="only one annotator"):
        found = st.AggSLC(predictor=None).fit(parts)
    with pytest.warns(DataWarning, match="only one annotator"):
        whole = st.AggSLC(predictor=None).fit(one)
    np.testing.assert_array_equal(parts.tags(found), whole.tags)
