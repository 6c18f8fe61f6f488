"""Abstaining sources: silence is no vote, stands where nobody speaks, and teaches nobody anything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import crowds

import seqtruth as st
from seqtruth.methods.abstention import spoken_and_seen, stretches


@given(crowd=crowds(kinds=("iob2", "bioes")))
def test_stretches_hold_what_was_said(crowd: st.Crowd) -> None:
    spoken, seen = spoken_and_seen(crowd, "O")
    assert not (spoken & ~seen).any()
    part = stretches(crowd.abstaining("O"), spoken)
    assert part.crowd.n_tokens == spoken.sum() and part.crowd.scheme == crowd.scheme
    assert (part.token == np.flatnonzero(spoken)).all()
    before = crowd.abstaining("O")
    for annotator in range(crowd.n_annotators):
        said = before.labelling(annotator).tags
        assert (part.crowd.labelling(annotator).tags == said[part.token]).all()
        assert (np.delete(said, part.token) == -1).all()


@pytest.mark.parametrize("method", [st.MajorityVote, st.BSCSeq, st.HMMCrowd, st.AggSLC])
def test_rules_that_stay_silent(method) -> None:
    """Two rules, each with its own names: where one speaks alone, he is heard; elsewhere it is O."""
    tokens = [["Ann", "saw", "Oslo"], ["Bob", "saw", "Rome"], ["it", "rained", "."]] * 4
    people = [["B-PER", "O", "O"], ["B-PER", "O", "O"], ["O", "O", "O"]] * 4
    places = [["O", "O", "B-LOC"], ["O", "O", "B-LOC"], ["O", "O", "O"]] * 4
    crowd = st.Crowd.of({"people": people, "places": places}, tokens)
    result = method(abstain="O").fit(crowd)
    labels = [result.scheme.labels[t] for t in result.tags]
    assert labels == ["B-PER", "O", "B-LOC", "B-PER", "O", "B-LOC", "O", "O", "O"] * 4
    assert result.labelled.all()
