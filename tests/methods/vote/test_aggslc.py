"""AggSLC: its modules, its loop, and what it must reach on the real data."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import seqtruth as st
from seqtruth.errors import ConvergenceWarning, InputError, ParameterError
from seqtruth.history import Step
from seqtruth.methods.loop import Round, Rules, iterate, scalar
from seqtruth.metrics import annotator_scores, correlate
from seqtruth.predictors import CRF
from seqtruth.schema import Column, Schema
from seqtruth.testing import small_crowd

QUICK = CRF(max_iter=10, further_iter=4)


def test_trace_has_the_three_parts_and_they_add_up() -> None:
    result = st.AggSLC(predictor=QUICK, folds=2, threshold=0.3).fit(small_crowd())
    for step in result.history.steps:
        assert set(step.parts) == {"L_agg", "L_pred", "L_inc"}
        assert sum(step.parts.values()) == pytest.approx(step.objective)
        assert step.parts["L_inc"] == 0  # the consistency module leaves nothing forbidden
        assert step.confident > 0 and step.seconds >= 0
    assert result.history.stop_reason == "converged"


def test_switched_off_modules_leave_no_loss() -> None:
    crowd = small_crowd()
    alone = st.AggSLC(predictor=None, decoding="none").fit(crowd)
    assert all(step.parts["L_pred"] == 0 for step in alone.history.steps)
    assert alone.tagger is None


def test_l_inc_counts_each_forbidden_transition_twice() -> None:
    votes = {"a": [["O", "I-PER"]], "b": [["O", "I-PER"]]}
    crowd = st.Crowd.of(votes, [["x", "y"]], "iob2")
    result = st.AggSLC(predictor=None, decoding="none").fit(crowd)
    assert result.history.steps[-1].parts["L_inc"] == 2


def test_max_iter_is_not_convergence() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        result = st.DawidSkene(max_iter=2, tol=0.0).fit(small_crowd())
    assert result.history.stop_reason == "max_iter" and len(result.history) == 2


def test_worse_annotators_weigh_less() -> None:
    annotators = st.AggSLC(predictor=None).fit(small_crowd(n_sentences=150)).annotators
    assert annotators.weight[0] > annotators.weight[3] > annotators.weight[4]
    assert annotators.ranked().names[0] == "w4"


def test_only_confident_sentences_are_learnt_from() -> None:
    counts = [
        st.AggSLC(predictor=QUICK, folds=2, threshold=bar)
        .fit(small_crowd())
        .history.steps[0]
        .confident
        for bar in (0.2, 0.9, 0.999)
    ]
    assert counts[0] > counts[1] >= counts[2] > 0
    torn = {"a": [["B-PER", "O"]], "b": [["O", "B-PER"]]}
    result = st.AggSLC(predictor=QUICK, folds=2).fit(st.Crowd.of(torn, [["x", "y"]]))
    assert result.tagger is None and result.history.steps[0].confident == 0


def test_paper_split_predicts_the_rest_only() -> None:
    method = st.AggSLC(predictor=QUICK, prediction="low-confidence", threshold=0.6, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = method.fit(small_crowd())
    assert result.tagger is not None
    assert result.tagger.tag(["Ann", "saw", "Oslo", "."])[-1] == "O"


def test_predictor_given_is_not_trained() -> None:
    predictor = CRF(max_iter=5)
    st.AggSLC(predictor=predictor, folds=2, max_iter=1, threshold=0.3).fit(small_crowd())
    assert predictor.scheme is None


class _Interrupted(Exception):
    pass


@pytest.mark.parametrize(
    "method",
    [
        st.AggSLC(predictor=None, tol=0.0),
        st.AggSLC(descent=True, max_iter=4, folds=2),
        st.DawidSkene(max_iter=6, tol=0.0),
    ],
)
def test_resumed_run_gives_the_same_bytes(method: st.AggSLC, tmp_path: Path) -> None:
    crowd = small_crowd(n_sentences=60)

    def stop(step: Step) -> None:
        raise _Interrupted

    _interrupt_and_compare(method, crowd, stop, tmp_path)


def test_resumed_run_with_a_predictor_gives_the_same_bytes(tmp_path: Path) -> None:
    def stop(step: Step) -> None:
        raise _Interrupted

    method = st.AggSLC(predictor=QUICK, folds=2, threshold=0.3, max_iter=3, tol=0.0)
    _interrupt_and_compare(method, small_crowd(), stop, tmp_path)


def _interrupt_and_compare(method, crowd, stop, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        method.fit(crowd).save(tmp_path / "whole")
        with pytest.raises(_Interrupted):
            method.fit(crowd, checkpoint=tmp_path / "kept", progress=stop)
        rounds = []
        result = method.fit(
            crowd, checkpoint=tmp_path / "kept", resume=True, progress=rounds.append
        )
    assert rounds[0].iteration > 1
    result.save(tmp_path / "resumed")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()


def test_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    st.AggSLC(predictor=None).fit(small_crowd(), checkpoint=tmp_path)
    with pytest.raises(InputError, match="another run"):
        st.AggSLC(predictor=None, class_weights=3.0).fit(
            small_crowd(), checkpoint=tmp_path, resume=True
        )


def test_loop_stops_when_no_label_changes() -> None:
    def advance(state):
        return Round({"n": state["n"] + 1}, float(state["n"][0]), {}, change=0.0)

    rules, schema = Rules(max_iter=9, tol=0.0), Schema({"n": Column("float64", (1,))})
    _, history = iterate(lambda: {"n": scalar(0)}, advance, rules, lambda: schema)
    assert len(history) == 1 and history.converged


@pytest.mark.parametrize(
    "settings",
    [{"weight_norm": "min"}, {"average": "x"}, {"max_iter": 0}, {"decoding": "left"},
     {"threshold": 1.5}, {"tol": -1.0}, {"max_iter": 2.5}, {"seed": -1},
     {"class_weights": -1.0}, {"class_weights": "x"}],
)  # fmt: skip
def test_bad_settings_are_named(settings) -> None:
    with pytest.raises(
        ParameterError, match=next(iter(settings)).replace("class_weights", "class")
    ):
        st.AggSLC(predictor=None, **settings).fit(small_crowd())


@pytest.mark.parametrize("split", ["inverse", "contested", "none", 3.0])
def test_class_weights_by_name(split) -> None:
    result = st.AggSLC(predictor=None, class_weights=split).fit(small_crowd())
    assert result.history.converged


# --- the real data -----------------------------------------------------------------------------


def test_majority_vote_row_of_the_paper(ner: st.datasets.Dataset) -> None:
    result = st.MajorityVote(ties="alphabetical").fit(ner.crowd)
    chosen = ner.splits["nguyen_test"]
    figures = {
        strict: [round(100 * x, 2) for x in (s.precision, s.recall, s.f1)]
        for strict in ("b-required", "conlleval")
        for s in [st.evaluate(result, ner.gold, sentences=chosen, strict=strict)]
    }
    assert figures == {"b-required": [79.95, 55.35, 65.41], "conlleval": [77.84, 55.09, 64.51]}


def test_aggslc_without_predictor_on_ner(ner: st.datasets.Dataset) -> None:
    result = st.AggSLC(predictor=None).fit(ner.crowd)
    score = st.evaluate(result, ner.gold, sentences=ner.splits["nguyen_test"])
    assert score.f1 >= 0.70
    found = correlate(result.annotators.weight, annotator_scores(ner.crowd, ner.gold))
    assert found.pearson >= 0.79 and found.spearman >= 0.87


def test_aggslc_with_crf_on_ner(ner: st.datasets.Dataset) -> None:
    result = st.AggSLC(predictor=CRF(), folds=3, tol=2e-3).fit(ner.crowd)
    score = st.evaluate(result, ner.gold, sentences=ner.splits["nguyen_test"])
    assert score.f1 >= 0.73
    assert result.labelled.all()  # the predictor judges sentences without any vote
