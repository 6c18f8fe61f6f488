"""Cases, questions, marks and what they are expected to bring."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import seqtruth as st
from review.conftest import small_crowd
from seqtruth.data.scheme import Scheme
from seqtruth.decisions.cases import find_cases
from seqtruth.decisions.claims import spans_in
from seqtruth.errors import DataError
from seqtruth.result import Result
from seqtruth.review.marks import Marks, current_marks
from seqtruth.review.outlook import Found, outlook
from seqtruth.review.questions import Questions

SCHEME = Scheme.of("iob2", ["B-LOC", "B-ORG", "B-PER"])


def test_overlapping_marks_are_one_case(result: Result) -> None:
    cases = find_cases(result)
    lane = np.flatnonzero((cases.sentence == 0) & (cases.start == 2))
    assert cases.end[lane].tolist() == [4]
    assert (cases.end > cases.start).all() and (cases.wrong > 0).all()
    inside = (cases.start <= cases.first) & (cases.last <= cases.end)
    assert inside.all()


def test_the_same_text_in_a_document_is_one_question(result: Result) -> None:
    cases = find_cases(result)
    everything = np.ones(cases.size, np.bool_)
    asked = Questions(cases, 4).ranked(everything, 20, everything)
    forms = [one for one in asked if one.kind == "form"]
    assert {int(cases.sentence[k]) for one in forms for k in one.cases} >= {0, 1}
    gains = [one.gain for one in asked]
    assert gains == sorted(gains, reverse=True)


def test_groups_are_left_alone_when_not_wanted(result: Result) -> None:
    cases = find_cases(result)
    asked = Questions(cases, 4).ranked(np.ones(cases.size, np.bool_), 20)
    assert {one.kind for one in asked} == {"sentence"}


def test_a_question_is_found_by_its_name(result: Result) -> None:
    cases = find_cases(result)
    mask = np.ones(cases.size, np.bool_)
    questions = Questions(cases, 4)
    for one in questions.ranked(mask, 20, mask):
        found = questions.find(one.name, mask)
        assert found is not None and found.cases == one.cases
    for name in ("s-4", "f-999", "x-1", "s-", "s-²", "s--1", ""):
        assert questions.find(name, mask) is None


def test_without_crowd_and_without_text(result: Result) -> None:
    bare = Result(
        result.corpus, result.scheme, result.tags, result.probabilities, result.annotators
    )
    assert find_cases(bare).size
    crowd = st.Crowd.of({"a": [["B-X", "O"]], "b": [["O", "O"]]}, tokens=[["p", "q"]])
    assert find_cases(st.aggregate(crowd, "mv")).size == 1


def test_plain_tags_and_an_empty_crowd() -> None:
    crowd = st.Crowd.of({"a": [["N", "V"]], "b": [["N", "N"]]}, tokens=[["p", "q"]])
    cases = find_cases(st.aggregate(crowd, "mv"))
    assert cases.start.tolist() == [1]
    nothing = st.Crowd.of({"a": [["O"]], "b": [["O"]]}, tokens=[["p"]])
    empty = find_cases(st.aggregate(nothing, "mv"))
    assert empty.size == 0
    assert Questions(empty, 1).ranked(np.zeros(0, np.bool_), 5, np.zeros(0, np.bool_)) == []


@pytest.mark.parametrize(
    ("settled", "spans", "what"),
    [
        ([[0, 5]], [], "must lie within"),
        ([[2, 2]], [], "must lie within"),
        ([[0, 4]], [[0, 1, "X"]], "unknown type"),
        ([[0, 4]], [[0, 2, "LOC"], [1, 3, "LOC"]], "overlap"),
        ([[0, 1]], [[0, 2, "LOC"]], "inside what is settled"),
        ([[0, 4]], [[2, 2, "LOC"]], "inside what is settled"),
    ],
)
def test_bad_marks_are_refused(
    settled: list[list[int]], spans: list[list[object]], what: str
) -> None:
    with pytest.raises(DataError, match=what):
        Marks.of(settled, spans, 4, SCHEME)


def test_plain_marks_need_every_token() -> None:
    plain = Scheme.of("plain", ["N", "V"])
    assert Marks.of([[0, 2]], [[0, 1, "N"], [1, 2, "V"]], 2, plain).tags(2, plain).tolist() == [
        0,
        1,
    ]
    with pytest.raises(DataError, match="every settled token"):
        Marks.of([[0, 2]], [[0, 1, "N"]], 2, plain)


@hs.composite
def some_marks(draw: hs.DrawFn, n: int = 8) -> Marks:
    cuts = sorted(draw(hs.sets(hs.integers(0, n), min_size=2, max_size=6)))
    pairs = list(pairwise(cuts))
    settled = draw(hs.lists(hs.sampled_from(pairs), unique=True, max_size=4))
    spans = [
        (a, b, draw(hs.sampled_from(["LOC", "ORG"]))) for a, b in settled if draw(hs.booleans())
    ]
    return Marks.of(settled, spans, n, SCHEME)


@given(some_marks(), some_marks())
def test_new_marks_take_the_place_of_old_ones(old: Marks, new: Marks) -> None:
    both = old.with_(new)
    Marks.of(both.settled, both.spans, 8, SCHEME)  # still legal
    tags, wanted = both.tags(8, SCHEME), new.tags(8, SCHEME)
    assert (tags[wanted >= 0] == wanted[wanted >= 0]).all()
    before = old.tags(8, SCHEME)
    untouched = (wanted < 0) & (tags >= 0)
    assert (tags[untouched] == before[untouched]).all()
    assert both.with_(new) == both


@given(some_marks())
def test_tags_and_back(marks: Marks) -> None:
    tags = marks.tags(8, SCHEME)
    assert [one for one in spans_in(tags, SCHEME) if marks.covers(one[0], one[1])] == list(
        marks.spans
    )
    assert Marks.from_dict(marks.to_dict()) == marks


def test_decisions_show_in_the_labels(result: Result) -> None:
    changed = current_marks(result, 1, Marks(((0, 1),), ((0, 1, "PER"),)))
    assert changed.spans == ((0, 1, "PER"),)
    assert changed.settled == ((0, 2),)


def test_expected_f1_grows_with_what_is_settled(result: Result) -> None:
    cases = find_cases(result)
    questions, every = Questions(cases, 4), np.ones(cases.size, np.bool_)
    none = np.zeros(cases.size, np.bool_)
    ahead = outlook(0.6, cases, questions, every, every, Found())
    assert ahead["f1"] == 0.6 and ahead["f1"] < ahead["after_50"] <= ahead["after_100"] <= 1.0
    done = outlook(0.6, cases, questions, none, every, Found())
    assert done["f1"] == done["after_50"] == 1.0 and "stop" in done["advice"]
    fewer = outlook(0.6, cases, questions, every, every, Found(10.0, 5, 20))
    assert fewer["f1"] > ahead["f1"]  # less was wrong than foreseen
    assert Found(10.0, 5, 20).ratio == 0.75


def test_the_small_crowd_is_what_it_says() -> None:
    assert small_crowd().corpus.documents == ("game", "more")
