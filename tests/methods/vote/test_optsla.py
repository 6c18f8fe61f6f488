"""OptSLA: what it shares with AggSLC and what it does not."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from seqtruth.data.crowd import Crowd
from seqtruth.kernels.grammar import is_legal
from seqtruth.methods.vote.aggslc import AggSLC
from seqtruth.methods.vote.optsla import OptSLA
from seqtruth.methods.vote.weighted import weighted_vote
from seqtruth.predictors import CRF
from seqtruth.testing import small_crowd

QUICK = CRF(max_iter=10, further_iter=4)


def test_it_is_aggslc_with_a_repair_from_left_to_right() -> None:
    crowd = small_crowd(n_sentences=80)
    ours = OptSLA(predictor=None).fit(crowd)
    same = AggSLC(
        predictor=None, decoding="unidirectional", prediction="low-confidence", tol=1e-4
    ).fit(crowd)
    np.testing.assert_array_equal(ours.tags, same.tags)
    assert ours.probabilities.tobytes() == same.probabilities.tobytes()
    assert ours.history == same.history


def test_trace_has_the_three_parts_and_they_add_up() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = OptSLA(predictor=QUICK, threshold=0.3, max_iter=3).fit(small_crowd())
    for step in result.history.steps:
        assert set(step.parts) == {"L_agg", "L_pred", "L_inc"}
        assert sum(step.parts.values()) == pytest.approx(step.objective)
    assert result.tagger is not None


def test_repair_may_differ_from_the_bidirectional_one() -> None:
    # O I-X: from the left the second token gives way, both ways the entity is kept
    votes = {"a": [["O", "I-X"]], "b": [["O", "I-X"]], "c": [["B-X", "O"]], "d": [["B-X", "I-X"]]}
    crowd = Crowd.of(votes, [["x", "y"]], "iob2")
    weights, units = np.array([1.0, 1.0, 1.0, 0.9]), np.ones(3)
    labels = {
        how: [
            crowd.scheme.labels[t] for t in weighted_vote(crowd, weights, units, decoding=how).tags
        ]
        for how in ("none", "unidirectional", "bidirectional")
    }
    assert labels == {
        "none": ["O", "I-X"],
        "unidirectional": ["O", "O"],
        "bidirectional": ["B-X", "I-X"],
    }


def test_what_cannot_be_repaired_is_counted() -> None:
    # the two best labels of the first token are both I-
    votes = {"a": [["I-X"]], "b": [["I-X"]], "c": [["I-Y"]]}
    crowd = Crowd.of(votes, [["x"]], "iob2")
    result = OptSLA(predictor=None, weight_norm="sum").fit(crowd)
    assert not is_legal(result.tags, crowd.corpus.token_offsets, crowd.scheme.grammar).all()
    assert result.history.steps[-1].parts["L_inc"] == 2
    assert not OptSLA.promises_legal


def test_resumed_run_gives_the_same_bytes(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(step: object) -> None:
        raise Stop

    method = OptSLA(predictor=QUICK, threshold=0.3, max_iter=3, tol=0.0)
    crowd = small_crowd()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method.fit(crowd).save(tmp_path / "whole")
        with pytest.raises(Stop):
            method.fit(crowd, checkpoint=tmp_path / "kept", progress=stop)
        method.fit(crowd, checkpoint=tmp_path / "kept", resume=True).save(tmp_path / "resumed")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()
