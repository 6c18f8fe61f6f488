"""Every method on every kind of crowd: one table, and what the default loses."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from seqtruth.methods import make_method
from seqtruth.paper import Workshop, regimes, reproduce
from seqtruth.paper.crowds import SIMULATED, load
from seqtruth.paper.regimes import Regime

FEW = regimes.SETTINGS[:2]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """Two simulated crowds, two methods and a set that is not there."""
    chosen = Regime("sim-six-rules", "all", "rules"), Regime("sim-honest", "all", "people")
    monkeypatch.setattr(regimes, "REGIMES", (*chosen, Regime("bc5cdr", "test", "absent")))
    monkeypatch.setattr(regimes, "SETTINGS", FEW)
    monkeypatch.setattr(regimes, "PLAIN", FEW)
    monkeypatch.setattr(regimes, "DEFAULT", regimes.System("accord", "accord:predictor=none"))
    return Workshop(
        tmp_path / "out", lambda spec, seed: make_method(spec, seed=seed), quick=True, seeds=1,
        data_dir=tmp_path,
    )  # fmt: skip


def test_one_table_with_regrets_that_goes_on_after_a_stop(work: Workshop) -> None:
    report = reproduce("regimes", work)
    page, table = report.files[0].read_text(), report.files[1]
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["set"] for row in rows] == ["sim-six-rules", "sim-honest"]
    for row in rows:
        best, mine = float(row["best other"]), float(row["default"])
        assert float(row["regret"]) == pytest.approx(best - mine, abs=0.01)
        low, high = float(row["regret low"]), float(row["regret high"])
        assert low <= float(row["regret"]) <= high and high - low < 60
        assert best >= max(float(row["mv"]), float(row["ds"])) - 0.01
        assert f"| {row['set']} | {float(row['mv']):.1f} |" in page
    assert "`bc5cdr`: not run" in page and "seqtruth reproduce regimes --quick" in page
    made = work.made
    assert made == 2 * (1 + 2 + 4) and not report.failed
    again = Workshop(work.folder, work.make, quick=True, seeds=1, data_dir=work.data_dir)
    assert reproduce("regimes", again).rows == report.rows and again.made == 0


@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_crowds_are_what_they_are_called(name: str) -> None:
    data, words = load(name), SIMULATED[name][0]
    assert data.crowd.scheme == data.gold.scheme
    assert data.crowd.n_sentences == data.gold.n_sentences
    numbers = [int(word) for word in words.split() if word.isdecimal()]
    if numbers:
        assert data.crowd.n_annotators == sum(numbers)
