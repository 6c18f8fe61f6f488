"""What a person is told, and what is chosen by whom."""

from __future__ import annotations

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.kernels.chain import Chain
from seqtruth.methods.accord.annotators import population_mean, strength_of
from seqtruth.methods.accord.leave_one_out import LeaveOneOut, choose
from seqtruth.methods.accord.opinions import Opinion
from seqtruth.methods.dependence import Copies, find_copies
from seqtruth.methods.marked import Marked
from seqtruth.testing import small_crowd


def told(crowd: Crowd, text: str) -> bool:
    return any(text in said for said in st.Accord(predictor=None).fit(crowd).warnings)


WORDS = [["u", "v", "w"]] * 30
SAME = [["B-X", "O", "B-Y"]] * 30


def test_nobody_overlaps() -> None:
    halves = (
        [SAME[0] if n % 2 else None for n in range(30)],
        [None if n % 2 else SAME[0] for n in range(30)],
    )
    crowd = Crowd.of(dict(zip("ab", halves, strict=True)), WORDS)
    assert told(crowd, "no marked token was labelled by two annotators")
    assert not told(Crowd.of(dict.fromkeys("abc", SAME), WORDS), "labelled by two annotators")


def test_one_annotator_apart_from_all_others() -> None:
    some = [SAME[0] if n < 15 else None for n in range(30)]
    rest = [None if n < 15 else SAME[0] for n in range(30)]
    crowd = Crowd.of({"a": some, "b": some, "c": some, "far": rest}, WORDS)
    assert told(crowd, "1 annotator never overlap with anybody (far)")


def test_a_type_of_one_source() -> None:
    other = [["B-X", "O", "B-Z"]] * 30
    crowd = Crowd.of({"a": SAME, "b": SAME, "c": SAME, "d": other}, WORDS)
    assert told(crowd, "only d speaks of Z: nobody can confirm it")


def test_switched_labels() -> None:
    other = [["B-Y", "O", "B-X"]] * 30
    people = {  # who each miss something else
        name: [["O", "O", "B-Y"] if s % 5 == n else said for s, said in enumerate(SAME)]
        for n, name in enumerate("abc")
    }
    crowd = Crowd.of(people | {"d": other}, WORDS)
    assert told(crowd, "d mostly says Y where the result has X: they may have switched the labels")
    assert not told(crowd, "a mostly says")


def test_a_predictor_against_all_annotators() -> None:
    gold = st.datasets.load("demo").gold
    crowd = st.simulate(gold, "careful:3,sloppy:2", difficulty=0.6)
    result = st.Accord(predictor=st.predictors.CRF(max_iter=20)).fit(crowd)
    assert result.provenance["chosen"].endswith("+predictor")
    assert any("labelled by the predictor although no annotator" in s for s in result.warnings)


# --- choice ------------------------------------------------------------------------------------------


def test_the_one_who_judges_is_not_heard() -> None:
    """Against a loop: each annotator's marked stretches, labelled by all others."""
    crowd = small_crowd()
    marked = Marked(crowd)
    n = crowd.n_labels
    table = np.zeros((crowd.n_annotators, 1, n, n)) + 2.0 * np.eye(n)  # a plain vote
    others = np.zeros((crowd.n_tokens, n))
    others[:, crowd.scheme.outside] = 0.5
    chain = Chain.legal(crowd.scheme.grammar)
    judge = LeaveOneOut(marked, Copies(np.ones(crowd.n_annotators)))
    found = judge.f1(Opinion(table, 1.0, others, chain))
    assert 0.5 < found < 1.0
    alone = judge.f1(Opinion(0.0 * table, 1.0, others, chain))
    assert alone == 0.0  # nobody heard, nothing named


def test_copies_are_left_out_together() -> None:
    rng = np.random.default_rng(0)
    votes = {
        w: [[str(rng.choice(["B-X", "B-Y", "O"])) for _ in range(3)] for _ in WORDS] for w in "abc"
    }
    crowd = Crowd.of(votes | {"d": votes["c"]}, WORDS)
    marked = Marked(crowd)
    copies = find_copies(marked)
    assert [group.names for group in copies.groups] == [("c", "d")]
    n = crowd.n_labels
    table = np.zeros((4, 1, n, n)) + 2.0 * np.eye(n)
    opinion = Opinion(table, 1.0, np.zeros((crowd.n_tokens, n)),
                      Chain.legal(crowd.scheme.grammar))  # fmt: skip
    alone = Copies(np.ones(4))
    assert LeaveOneOut(marked, copies).f1(opinion) < LeaveOneOut(marked, alone).f1(opinion) - 0.1


def test_without_a_predictor_the_best_wins() -> None:
    assert choose({"annotators": 0.5, "both": 0.7, "confusion": 0.6}, "+p") == "both"
    scores = {"confusion": 0.6, "both": 0.7, "confusion+p": 0.696, "both+p": 0.5}
    assert choose(scores, "+p") == "confusion+p"


# --- population --------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [["B-A", "B-B"], ["I-A"]])
def test_the_mean_is_a_distribution_near_the_counts(labels: list[str]) -> None:
    scheme = Scheme.of("iob2", labels)
    n = len(scheme.labels)
    counts = np.random.default_rng(0).gamma(1.0, 1000.0, (n, n))
    mean = population_mean(counts, scheme)
    np.testing.assert_allclose(mean.sum(axis=1), 1.0)
    np.testing.assert_allclose(mean, counts / counts.sum(axis=1, keepdims=True), atol=0.01)
    nothing = population_mean(np.zeros((n, n)), scheme)
    assert (nothing.argmax(axis=1) == np.arange(n)).all()  # people are usually right


def test_strength_is_learnt() -> None:
    rng = np.random.default_rng(0)
    mean = np.array([0.7, 0.2, 0.1])
    found = []
    for strength in (2.0, 20.0, 100.0):
        people = rng.dirichlet(strength * mean, 400)
        counts = np.stack([rng.multinomial(200, p) for p in people])[:, None].astype(float)
        found.append(float(strength_of(counts, mean[None])[0]))
    assert 0.3 < found[0] < 5 < 10 < found[1] < found[2] < 300
