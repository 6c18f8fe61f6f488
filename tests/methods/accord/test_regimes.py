"""Crowds of every kind, simulated: the default must not lose to a vote on any of them."""

from __future__ import annotations

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.io.join import join_crowds
from seqtruth.kernels.grammar import is_legal
from seqtruth.methods.accord.options import MIXTURES
from seqtruth.predictors import CRF
from seqtruth.simulation import simulate_rules

QUICK = CRF(max_iter=15, further_iter=8)
VERY_CAREFUL = "careful:3/miss=0.01/boundary=0.01/confuse=0.01/invent=0.01,sloppy:3"
BAD = "careful:4,sloppy/miss=0.6/confuse=0.3/boundary=0.3"


@pytest.fixture(scope="module")
def gold() -> Crowd:
    return st.datasets.load("demo").gold


def f1(result: st.Result, gold: Crowd) -> float:
    return 100 * st.evaluate(result, gold).f1


def vote(crowd: Crowd, gold: Crowd) -> float:
    """The better of a vote in which silence counts and one in which it does not."""
    return max(f1(st.MajorityVote(abstain=tag).fit(crowd), gold) for tag in (None, "O"))


def renamed(crowd: Crowd, name: str, *names: str) -> list[Crowd]:
    """One annotator of a crowd under other names."""
    one = crowd.select_annotators([name])
    return [Crowd(one.corpus, one.scheme, (new,), one.row_sentence, one.row_annotator, one.tags)
            for new in names]  # fmt: skip


def test_three_careful_people_with_one_label_a_sentence(gold: Crowd) -> None:
    crowd = st.simulate(gold, "careful:3", per_sentence=1)
    for predictor in (None, QUICK):
        result = st.Accord(predictor=predictor).fit(crowd)
        assert f1(result, gold) >= vote(crowd, gold) - 0.01
        told = (
            "nothing can be learnt about reliabilities"
            if predictor is None
            else "judged by a tagger"
        )
        assert any(told in text for text in result.warnings)
        assert result.span_confidence().max() < 0.96  # nobody has confirmed anything


@pytest.mark.parametrize("drop", [0.0, 0.1], ids=["copies", "near-copies"])
def test_four_careful_people_and_five_copies_of_a_bad_one(gold: Crowd, drop: float) -> None:
    crowd = st.simulate(gold, BAD)
    rng = np.random.default_rng(7)
    copies = renamed(crowd, "sloppy", *(f"copy-{n}" for n in range(4)))
    if drop:
        copies = [_without_some(copy, drop, rng) for copy in copies]
    four = crowd.select_annotators([f"careful-{n}" for n in (1, 2, 3, 4)])
    result = st.Accord(predictor=None).fit(join_crowds([crowd, *copies]))
    assert f1(result, gold) >= f1(st.Accord(predictor=None).fit(four), gold) - 2
    (group,) = result.provenance["copies"]
    assert sorted(group["annotators"]) == ["copy-0", "copy-1", "copy-2", "copy-3", "sloppy"]
    assert any("seem to be copies" in text and "copy-3" in text for text in result.warnings)


def _without_some(crowd: Crowd, share: float, rng: np.random.Generator) -> Crowd:
    """An annotator who leaves out this share of their spans."""
    from seqtruth.data.spans import extract

    tags = crowd.tags.copy()
    found = extract(tags, crowd.row_offsets, crowd.scheme)
    first = crowd.row_offsets[found.sequence]
    for a, b in zip(first + found.start, first + found.end, strict=True):
        if rng.random() < share:
            tags[a:b] = crowd.scheme.outside
    return Crowd(crowd.corpus, crowd.scheme, crowd.annotators, crowd.row_sentence,
                 crowd.row_annotator, tags)  # fmt: skip


@pytest.mark.parametrize("cast", ["careful:9", VERY_CAREFUL])
def test_people_who_agree_because_they_are_right_lose_nothing(gold: Crowd, cast: str) -> None:
    lost = []
    for seed in range(3):
        crowd = st.simulate(gold, cast, seed=seed)
        result = st.Accord(predictor=None).fit(crowd)
        assert not result.provenance["copies"]
        lost.append(vote(crowd, gold) - f1(result, gold))
    assert np.mean(lost) <= 0.2


def test_six_rules_of_one_type_each(gold: Crowd) -> None:
    rules = simulate_rules(gold, 2)
    crowd = rules.select_annotators(rules.annotators[:6])
    for predictor in (None, QUICK):
        result = st.Accord(predictor=predictor).fit(crowd)
        assert f1(result, gold) >= vote(crowd, gold)
        assert any("silent where they have nothing to say" in text for text in result.warnings)
        assert result.provenance["silence"]


def test_two_people(gold: Crowd) -> None:
    crowd = st.simulate(gold, "careful,sloppy")
    assert f1(st.Accord(predictor=QUICK).fit(crowd), gold) > vote(crowd, gold)


def eight_types(gold: Crowd) -> Crowd:
    """The gold with every type cut in two, by whether a name begins in the first half of the alphabet."""
    rows = []
    for s in range(gold.n_sentences):
        words, row, kind = gold.corpus.words(s), [], ""
        tags = gold.tags[gold.row_offsets[s] : gold.row_offsets[s + 1]]
        for word, tag in zip(words, (gold.scheme.labels[t] for t in tags), strict=True):
            if tag.startswith("B-"):
                kind = tag[2:] + ("-1" if word.lower() < "k" else "-2")
            row.append("O" if tag == "O" else f"{tag[0]}-{kind}")
        rows.append(row)
    return Crowd.of({"gold": rows}, [gold.corpus.words(s) for s in range(gold.n_sentences)])


PEOPLE = {
    "three who miss much": "misser:3",
    "five who miss much": "misser:5",
    "four who miss half": "misser:4/miss=0.4",
    "two careful": "careful:2",
    "two sloppy": "sloppy:2",
    "careful and misser": "careful,misser",
    "four colleagues": "careful:2,boundary,misser",
    "four alike": "sloppy:4",
    "inventors": "careful:2,inventor:3",
    "confusers": "careful,confuser:3",
}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("cast", PEOPLE.values(), ids=PEOPLE)
def test_people_of_other_kinds(gold: Crowd, cast: str, seed: int) -> None:
    crowd = st.simulate(gold, cast, seed=seed)
    found = f1(st.Accord(predictor=None).fit(crowd), gold)
    assert found >= f1(st.MajorityVote().fit(crowd), gold) - 0.5


RULES = {
    "one a type": (1, {}),
    "three of low precision": (3, {"precision": (0.4, 0.9)}),
    "four that know little": (4, {"recall": (0.05, 0.4)}),
    "eight of all kinds": (8, {"recall": (0.1, 0.6), "precision": (0.6, 0.95)}),
}


@pytest.mark.parametrize("per_type", RULES, ids=RULES)
def test_rules_of_other_kinds(gold: Crowd, per_type: str) -> None:
    number, habits = RULES[per_type]
    crowd = simulate_rules(gold, number, seed=1, **habits)
    found = f1(st.Accord(predictor=None).fit(crowd), gold)
    assert found >= f1(st.MajorityVote().fit(crowd), gold) - 0.5


@pytest.mark.parametrize("seed", [1, 2])
def test_sixteen_rules_over_eight_types(gold: Crowd, seed: int) -> None:
    truth = eight_types(gold)
    crowd = simulate_rules(truth, 2, seed=seed)
    assert crowd.n_annotators == 16
    found = f1(st.Accord(predictor=None).fit(crowd), truth)
    assert found >= f1(st.MajorityVote().fit(crowd), truth) - 0.5
    assert found >= f1(st.MajorityVote(abstain="O").fit(crowd), truth) - 0.5


def test_two_sentences(gold: Crowd) -> None:
    two = gold[np.arange(2)]
    crowd = st.simulate(two, "careful:3,sloppy")
    result = st.Accord().fit(crowd)
    assert f1(result, two) >= vote(crowd, two)
    assert result.provenance["chosen"] == "vote"
    assert is_legal(result.tags, crowd.corpus.token_offsets, crowd.scheme.grammar).all()


def test_what_was_found_out_is_saved(gold: Crowd, tmp_path) -> None:
    crowd = st.simulate(gold, BAD)
    crowd = join_crowds([crowd, *renamed(crowd, "sloppy", "copy")])
    result = st.Accord(predictor=None).fit(crowd)
    result.save(tmp_path / "r")
    again = st.Result.load(tmp_path / "r")
    assert again.provenance == result.provenance and again.warnings == result.warnings
    assert again.provenance["copies"][0]["annotators"] == ["sloppy", "copy"]
    scores = again.provenance["leave_one_out_f1"]
    assert {"annotators", "confusion", "sequential", *MIXTURES} == set(scores)


def test_every_vote_counts_where_the_user_says_so(gold: Crowd) -> None:
    crowd = simulate_rules(gold, 2)
    told = st.Accord(predictor=None, abstain=None).fit(crowd)
    found = st.Accord(predictor=None).fit(crowd)
    assert not any("silent" in text for text in told.warnings) and "silence" not in told.provenance
    assert len(found.spans()) > 1.5 * len(told.spans())
