"""One label a sentence: a tagger that learnt from the others tells annotators apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.stats import chi2

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.methods.accord.by_text import _chance, table_of
from seqtruth.methods.accord.options import BY_TEXT
from seqtruth.predictors import CRF

QUICK = CRF(max_iter=15, further_iter=8)


@pytest.fixture(scope="module")
def gold() -> Crowd:
    return st.datasets.load("demo").gold


@pytest.fixture(scope="module")
def mixed(gold: Crowd) -> Crowd:
    return st.simulate(gold, "careful:2,sloppy:3,misser:2,spammer", per_sentence=1)


@pytest.fixture(scope="module")
def result(mixed: Crowd) -> st.Result:
    return st.Accord(predictor=QUICK).fit(mixed)


def f1(result: st.Result, gold: Crowd) -> float:
    return 100 * st.evaluate(result, gold).f1


def test_people_of_all_kinds_with_one_label_a_sentence(
    mixed: Crowd, result: st.Result, gold: Crowd
) -> None:
    assert result.provenance["chosen"] == BY_TEXT
    assert f1(result, gold) > f1(st.MajorityVote().fit(mixed), gold) + 10
    found = result.provenance["by_text"]["reliability"]
    assert found["spammer"] < 0.3
    assert min(found["careful-1"], found["careful-2"]) > found["sloppy-1"] > found["spammer"]
    assert result.annotators.weight.argmin() == result.annotators.names.index("spammer")
    assert any("judged by a tagger" in text for text in result.warnings)
    right = st.evaluate(result, gold).precision
    assert result.span_confidence().mean() < right + 0.05  # no more is claimed than is there


def test_who_shares_a_tenth_of_the_text_is_judged_by_it_too(gold: Crowd) -> None:
    both = st.simulate(gold, "careful,sloppy")
    rng = np.random.default_rng(0)
    whose = rng.integers(0, 2, gold.n_sentences)
    shared = rng.random(gold.n_sentences) < 0.1
    kept = (whose[both.row_sentence] == both.row_annotator) | shared[both.row_sentence]
    crowd = _rows(both, kept)
    result = st.Accord(predictor=QUICK).fit(crowd)
    assert result.provenance["chosen"] == BY_TEXT
    assert f1(result, gold) > f1(st.MajorityVote().fit(crowd), gold) + 5


def _rows(crowd: Crowd, kept: np.ndarray) -> Crowd:
    lengths = np.diff(crowd.row_offsets)
    return Crowd(
        crowd.corpus, crowd.scheme, crowd.annotators, crowd.row_sentence[kept],
        crowd.row_annotator[kept], crowd.tags[np.repeat(kept, lengths)],
    )  # fmt: skip


def test_one_person_beside_others_who_mark_at_random(gold: Crowd) -> None:
    crowd = st.simulate(gold, "careful,spammer")
    result = st.Accord(predictor=QUICK).fit(crowd)
    assert result.provenance["not_heard"] == ["spammer"]
    assert result.provenance["by_text"]["reliability"]["spammer"] == 0
    alone = st.MajorityVote().fit(crowd.select_annotators(["careful"]))
    assert f1(result, gold) > f1(alone, gold) + 1


def test_where_the_text_tells_nothing_labels_stay_what_they_are() -> None:
    rng = np.random.default_rng(1)
    words = [[f"w{n}" for n in rng.integers(0, 9, 6)] for _ in range(120)]
    tags = [[("O", "B-X")[int(n)] for n in rng.integers(0, 5, 6) == 0] for _ in range(120)]
    halves = {
        name: [one if n % 2 == k else None for n, one in enumerate(tags)]
        for k, name in enumerate("ab")
    }
    crowd = Crowd.of(halves, words)
    result = st.Accord(predictor=QUICK).fit(crowd)
    assert result.provenance["chosen"] == "annotators"
    assert (result.tags == st.MajorityVote().fit(crowd).tags).all()


def test_what_the_user_knows_comes_first(mixed: Crowd) -> None:
    result = st.Accord(predictor=QUICK, reliability={"spammer": 0.9}).fit(mixed)
    assert result.provenance["by_text"]["reliability"]["spammer"] == 0.9


@pytest.mark.parametrize("reach", ["near", "all", "settle"])
def test_it_can_be_kept_and_updated(
    result: st.Result, gold: Crowd, tmp_path: Path, reach: str
) -> None:
    result.save(tmp_path / "kept.str", crowd=True)
    kept = st.Result.load(tmp_path / "kept.str")
    offsets = gold.corpus.token_offsets
    wrong = np.flatnonzero(np.add.reduceat(kept.tags != gold.tags, offsets[:-1]) > 0)[:20]
    decided = kept.update(known=gold[wrong], reach=reach)
    at = np.concatenate([np.arange(*offsets[s : s + 2]) for s in wrong])
    assert np.array_equal(decided.tags[at], gold.tags[at])
    assert f1(decided, gold) > f1(kept, gold)
    joined = kept.update(st.simulate(gold[wrong], "careful"), reach=reach)
    assert len(joined.annotators.names) == len(kept.annotators.names) + 1
    assert f1(joined, gold) > f1(kept, gold) - 1


@given(
    some.lists(some.floats(0, 1), min_size=1, max_size=5),
    some.lists(some.floats(1e-6, 1), min_size=2, max_size=5),
)
def test_tables_are_of_probabilities(reliability: list[float], usual: list[float]) -> None:
    given_labels = np.array(usual) / sum(usual)
    table = table_of(np.array([*reliability, np.nan]), given_labels)
    assert table.shape == (len(reliability) + 1, 1, len(usual), len(usual))
    np.testing.assert_allclose(np.exp(table).sum(axis=2), 1.0)


@pytest.mark.parametrize("freedom", [2, 7, 46])
@pytest.mark.parametrize("chance", [0.2, 0.05, 0.01])
def test_chance_is_that_of_a_chi_square(freedom: int, chance: float) -> None:
    assert _chance(chi2.isf(chance, freedom), freedom) == pytest.approx(chance, rel=0.2)
