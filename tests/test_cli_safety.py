"""The command line never destroys its input, and prints nothing that reads back as something else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import seqtruth as st
from seqtruth.cli import main
from seqtruth.data.crowd import Crowd
from seqtruth.errors import InputError
from seqtruth.io import write


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    crowd = Crowd.of({"ann": [["B-PER", "O"]], "bob": [["O", "O"]]}, tokens=[["Ann", "ran"]])
    write(crowd, tmp_path / "in.conll")
    return tmp_path / "in.conll"


@pytest.mark.parametrize("option", ["-o", "--report", "--save", "--tagger"])
def test_an_output_never_takes_the_place_of_the_input(
    labels: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = labels.read_bytes()
    same = labels.parent / "." / labels.name  # another spelling of the same file
    assert main(["aggregate", str(labels), "-m", "mv", option, str(same)]) == 2
    assert "place of the input" in capsys.readouterr().err
    assert labels.read_bytes() == before


@pytest.mark.parametrize("given", ["*.conll", "."])
def test_nor_that_of_a_file_in_a_folder_or_pattern(
    labels: Path, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = labels.read_bytes()
    assert main(["aggregate", str(labels.parent / given), "-m", "mv", "-o", str(labels)]) == 2
    assert "place of the input" in capsys.readouterr().err
    assert labels.read_bytes() == before
    other = labels.parent / "new.conll"
    assert main(["aggregate", str(labels.parent / "*.conll"), "-m", "mv", "-o", str(other)]) == 0


@pytest.mark.parametrize("words", ["simulate {} -o {}", "convert {} {}", "agreement {} -o {}"])
def test_nor_do_other_commands(
    labels: Path, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = labels.read_bytes()
    assert main(words.format(labels, labels).split()) == 2
    assert "place of the input" in capsys.readouterr().err
    assert labels.read_bytes() == before


def test_a_token_with_a_line_end_does_not_forge_a_sentence(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    crowd = Crowd.of({"ann": [["O", "O"]], "bob": [["O", "O"]]}, tokens=[["a\n\nb", "c"]])
    write(crowd, tmp_path / "in.jsonl")
    assert main(["aggregate", str(tmp_path / "in.jsonl"), "-m", "mv", "-q"]) == 2
    said = capsysbinary.readouterr()
    assert said.out == b"" and b"cannot be written in CoNLL" in said.err


def test_a_digest_knows_the_documents() -> None:
    crowd = st.datasets.load("demo").crowd[:9]
    merged = st.Crowd(
        st.Corpus(crowd.corpus.token_offsets, crowd.corpus.sentence_ids, crowd.corpus.tokens),
        crowd.scheme, crowd.annotators, crowd.row_sentence, crowd.row_annotator, crowd.tags,
    )  # fmt: skip
    assert merged.digest() != crowd.digest()


def test_control_characters_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crowd = Crowd.of({"a\x1b[31mnn": [["O"]], "bob": [["O"]]}, tokens=[["x"]])
    write(crowd, tmp_path / "in.jsonl")
    assert main(["info", str(tmp_path / "in.jsonl")]) == 0
    assert main(["info", str(tmp_path / "no\x1b[31m.jsonl")]) == 2
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err and "\\x1b[31m" in said.out


def test_too_little_memory_is_said(
    labels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("seqtruth.methods.vote.majority.MajorityVote._fit", full)
    assert main(["aggregate", str(labels), "-m", "mv"]) == 2
    assert "not enough memory" in capsys.readouterr().err


def _seqtruth(*arguments: str | Path, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "seqtruth", *map(str, arguments)]
    return subprocess.run(command, text=True, timeout=300, stderr=subprocess.PIPE, **how)


@pytest.mark.parametrize("command", [["info"], ["aggregate", "-m", "mv", "-q"]])
def test_a_closed_standard_output_is_said(labels: Path, command: list[str]) -> None:
    line = [sys.executable, "-m", "seqtruth", command[0], str(labels), *command[1:]]
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *line], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2, done.stderr
    assert "standard output is closed" in done.stderr and "Traceback" not in done.stderr


def test_no_output_is_opened_in_the_place_of_a_closed_stream(labels: Path) -> None:
    target = labels.parent / "out.conll"
    line = [
        sys.executable,
        "-m",
        "seqtruth",
        "aggregate",
        str(labels),
        "-m",
        "mv",
        "-o",
        str(target),
    ]
    done = subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *line], timeout=300)
    assert done.returncode == 0
    assert target.read_text().startswith("# token")


def test_a_full_device_is_said(labels: Path) -> None:
    with open("/dev/full", "w") as full:
        done = _seqtruth("aggregate", labels, "-m", "mv", stdout=full)
    assert done.returncode == 2 and "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_tokens_that_cannot_be_written_are_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [["a", "b"]] * 40 + [["a\n\nb", "c"]]
    tags = [["O", "B-X"]] * 41
    crowd = Crowd.of({"ann": tags, "bob": tags}, tokens=words)
    write(crowd, tmp_path / "in.jsonl")
    monkeypatch.setattr("seqtruth.methods.vote.majority.MajorityVote._fit", _never)
    for output in ([], ["-o", str(tmp_path / "out.conll")]):
        assert main(["aggregate", str(tmp_path / "in.jsonl"), "-m", "mv", *output]) == 2
        assert "cannot be written in CoNLL" in capsys.readouterr().err


def _never(*_: object, **__: object) -> None:
    raise AssertionError("the work has begun")


@pytest.mark.parametrize("option", ["-o", "--report", "--save", "--checkpoint"])
def test_a_folder_that_is_not_ours_is_found_before_the_work(
    labels: Path, option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("seqtruth.methods.vote.majority.MajorityVote._fit", _never)
    closed = labels.parent / "closed"
    closed.mkdir()
    # the administrator may write anywhere, so the question is answered for them
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, how: Path(path) != closed and may(path, how))
    target = closed / ("folder" if option == "--checkpoint" else "out.conll")
    assert main(["aggregate", str(labels), "-m", "mv", option, str(target)]) == 2
    assert "not yours to write to" in capsys.readouterr().err


def test_where_one_output_fails_none_is_written(
    labels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise InputError("cannot write", where="report.html", got="No space left on device")

    monkeypatch.setattr("seqtruth.result.Result.report", fails)
    out = labels.parent / "out.conll"
    out.write_text("what was there before")
    report = labels.parent / "report.html"
    line = ["aggregate", str(labels), "-m", "mv", "-o", str(out), "--report", str(report)]
    assert main(line) == 2
    assert out.read_text() == "what was there before"
    assert sorted(p.name for p in labels.parent.iterdir()) == ["in.conll", "out.conll"]


def test_info_describes_checkpoints_and_says_what_is_damaged(
    labels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = labels.parent / "kept"
    assert main(["aggregate", str(labels), "-m", "ds", "--checkpoint", str(folder), "-q"]) == 0
    path = folder / "checkpoint.seqtruth"
    capsys.readouterr()
    assert main(["info", str(path)]) == 0
    assert "checkpoint" in capsys.readouterr().out
    path.write_bytes(path.read_bytes()[:200])
    assert main(["info", str(path)]) == 2
    said = capsys.readouterr().err
    assert "no saved result, tagger or checkpoint" in said


def test_more_folds_than_anybody_wants_are_refused(
    labels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for method in ("aggslc", "accord"):
        assert main(["aggregate", str(labels), "-m", f"{method}:folds=100000"]) == 2
        assert "folds must be from 2 to 100" in capsys.readouterr().err
