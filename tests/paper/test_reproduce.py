"""The command on miniature data: page, resume, same bytes, errors; one exact row on the real data."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from seqtruth import MajorityVote
from seqtruth.cli import main
from seqtruth.errors import MissingExtraError
from seqtruth.methods import Aggregator, make_method
from seqtruth.paper import PARTS, Workshop, reproduce
from seqtruth.paper.grid import Block, table_section
from seqtruth.paper.runs import Run
from seqtruth.paper.systems import MV

pytestmark = pytest.mark.xdist_group("reproduce")  # what they look at is made once


def seeded(spec: str, seed: int) -> Aggregator:
    return make_method(spec, seed=seed)


def without_torch(spec: str, seed: int) -> Aggregator:
    if spec.startswith(("dl-cl", "lstm-crowd")) or "predictor=b" in spec or "transformer" in spec:
        raise MissingExtraError("torch", "torch", "a neural tagger")
    return seeded(spec, seed)


def workshop(folder: Path, data: Path, make: Any = without_torch) -> Workshop:
    return Workshop(folder, make, quick=True, seeds=1, data_dir=data)


@pytest.fixture(scope="module")
def everything(mini: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The outcome of ``reproduce all --quick``, without torch."""
    folder = tmp_path_factory.mktemp("out")
    reproduce("all", workshop(folder, mini))
    return folder


def test_the_page_has_every_table_and_figure(everything: Path) -> None:
    verdicts = (everything / "reproduction.md").read_text()
    assert (
        "| claim | paper | ours | verdict | evidence |" in verdicts
        and len(verdicts.splitlines()) < 60
    )
    files = everything / "reproduction"
    assert "Two strict definitions" in (files / "differences.md").read_text()
    for name in PARTS:
        page = (files / f"{name}.md").read_text()
        assert page.startswith("# ") and f"(reproduction/{name}.md)" in verdicts
        for line in page.splitlines():
            if line.startswith("!["):
                assert (
                    (files / line.split("(")[-1].rstrip(")")).read_text().startswith("<svg xmlns=")
                )
        assert (files / f"{name}.csv").is_file()
    table = (files / "table2.md").read_text()
    assert "not run: needs seqtruth[torch]" in table
    assert "79.90 / 55.30 / 65.40" in table  # the paper's own
    assert "seconds" in (files / "reproduction-cost.csv").read_text().splitlines()[0]


def test_differences_are_ours_minus_the_papers(everything: Path) -> None:
    with open(everything / "reproduction" / "table2.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["scoring"] for row in rows} == {
        "conlleval", "b-required", "label-set", "token-micro", "token-macro",
    }  # fmt: skip
    compared = [row for row in rows if row["paper_f1"]]
    assert compared and all(
        abs(float(row["f1"]) - float(row["paper_f1"]) - float(row["difference"])) < 2e-4
        for row in compared
    )
    crf_ma = [row for row in rows if row["system"] == "CRF-MA" and row["data"] == "pico"]
    assert crf_ma and all(row["difference"] == "" for row in crf_ma)


def test_interrupted_it_goes_on_and_then_recomputes_nothing(
    mini: Path,
    tmp_path: Path,
    everything: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept, save = [], Run.save

    def stopping(run: Run, path: Path, print_: str) -> None:
        if len(kept) == 3:
            raise KeyboardInterrupt
        save(run, path, print_)
        kept.append(path)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "save", stopping)
        options = ["--quick", "-o", str(tmp_path), "--data-dir", str(mini)]
        assert main(["reproduce", "table3", *options]) == 130
    assert "3 new runs are kept" in capsys.readouterr().err
    assert len(list((tmp_path / "runs").iterdir())) == 3
    assert not (tmp_path / "reproduction").exists()
    second = workshop(tmp_path, mini)
    reproduce("table3", second)
    assert second.made == len(second.done) - 3
    page = (tmp_path / "reproduction" / "table3.md").read_bytes()

    third = workshop(tmp_path, mini)
    reproduce("table3", third)
    assert third.made == 0
    assert (tmp_path / "reproduction" / "table3.md").read_bytes() == page

    # labels made elsewhere, by a run of everything, give the same page
    elsewhere = workshop(everything, mini)
    verdicts = (everything / "reproduction.md").read_text()
    reproduce("table3", elsewhere)
    assert elsewhere.made == 0
    assert (everything / "reproduction" / "table3.md").read_bytes() == page
    # verdicts are of all tables in the folder, whichever was made last
    now = (everything / "reproduction.md").read_text()
    assert [line for line in now.splitlines() if line.startswith("|")] == [
        line for line in verdicts.splitlines() if line.startswith("|")
    ]
    for name in ("table3.csv", "table3-bootstrap.csv", "table3-synthetic-silence-found.svg"):
        both = [folder / "reproduction" / name for folder in (tmp_path, everything)]
        assert both[0].read_bytes() == both[1].read_bytes()


def test_a_page_of_what_is_there(
    mini: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = workshop(tmp_path, mini)
    first.do(first.jobs([MV], "ner"))
    options = ["--quick", "--kept", "-o", str(tmp_path), "--data-dir", str(mini)]
    assert main(["reproduce", "table4", *options]) == 0
    assert "0 of" in capsys.readouterr().err
    assert main(["reproduce", "table2", *options]) == 0
    page = (tmp_path / "reproduction" / "table2.md").read_text()
    assert (
        "| Dawid-Skene |  | not run yet |" in page
        and "`seqtruth reproduce table2 --quick --kept`" in page
    )
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_a_damaged_run_is_made_again(mini: Path, tmp_path: Path) -> None:
    first = workshop(tmp_path, mini)
    first.do(first.jobs([MV], "ner"))
    path = next((tmp_path / "runs").iterdir())
    path.write_bytes(path.read_bytes()[:100])
    again = workshop(tmp_path, mini)
    again.do(again.jobs([MV], "ner"))
    assert again.made == 1


@dataclass(frozen=True, kw_only=True)
class Broken(MajorityVote):
    def fit(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("it broke")


def test_one_system_that_fails_does_not_stop_the_others(
    mini: Path, everything: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(spec: str, seed: int) -> Aggregator:
        return Broken(ties="O") if spec == "ds" else without_torch(spec, seed)

    work = workshop(everything, mini, make)
    report = reproduce("table3", work)
    assert list(report.failed.values()) == ["failed: it broke"] * 2
    assert "| Dawid-Skene |  | failed: it broke |" in report.files[0].read_text()
    assert {row["system"] for row in report.rows} >= {"Majority vote", "BSC-seq"}
    monkeypatch.setattr("seqtruth.methods.make_method", make)
    options = ["--quick", "-o", str(everything), "--data-dir", str(mini)]
    assert main(["reproduce", "table3", *options]) == 1


def test_several_seeds_have_a_spread(mini: Path, tmp_path: Path) -> None:
    work = Workshop(tmp_path, seeded, seeds=2, data_dir=mini)
    blocks = [Block("ner", (MV,), ())]
    work.do(work.jobs([MV], "ner"))
    row = table_section(work, "table2", "Table 2", blocks).rows[0]
    assert row.seeds == 2 and row.spread == 0.0


def test_command_line(mini: Path, everything: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--quick", "-o", str(everything), "--data-dir", str(mini)]
    assert main(["reproduce", "figure-weights", *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["files"][0] == str(everything / "reproduction" / "figure-weights.md")
    assert main(["reproduce", "table4", *options, "--json"]) == 0
    out, err = capsys.readouterr()
    rows = json.loads(out)["rows"]
    assert {row["table"] for row in rows} == {"table4"}
    assert "0 s to go" in err
    assert main(["reproduce", "table4", *options, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert "verdict" in out and "ablations" in out


def test_errors_say_what_to_do(
    mini: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["reproduce", "table9"]) == 2
    assert "choose one of all, table2" in capsys.readouterr().err
    monkeypatch.delenv("SEQTRUTH_DATA", raising=False)
    out = tmp_path / "out"
    assert main(["reproduce", "table2", "-o", str(out)]) == 2
    err = capsys.readouterr().err
    assert "seqtruth datasets get ner" in err and "SEQTRUTH_DATA" in err
    assert not out.exists()
    taken = tmp_path / "file"
    taken.write_text("")
    assert main(["reproduce", "table2", "-o", str(taken), "--data-dir", str(mini)]) == 2
    assert "not a folder" in capsys.readouterr().err
    assert main(["reproduce", "table2", "--seeds", "0"]) == 2


@pytest.mark.parametrize(
    ("scoring", "wanted"),
    [("b-required", (79.95, 55.35, 65.41)), ("conlleval", (77.84, 55.09, 64.51))],
)
def test_majority_row_is_exact_on_the_real_data(
    data_dir: Path, tmp_path: Path, scoring: str, wanted: tuple[float, float, float]
) -> None:
    work = Workshop(tmp_path, seeded, data_dir=data_dir)
    work.do(work.jobs([MV], "ner"))
    rows = table_section(work, "table2", "Table 2", [Block("ner", (MV,), ())]).rows
    row = next(r for r in rows if (r.split, r.scoring) == ("nguyen_test", scoring))
    assert (row.precision, row.recall, row.f1) == pytest.approx(wanted, abs=0.005)
    assert row.paper_f1 == 65.4


def test_dear_systems_have_fewer_seeds(mini: Path, tmp_path: Path) -> None:
    work = Workshop(tmp_path, seeded, seeds=3, data_dir=mini)
    assert len(work.jobs([MV], "ner")) == 3
    assert len(work.jobs([replace(MV, most_seeds=1)], "ner")) == 1
