"""The small parts: the paper's figures, digests of code, contests."""

from __future__ import annotations

from pathlib import Path

import pytest

from seqtruth.data.crowd import Crowd
from seqtruth.paper import code_digest as digests
from seqtruth.paper.paper import TABLES
from seqtruth.paper.scores import Row
from seqtruth.paper.significance import contests, holm
from seqtruth.paper.tables import csv_rows, csv_text


def test_the_papers_strict_figures_fit_together() -> None:
    """F1 is the harmonic mean of P and R, which a slip in typing them in would break."""
    for key, rows in TABLES.items():
        for name, (strict, _) in rows.items():
            p, r, f1 = strict
            assert 2 * p * r / (p + r) == pytest.approx(f1, abs=0.11), (key, name)
    assert sum(len(rows) for rows in TABLES.values()) == 28


def test_code_counts_and_comments_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "_HOME", tmp_path)
    (tmp_path / "methods").mkdir()
    method, helper = tmp_path / "methods" / "one.py", tmp_path / "helper.py"
    other = tmp_path / "methods" / "other.py"
    method.write_text("from seqtruth.helper import f\nprint(f)\n")
    other.write_text("x = 1\n")
    helper.write_text("def f():\n    '''Says.'''\n    return 1\n")

    def now() -> str:
        digests._code.cache_clear()
        return digests.code_digest("seqtruth.methods.one")

    before = now()
    helper.write_text("# a remark\ndef f():\n    '''Says so.'''\n    return (1)\n")
    other.write_text("x = 2\n")
    assert now() == before
    helper.write_text("def f():\n    return 2\n")
    assert now() != before
    digests._code.cache_clear()


def test_contests_are_corrected_and_leave_out_the_champion_himself() -> None:
    tokens = [["Ann"], ["Bo"], ["Cy"], ["Di"]]
    truth = Crowd.of({"gold": [["B-PER"]] * 4}, tokens)
    poor = Crowd.of({"x": [["B-PER"], ["O"], ["O"], ["O"]]}, tokens).labelling()
    best = truth.labelling()
    found = contests(
        ("table2", "ner", "all"), ("best", best), [("best", best), ("poor", poor)], truth,
        truth.covered,
    )  # fmt: skip
    assert [one.second for one in found] == ["poor"]
    assert found[0].comparison.difference == pytest.approx(0.6)
    assert found[0].verdict in ("won", "not told apart")
    assert holm([0.2, 0.2]) == [0.4, 0.4]


def test_rows_come_back_from_their_file() -> None:
    row = Row("table2", "ner", "all", "Majority vote", "mv", None, "conlleval", 80.0, 60.5, 68.9, None,
              1, 12, paper_f1=65.4)  # fmt: skip
    (found,) = csv_rows(csv_text([row.to_dict()]))
    assert Row.of(found) == row
