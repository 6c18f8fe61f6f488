"""Abstaining sources: silence is no vote, stands where nobody speaks, and teaches nobody anything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.strategies import crowds

import seqtruth as st
from seqtruth.datasets import demo
from seqtruth.io.join import join_crowds
from seqtruth.methods.abstention import (
    confirmations,
    spoken_and_seen,
    stretches,
    understand_silence,
)
from seqtruth.simulation import simulate_rules
from seqtruth.testing import small_crowd


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


def counted_by_hand(crowd: st.Crowd, counted: np.ndarray) -> dict[str, np.ndarray]:
    """What :func:`confirmations` counts, token by token over dictionaries."""
    shape = crowd.n_annotators, len(crowd.scheme.types)
    asked, given_ = np.zeros((*shape, 2), int), np.zeros((*shape, 2), int)
    claims, marked, labelled = np.zeros(shape, int), np.zeros(2, int), np.zeros(shape[0], int)
    said = [crowd.labelling(w).tags for w in range(crowd.n_annotators)]
    for i in range(crowd.n_tokens):
        types = {w: int(crowd.scheme.type_of[s[i]]) for w, s in enumerate(said) if s[i] >= 0}
        for w, k in types.items():
            claims[w, k] += k >= 0
            labelled[w] += 1
        types = {w: k for w, k in types.items() if counted[w]}
        named = {k for k in types.values() if k >= 0}
        if named:
            marked += [1, len(types)]
        for w, mine in types.items():
            for k in named:
                others = sum(o == k for v, o in types.items() if v != w)
                rivals = sum(o >= 0 and o != k for o in types.values())
                if others and not rivals:
                    asked[w, k, min(others, 2) - 1] += 1
                    given_[w, k, min(others, 2) - 1] += mine == k
    return {
        "asked": asked,
        "given": given_,
        "claims": claims,
        "labelled": labelled,
        "marked": marked,
    }


@given(crowd=crowds(kinds=("iob2", "bioes", "io")), data=some.data())
def test_confirmations_are_those_counted_by_hand_and_add_up(crowd: st.Crowd, data) -> None:
    n = crowd.n_annotators
    counted = np.array(data.draw(some.lists(some.booleans(), min_size=n, max_size=n)), bool)
    found, wanted = confirmations(crowd, counted), counted_by_hand(crowd, counted)
    cut = crowd.n_sentences // 2
    parts = [confirmations(crowd[:cut], counted), confirmations(crowd[cut:], counted)]
    for name, counts in wanted.items():
        assert (found[name] == counts).all(), name
        assert (parts[0][name] + parts[1][name] == counts).all(), name


def test_people_vote_and_rules_are_silent() -> None:
    gold = demo.load().gold
    people = understand_silence(st.simulate(gold, "careful:3,sloppy:2"))
    assert not people.found and people.overlaps and people.sentence() == ""
    rules = understand_silence(simulate_rules(gold, 1))
    assert rules.silent.all() and not rules.known.any()
    assert rules.sentence().startswith(f"{len(rules.annotators)} sources are silent where")
    assert set(rules.to_dict()["silent"]) == set(rules.annotators)


def test_who_never_speaks_of_a_type_has_no_opinion_on_it() -> None:
    """Two people of three types, and one who only knows persons: their O denies persons alone."""
    gold = demo.load().gold
    crowd = st.simulate(gold, "careful:3")
    lone = crowd.labelling(0).tags.copy()
    keep = crowd.scheme.types.index("PER")
    lone[crowd.scheme.type_of[lone] != keep] = crowd.scheme.outside
    one = st.Labelling(crowd.corpus, crowd.scheme, lone).as_crowd("persons only")
    found = understand_silence(join_crowds([crowd, one]))
    last = found.annotators.index("persons only")
    assert found.silent[last].tolist() == [k != "PER" for k in found.types]
    assert not np.delete(found.silent, last, axis=0).any()


def test_copies_confirm_each_other_unless_one_of_them_counts() -> None:
    """A copied rule looks confirmed; counted once, its lone claims are seen for what they are."""
    tokens = [list("uvwxyz")] * 30
    rng = np.random.default_rng(0)
    rows = {
        w: [["B-X" if rng.random() < 0.4 else "O" for _ in "uvwxyz"] for _ in tokens] for w in "abc"
    }
    crowd = st.Crowd.of(rows | {"copy": rows["a"]}, tokens)
    alone, all_four = st.Crowd.of(rows, tokens), np.array([True, True, True, False])
    one, other = understand_silence(alone), understand_silence(crowd, all_four)
    assert other.lone == pytest.approx(one.lone)
    assert understand_silence(crowd).lone != pytest.approx(one.lone)


def test_what_people_say_by_mistake_only_does_not_make_them_silent() -> None:
    """A type that is never true, and that two hardly ever claim together; and twenty of whom ten spam."""
    assert not understand_silence(small_crowd(n_sentences=4000)).found
    gold = demo.load().gold
    assert not understand_silence(st.simulate(gold, "careful:10,spammer:10", seed=2)).found


def test_rules_that_share_next_to_nothing_are_silent() -> None:
    """Five rules that speak of half of the types between them, and hardly ever of the same token."""
    rng = np.random.default_rng(0)
    n, words = 400, 10
    votes = {}
    for number, kinds in enumerate((("A",), ("A",), ("A",), ("A", "B"), ("B",))):
        rows = [["O"] * words for _ in range(n)]
        for row in rng.choice(n, 60, replace=False):
            rows[row][2 * number] = f"B-{kinds[row % len(kinds)]}"
        votes[f"rule-{number}"] = rows
    found = understand_silence(st.Crowd.of(votes, [[f"w{k}" for k in range(words)]] * n))
    assert not found.known.any()
    assert found.open.all()
    assert found.silent.all()


def test_claims_of_sources_that_cover_little_are_worth_naming() -> None:
    """Three rules of one type that find a quarter each: majorities would leave nearly everything out."""
    rng = np.random.default_rng(1)
    truth = rng.random((500, 8)) < 0.3
    votes = {
        f"rule-{j}": [
            ["B-X" if true and rng.random() < 0.25 else "O" for true in row] for row in truth
        ]
        for j in range(3)
    }
    found = understand_silence(st.Crowd.of(votes, [[f"w{k}" for k in range(8)]] * 500))
    assert found.open.all()
    assert found.majorities
