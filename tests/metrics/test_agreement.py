"""Agreement against loops over strings, and published worked examples."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.conlleval import chunks
from oracles.generate import columns, crowd_of
from seqtruth.data.crowd import Crowd
from seqtruth.metrics import agreement, krippendorff_alpha, pairs

Rows = dict[str, list[list[str] | None]]
NAMES = ["ann", "bob", "cy"]


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    sentences = draw(columns("iob2", 3).filter(bool))
    return {
        name: [[t[i] for t in s] if draw(st.booleans()) else None for s in sentences]
        for i, name in enumerate(NAMES)
    }


def tokens_of(given_rows: Rows) -> list[list[str]]:
    """Per token, the labels given to it."""
    n = len(next(iter(given_rows.values())))
    found = []
    for s in range(n):
        seen = [row[s] for row in given_rows.values() if row[s] is not None]
        length = len(seen[0]) if seen else 0
        found += [[tags[i] for tags in seen] for i in range(length)]
    return found


@given(given_rows=rows())
def test_alpha_by_definition(given_rows: Rows) -> None:
    units = [unit for unit in tokens_of(given_rows) if len(unit) >= 2]
    values = [label for unit in units for label in unit]
    n = len(values)
    found = krippendorff_alpha(crowd_of(given_rows, "iob2"))
    if len(set(values)) < 2:
        assert np.isnan(found)
        return
    observed = (
        sum(2 * sum(a != b for a, b in combinations(unit, 2)) / (len(unit) - 1) for unit in units)
        / n
    )
    expected = 2 * sum(a != b for a, b in combinations(values, 2)) / (n * (n - 1))
    assert found == pytest.approx(1 - observed / expected)


@given(given_rows=rows())
def test_pairs_by_loop(given_rows: Rows) -> None:
    table = pairs(crowd_of(given_rows, "iob2"))
    at = 0
    for a, b in combinations(range(3), 2):
        shared = [
            (x, y)
            for x, y in zip(given_rows[NAMES[a]], given_rows[NAMES[b]], strict=True)
            if x is not None and y is not None
        ]
        tokens = [(p, q) for x, y in shared for p, q in zip(x, y, strict=True)]
        if not tokens:
            continue
        assert (table.first[at], table.second[at], table.tokens[at]) == (a, b, len(tokens))
        observed = sum(p == q for p, q in tokens) / len(tokens)
        left, right = [p for p, _ in tokens], [q for _, q in tokens]
        chance = sum(left.count(c) * right.count(c) for c in set(left)) / len(tokens) ** 2
        assert table.observed[at] == pytest.approx(observed)
        kappa = (observed - chance) / (1 - chance) if chance < 1 else np.nan
        assert table.kappa[at] == pytest.approx(kappa, nan_ok=True)
        common = sum(len(set(chunks(x)) & set(chunks(y))) for x, y in shared)
        total = sum(len(chunks(x)) + len(chunks(y)) for x, y in shared)
        f1 = 2 * common / total if total else np.nan
        assert table.span_f1[at] == pytest.approx(f1, nan_ok=True)
        at += 1
    assert at == len(table)


def test_krippendorffs_own_example() -> None:
    """Three coders, fifteen units, missing values: alpha is 0.691 for nominal data."""
    coders = {
        "A": "* * * * * 3 4 1 2 1 1 3 3 * 3",
        "B": "1 * 2 1 3 3 4 3 * * * * * * *",
        "C": "* * 2 1 3 4 4 * 2 1 1 3 3 * 4",
    }
    crowd = Crowd.of(
        {name: [[None if v == "*" else v for v in row.split()]] for name, row in coders.items()},
        tokens=[["u"] * 15],
    )
    assert krippendorff_alpha(crowd) == pytest.approx(0.691, abs=5e-4)


def test_cohens_kappa_worked_example() -> None:
    """The grant-proposal table of the textbooks: 20 yes/yes, 5 and 10 apart, 15 no/no gives 0.4."""
    cells = [("Y", "Y", 20), ("Y", "N", 5), ("N", "Y", 10), ("N", "N", 15)]
    a = [x for x, _, n in cells for _ in range(n)]
    b = [y for _, y, n in cells for _ in range(n)]
    found = agreement(crowd_of({"a": [a], "b": [b]}, "plain"))
    assert (found.observed, found.kappa) == (pytest.approx(0.7), pytest.approx(0.4))


def test_nobody_to_agree_with() -> None:
    alone = agreement(crowd_of({"ann": [["B-PER", "O"]]}))
    assert len(alone.pairs) == 0 and np.isnan(alone.alpha) and np.isnan(alone.observed)
    assert alone.to_dict()["overall"]["cohen_kappa"]["value"] is None
    apart = agreement(crowd_of({"ann": [["B-PER"], None], "bob": [None, ["O"]]}))
    assert len(apart.pairs) == 0 and np.isnan(apart.of_annotator("ann")["kappa"])


def test_of_one_annotator() -> None:
    tags: Rows = {"a": [["B-PER", "O"]], "b": [["B-PER", "O"]], "c": [["O", "B-PER"]]}
    found = agreement(crowd_of(tags))
    assert found.of_annotator("a")["observed"] == 0.5
    assert found.of_annotator("c")["span_f1"] == 0.0
    assert found.span_f1 == pytest.approx(1 / 3)
