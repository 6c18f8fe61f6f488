"""Ten careful and ten random annotators: every method that learns weights ranks the careful first."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.methods.test_conformance import CASES, HAVE_TORCH
from tests.neural_crowds import simulated

import seqtruth as st
from seqtruth.methods import METHODS
from seqtruth.predictors import BiLSTM

LEARNERS = [name for name in METHODS if name != "mv"]


@pytest.fixture(scope="module")
def crowd() -> st.Crowd:
    """The sentences of the demo, each seen by ten of the twenty."""
    gold = st.datasets.load("demo").gold
    return st.simulate(gold, "careful:10,spammer:10", seed=1, per_sentence=10)


@pytest.mark.parametrize("name", LEARNERS)
def test_careful_annotators_come_first(name: str, crowd: st.Crowd) -> None:
    method = CASES[name]
    if getattr(method, "extra", None) == "torch":
        if not HAVE_TORCH:
            pytest.skip("torch is not installed (make test EXTRAS=all)")
        # a network needs text it can learn from in seconds; the demo's would take it minutes
        method = METHODS[name](max_iter=12, predictor=BiLSTM(hidden=16, vectors="none"))
        crowd, _ = simulated(n_sentences=150, careful=10, random=10, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        annotators = method.fit(crowd).annotators
    careful = np.array([who.startswith("careful") for who in annotators.names])
    seen = annotators.sentences > 0
    assert annotators.weight[careful & seen].min() > annotators.weight[~careful & seen].max()


#: What five copies of one bad annotator against four good ones do to a method without any gold.
#: No method promises to see through them: they agree with each other, and agreement is all there is.
@pytest.mark.parametrize("name", ["ds", "bsc-seq", "aggslc"])
def test_known_gold_unmasks_copies(name: str) -> None:
    data = st.datasets.load("demo")
    gold = data.gold[np.flatnonzero(data.splits["news"])]
    faithful = "copier:5/copies=misser/miss=0/confuse=0/boundary=0/invent=0"
    cast = f"careful:4/miss=0.1,misser/miss=0.8,{faithful}"
    crowd = st.simulate(gold, cast, seed=0)
    copies = np.array([not who.startswith("careful") for who in crowd.annotators])
    half = gold[np.arange(0, gold.n_sentences, 2)]
    alone, helped = METHODS[name]().fit(crowd), METHODS[name]().fit(crowd, half)
    rest = np.arange(1, gold.n_sentences, 2)
    score = [st.evaluate(result, gold, sentences=rest).f1 for result in (alone, helped)]
    assert score[1] > score[0]
    assert helped.annotators.weight[~copies].min() > helped.annotators.weight[copies].max()
