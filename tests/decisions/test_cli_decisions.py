"""The commands, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import seqtruth as st
from seqtruth.cli import main
from tests.decisions.material import demo, fitted, parted

pytestmark = pytest.mark.filterwarnings("ignore::seqtruth.errors.SeqTruthWarning")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "result.seqtruth"
    fitted("bsc-seq").save(path, crowd=True)
    return path


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main([*arguments, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_triage_prints_and_writes(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = tmp_path / "gold.jsonl"
    st.write(demo().gold.take(slice(100)), gold)
    assert main(["triage", str(saved), "--accept", "0.8", "--gold", str(gold)]) == 0
    shown = capsys.readouterr().out
    assert "accepted at 80%" in shown
    assert "corrected by" in shown
    out = tmp_path / "queue.csv"
    assert main(["triage", str(saved), "--accept", "0.8", "-o", str(out), "-n", "7"]) == 0
    assert len(out.read_text().splitlines()) == 8
    assert "nothing can be promised" in capsys.readouterr().err
    found = _json(capsys, "triage", str(saved), "--accept", "0.8", "-n", "3")
    assert len(found["queue"]) == 3  # type: ignore[arg-type]


def test_next_prints_and_writes(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "plan.csv"
    assert main(["next", str(saved), "-n", "30", "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "labels that help most" in shown
    assert "what they are expected to buy" in shown
    assert "5 more" in shown
    assert len(out.read_text().splitlines()) == 31
    assert len(_json(capsys, "next", str(saved), "-n", "4")["labels"]) == 4  # type: ignore[arg-type]
    assert main(["next", str(saved), "-o", str(tmp_path / "plan.txt")]) == 2
    assert "a plan is .csv or .jsonl" in capsys.readouterr().err


def test_update_adds_and_withdraws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    early, late = parted(demo().crowd, 0.05)
    first, second = tmp_path / "first.seqtruth", tmp_path / "second.seqtruth"
    st.aggregate(early, "bsc-seq").save(first, crowd=True)
    new = tmp_path / "new.jsonl"
    st.write(late, new)
    found = _json(capsys, "update", str(first), str(new), "-o", str(second))
    assert found["rows"] == late.n_rows
    now = st.Result.load(second)
    assert now.crowd is not None
    assert now.crowd.n_rows == demo().crowd.n_rows
    third = tmp_path / "third.seqtruth"
    assert main(["update", str(second), "-o", str(third), "--withdraw", "spammer"]) == 0
    assert "spammer" not in st.Result.load(third).annotators.names
    fourth = tmp_path / "fourth.seqtruth"
    assert main(["update", str(second), "-o", str(fourth), "--remove", str(new)]) == 0
    back = st.Result.load(fourth).crowd
    assert back is not None
    assert back.n_rows == early.n_rows
    gold = tmp_path / "gold.jsonl"
    st.write(demo().gold.take(slice(10)), gold)
    decided = tmp_path / "decided.seqtruth"
    assert main(["update", str(second), "-o", str(decided), "--known", str(gold)]) == 0
    end = int(demo().gold.corpus.token_offsets[10])
    assert np.array_equal(st.Result.load(decided).tags[:end], demo().gold.tags[:end])


def test_update_says_what_is_missing(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["update", str(saved), "-o", str(tmp_path / "x.seqtruth")]) == 2
    assert "there is nothing new; name files of labels" in capsys.readouterr().err
    assert main(["update", str(saved), "--withdraw", "spammer"]) == 2
    assert "give --output" in capsys.readouterr().err
    vote = tmp_path / "vote.seqtruth"
    fitted("mv").save(vote, crowd=True)
    assert main(["update", str(vote), "x.jsonl", "-o", str(tmp_path / "x.seqtruth")]) == 2
    assert "mv keeps no model that could be updated" in capsys.readouterr().err


def test_explain_and_annotators(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(saved), "2"]) == 0
    shown = capsys.readouterr().out
    assert "for it:" in shown
    assert "log odds" in shown
    assert "tokens" in _json(capsys, "explain", str(saved), "2")
    assert main(["explain", str(saved), "nowhere"]) == 2
    assert "no such sentence" in capsys.readouterr().err
    assert main(["annotators", str(saved)]) == 0
    shown = capsys.readouterr().out
    assert "annotators, worst first" in shown
    assert "misses" in shown
    rows = _json(capsys, "annotators", str(saved))["annotators"]
    assert len(rows) == demo().crowd.n_annotators  # type: ignore[arg-type]
