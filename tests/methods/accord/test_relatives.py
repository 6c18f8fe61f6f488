"""Annotators who make the same mistakes without copying each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.engine import MemoryParts
from seqtruth.io.join import join_crowds
from seqtruth.methods.accord import relatives as module
from seqtruth.methods.accord.relatives import Relatives, no_relatives
from seqtruth.methods.accord.run import Run
from seqtruth.methods.task import Task

pytestmark = pytest.mark.filterwarnings("ignore::seqtruth.errors.DataWarning")


@pytest.fixture(scope="module")
def gold() -> Crowd:
    return st.datasets.load("demo").gold


def found(crowd: Crowd) -> Relatives:
    return Run(st.Accord(predictor=None), Task(MemoryParts(crowd))).relatives


def family(gold: Crowd, n: int) -> Crowd:
    """Four careful people, and a bad one of whom there are n versions, each with slips of its own.

    >>> family(st.datasets.load("demo").gold, 2).annotators[-2:]
    ('version-0', 'version-1')
    """
    people = st.simulate(gold, "careful:4,sloppy/miss=0.5/confuse=0.3/boundary=0.3")
    bad = people.select_annotators(["sloppy"])
    versions = []
    for k in range(n):
        rng = np.random.default_rng(k)
        # sentences in which a version leaves out what it marks, and others in which it mixes up the types
        fate = np.repeat(rng.random(len(bad.row_sentence)), np.diff(bad.row_offsets))
        types = ["PER", "LOC", "ORG", "MISC", "PER"]
        swap = {f"{at}-{x}": f"{at}-{y}" for x, y in pairwise(types) for at in "BI"} | {"O": "O"}
        other = np.array([bad.scheme.labels.index(swap[one]) for one in bad.scheme.labels])
        tags = np.where(fate < 0.1, bad.scheme.outside, bad.tags)
        tags = np.where(fate > 0.85, other[tags], tags).astype(bad.tags.dtype)
        rows = (bad.row_sentence, bad.row_annotator, tags)
        versions.append(Crowd(bad.corpus, bad.scheme, (f"version-{k}",), *rows))
    careful = people.select_annotators([f"careful-{k}" for k in (1, 2, 3, 4)])
    return join_crowds([careful, *versions])


def test_versions_of_one_are_found_and_count_as_fewer(
    gold: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = family(gold, 3)
    seen = found(crowd)
    of = dict(zip(crowd.annotators, seen.weight, strict=True))
    assert all(of[f"version-{k}"] < 0.5 for k in range(3))
    assert all(of[f"careful-{k}"] == 1 for k in (1, 2, 3, 4))
    assert len(seen.pairs) == 3
    result, many = (st.Accord(predictor=None).fit(one) for one in (crowd, family(gold, 6)))
    assert result.provenance["relatives"][0]["shared_errors"] > 0.5
    assert any("seem to be relatives" in text for text in result.warnings)
    assert result.annotator_report().relatives == tuple(result.provenance["relatives"])
    monkeypatch.setattr(module, "FEWEST", 1e9)  # nobody is looked for
    blind, blinder = (st.Accord(predictor=None).fit(one) for one in (crowd, family(gold, 6)))
    f1 = [st.evaluate(one, gold).f1 for one in (result, blind, many, blinder)]
    assert f1[0] > f1[1] + 0.02  # 97.4 and 93.6
    assert f1[2] > f1[3] + 0.1  # 92.8 and 74.9, with six versions beside four people


@pytest.mark.parametrize("cast", ["careful:5", "sloppy:5", "careful:3,sloppy:3,misser:2"])
def test_honest_annotators_are_no_relatives(gold: Crowd, cast: str) -> None:
    seen = found(st.simulate(gold, cast))
    assert not seen.pairs
    assert seen.weight.min() == 1.0


def test_the_silence_of_rules_is_no_error(gold: Crowd) -> None:
    crowd = st.simulation.simulate_rules(gold, 3)
    run = Run(st.Accord(predictor=None), Task(MemoryParts(crowd)))
    assert not run.relatives.pairs


def test_what_is_not_looked_for(gold: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CELLS", 10)
    assert found(family(gold, 3)).weight.tolist() == no_relatives(7).weight.tolist()


def test_sums_of_pairs_are_those_of_plain_loops(gold: Crowd) -> None:
    """The kernel against its definition."""
    crowd = st.simulate(gold, "careful,sloppy:2")[np.arange(40)]
    run = Run(st.Accord(predictor=None), Task(MemoryParts(crowd)))
    marked, rng = run.marked, np.random.default_rng(0)
    posterior = rng.dirichlet(np.ones(crowd.n_labels), len(marked.at))
    vote = rng.random((3, crowd.n_labels)) < 0.5
    both, counts = module._pair_sums(marked, posterior, vote)
    expected, pairs = np.zeros_like(both), np.zeros_like(counts)
    labels, outside = marked.labels, crowd.scheme.outside
    where = zip(labels.token.tolist(), labels.annotator.tolist(), strict=True)
    said = dict(zip(where, labels.tag.tolist(), strict=True))
    for (t, j), c in said.items():
        for k in range(3):
            if k == j or (t, k) not in said:
                continue
            mass = {}
            for who, tag in ((j, c), (k, said[t, k])):
                errs = vote[who] if tag == outside else np.arange(crowd.n_labels) != tag
                mass[who] = float(posterior[t][errs].sum())
            expected[:, j, k] += posterior[t]
            pairs[0, j, k] += min(mass.values()) * (c == said[t, k])
            pairs[1, j, k] += mass[j]
    np.testing.assert_allclose(both, expected)
    np.testing.assert_allclose(counts, pairs)
