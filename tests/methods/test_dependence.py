"""Copies: who agrees too well, and who is merely right."""

from __future__ import annotations

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.methods.dependence import Copies, find_copies
from seqtruth.methods.marked import Marked
from seqtruth.testing import small_crowd

WORDS = [["u", "v", "w"]] * 60


def said(share: float, seed: int) -> list[list[str]]:
    """B-X B-Y O, wrong on this share of the tokens."""
    rng = np.random.default_rng(seed)
    return [
        [str(rng.choice(["B-X", "B-Y", "O"])) if rng.random() < share else tag for tag in ("B-X", "B-Y", "O")]
        for _ in WORDS
    ]  # fmt: skip


def groups(people: dict[str, list[list[str]]]) -> list[tuple[str, ...]]:
    return [group.names for group in find_copies(Marked(Crowd.of(people, WORDS))).groups]


def test_copies_are_found_and_share_a_vote() -> None:
    people = {name: said(0.1, seed) for seed, name in enumerate("abc")}
    people |= {"d": said(0.6, 9), "e": said(0.6, 9)}
    assert groups(people) == [("d", "e")]
    found = find_copies(Marked(Crowd.of(people, WORDS)))
    assert found.weight.tolist() == [1, 1, 1, 0.5, 0.5]
    assert found.leaders.tolist() == [True, True, True, True, False]
    assert found.witness.tolist() == [0, 1, 2, 3, 3]
    (group,) = found.groups
    assert group.agreement == 1.0 and group.others < 0.8 and group.tokens > 50
    assert "d, e seem to be copies" in group.sentence() and "100%" in group.sentence()
    assert group.to_dict()["annotators"] == ["d", "e"]


@pytest.mark.parametrize("seed", range(5))
def test_careful_people_are_no_copies(seed: int) -> None:
    people = {f"careful {n}": said(0.01, 100 * seed + n) for n in range(3)}
    people |= {f"sloppy {n}": said(0.3, 100 * seed + 50 + n) for n in range(3)}
    assert groups(people) == []


def test_few_people_or_few_tokens_say_nothing() -> None:
    assert groups({"a": said(0.5, 1), "b": said(0.5, 1)}) == []
    people = {"a": [["B-X", "O"]] * 4, "b": [["B-X", "O"]] * 4, "c": [["O", "B-Y"]] * 4}
    few = Crowd.of(people, [["u", "v"]] * 4)
    assert find_copies(Marked(few)) == Copies(pytest.approx(np.ones(3)))
    assert not find_copies(Marked(small_crowd())).groups


def test_counts_against_a_loop() -> None:
    from seqtruth.methods import dependence

    crowd = st.simulate(small_crowd().select_annotators(["w0"]), "sloppy:2,confuser:2,misser")
    sums = dependence.pair_sums(Marked(crowd))
    pairs = dependence._Pairs(*(sums + sums.transpose(0, 2, 1)))
    outside, n = crowd.scheme.outside, crowd.n_annotators
    tags = np.stack([crowd.labelling(w).tags for w in range(n)])
    for p in range(n):
        for q in range(p):
            either = (tags[p] != outside) | (tags[q] != outside)
            assert pairs.either[p, q] == either.sum()
            assert pairs.same[p, q] == (either & (tags[p] == tags[q])).sum()
            disputed = together = 0
            for i in range(crowd.n_tokens):
                a, b = tags[p, i], tags[q, i]
                rest = {tags[z, i] for z in range(n) if z not in (p, q)} - {outside}
                if outside not in (a, b) and any(c not in (a, b) or a != b for c in rest):
                    disputed += 1
                    together += a == b
            assert (pairs.disputed[p, q], pairs.together[p, q]) == (disputed, together)
