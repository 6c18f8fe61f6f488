"""The command line as a user meets it: output, exit codes, nothing half-written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import seqtruth as st
from seqtruth.checks import small_crowd
from seqtruth.cli import main

FAST = "aggslc:predictor=none"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    crowd = small_crowd()
    st.write(crowd, tmp_path / "crowd.conll")
    st.write(crowd.select_workers(["w0"]), tmp_path / "gold.conll")
    return tmp_path


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_aggregate_writes_every_output(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = {name: files / name for name in ("t.conll", "r.html", "r.seqtruth", "t.seqtruth")}
    code = run(
        "aggregate", files / "crowd.conll", "-o", out["t.conll"], "--report", out["r.html"],
        "--save", out["r.seqtruth"], "--tagger", out["t.seqtruth"], "-m", "aggslc:folds=2;max_iter=2",
        "--json",
    )  # fmt: skip
    captured = capsys.readouterr()
    assert code == 0, captured.err
    summary = json.loads(captured.out)
    assert summary["method"] == "aggslc" and summary["sentences"] == 40
    assert summary["written"] == [str(path) for path in out.values()]
    assert all(path.stat().st_size > 0 for path in out.values())
    assert st.Result.load(out["r.seqtruth"]).labelled.all()


def test_labels_go_to_stdout_without_output(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("aggregate", files / "crowd.conll", "-m", "mv", "-q") == 0
    captured = capsys.readouterr()
    (files / "again.conll").write_text(captured.out)
    assert st.read(files / "again.conll").n_sentences == 40
    assert captured.err == ""


def test_evaluate(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(
        "aggregate",
        files / "crowd.conll",
        "-m",
        "mv",
        "-o",
        files / "t.conll",
        "--save",
        files / "r",
    )
    capsys.readouterr()
    assert run("evaluate", files / "t.conll", files / "gold.conll", "--json") == 0
    from_labels = json.loads(capsys.readouterr().out)
    assert run("evaluate", files / "r", files / "gold.conll", "--json") == 0
    assert json.loads(capsys.readouterr().out)["f1"] == from_labels["f1"] > 0.9
    assert run("evaluate", files / "t.conll", files / "gold.conll") == 0
    assert "precision" in capsys.readouterr().out


def test_compare_prints_one_object_a_method(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [files / "crowd.conll", "--gold", files / "gold.conll", "-m", f"mv,ds,{FAST}"]
    assert run("compare", *arguments, "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["method"] for row in rows] == ["mv", "ds", FAST]
    assert {"precision", "recall", "f1", "strict", "seconds"} <= set(rows[0])
    assert run("compare", *arguments) == 0
    assert "F1" in capsys.readouterr().out


def test_compare_on_a_data_set(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(
        "compare", "--dataset", "ner", "--data-dir", data_dir, "--methods", "mv",
        "--split", "nguyen_test", "--strict", "b-required", "--json",
    )  # fmt: skip
    row = json.loads(capsys.readouterr().out)
    assert code == 0 and round(100 * row["f1"], 2) == 65.41


def test_tag_reads_text_and_writes_labels(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("aggregate", files / "crowd.conll", "-q", "-o", files / "t.conll", "--tagger", files / "m",
        "-m", "aggslc:folds=2;max_iter=1")  # fmt: skip
    (files / "new.txt").write_text("Ann Lee saw Oslo.\nBob left Brno.\n")
    capsys.readouterr()
    assert run("tag", files / "m", files / "new.txt") == 0
    labels = capsys.readouterr().out
    assert "Oslo\tB-LOC" in labels.replace(" ", "\t")
    assert run("tag", files / "m", files / "new.txt", "-o", files / "new.jsonl") == 0
    record = json.loads((files / "new.jsonl").read_text().splitlines()[0])
    assert record["text"] == "Ann Lee saw Oslo."
    # labels in the input, also ones the tagger has never heard of, are passed over
    (files / "odd.conll").write_text("Ann B-ALIEN\nsaw O\n")
    assert run("tag", files / "m", files / "odd.conll") == 0
    assert "ALIEN" not in capsys.readouterr().out


def test_simulate(files: Path) -> None:
    code = run("simulate", files / "gold.conll", "-o", files / "sim.jsonl", "--seed", 5)
    assert code == 0
    assert st.read(files / "sim.jsonl").n_workers > 3


def test_info(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("info", files / "crowd.conll", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["annotators"] == 5 and facts["scheme"] == "iob2"
    assert run("info") == 0
    assert "methods" in capsys.readouterr().out


BAD = {
    "ragged": ("a O O\nb O\n", "columns"),
    "tag outside the scheme": ("a B-PER O\nb X-PER O\n\nc B-PER O\nd I-PER O\n", "X-PER"),
    "empty": ("", "empty"),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_is_named_and_nothing_is_written(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, word = BAD[fault]
    (tmp_path / "bad.conll").write_text(content)
    assert run("aggregate", tmp_path / "bad.conll", "-o", tmp_path / "out.conll") == 2
    message = capsys.readouterr().err
    assert "bad.conll" in message and word in message and "Traceback" not in message
    assert not (tmp_path / "out.conll").exists()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["aggregate", "missing.conll"], "missing.conll"),
        (["aggregate", "{crowd}", "-m", "magic"], "unknown method"),
        (["aggregate", "{crowd}", "-m", "mv:colour=red"], "no setting"),
        (["aggregate", "{crowd}", "-o", "{dir}/nowhere/x.conll"], "no such folder"),
        (["aggregate", "{crowd}", "--resume"], "--checkpoint"),
        (["aggregate", "{crowd}", "--wrong"], "--wrong"),
        (["compare", "--dataset", "ner"], "data_dir"),
        (["compare", "{crowd}"], "--gold"),
        (["info", "{crowd}", "--format", "papyrus"], "papyrus"),
        (["evaluate", "{crowd}", "{crowd}"], "annotators"),
        (["tag", "{crowd}", "{crowd}"], "crowd.conll"),
        (["simulate", "{crowd}", "-o", "{dir}/x.conll"], "one hand"),
    ],
)
def test_wrong_use_exits_with_2(
    arguments: list[str], word: str, files: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.delenv("SEQTRUTH_DATA", raising=False)
    filled = [a.format(crowd=files / "crowd.conll", dir=files) for a in arguments]
    assert run(*filled) == 2
    message = capsys.readouterr().err
    assert word in message and "Traceback" not in message


def test_one_annotator_warns_and_works(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("aggregate", files / "gold.conll", "-m", "mv") == 0
    assert "only one annotator" in capsys.readouterr().err


def test_damaged_result_is_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(
        "aggregate",
        files / "crowd.conll",
        "-m",
        "mv",
        "-q",
        "--save",
        files / "r",
        "-o",
        files / "t.txt",
    )
    whole = (files / "r").read_bytes()
    (files / "cut").write_bytes(whole[: len(whole) // 2])
    assert run("evaluate", files / "cut", files / "gold.conll") == 2
    assert "damaged" in capsys.readouterr().err


def _start(*arguments: object) -> subprocess.Popen[bytes]:
    environment = os.environ | {"NO_COLOR": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "seqtruth", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
    )  # fmt: skip


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_killed_run_goes_on_and_gives_the_same_bytes(how: signal.Signals, files: Path) -> None:
    """A long run is killed in the middle; --resume finishes it as if nothing had happened."""
    st.write(small_crowd(n_sentences=400), files / "big.conll")
    method = "aggslc:folds=3;max_iter=6;tol=0"
    common = ["aggregate", files / "big.conll", "-m", method, "-q"]
    assert _start(*common, "-o", files / "whole.jsonl").wait() == 0
    kept = files / "kept"
    process = _start(*common, "-o", files / "resumed.jsonl", "--checkpoint", kept)
    deadline = time.monotonic() + 120
    while not list(kept.glob("*.seqtruth")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(how)
    code = process.wait()
    if code != 0:  # it may have been faster than the signal
        assert code in (130, -how)
        assert not (files / "resumed.jsonl").exists()
    again = _start(*common, "-o", files / "resumed.jsonl", "--checkpoint", kept, "--resume")
    assert again.wait() == 0, again.stderr.read() if again.stderr else ""
    assert (files / "resumed.jsonl").read_bytes() == (files / "whole.jsonl").read_bytes()
    assert not list(files.glob(".*.tmp"))


def test_no_colour_codes_when_not_asked(files: Path) -> None:
    process = _start("compare", files / "crowd.conll", "--gold", files / "gold.conll", "-m", "mv")
    out, _ = process.communicate()
    assert process.returncode == 0 and b"\x1b" not in out
