"""The command line never destroys its input, and prints nothing that reads back as something else."""

from __future__ import annotations

from pathlib import Path

import pytest

import seqtruth as st
from seqtruth.cli import main
from seqtruth.data.crowd import Crowd
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
