"""The table of methods: figures, types, text, Markdown, LaTeX, frames."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import seqtruth as st
from seqtruth.cli import main
from seqtruth.errors import ParameterError
from seqtruth.testing import small_crowd


@pytest.fixture(scope="module")
def table() -> st.comparison.MethodComparison:
    return st.compare(small_crowd(), small_crowd().select_annotators(["w0"]), ["mv", st.DawidSkene])


def test_figures(table) -> None:
    assert [row.method for row in table] == ["mv", "ds"] and len(table) == 2
    gold = small_crowd().select_annotators(["w0"])
    whole = st.evaluate(st.MajorityVote().fit(small_crowd()), gold)
    assert table["mv"].f1 == whole.f1 and table["mv"].precision == whole.precision
    assert table["mv"].per_type["PER"]["f1"] == whole.per_type["PER"].f1
    assert table["mv"].per_type["PER"]["gold"] == whole.per_type["PER"].gold
    with pytest.raises(KeyError):
        table["magic"]


def test_seeds_have_a_spread_and_settings_go_to_all() -> None:
    data = st.datasets.load("demo")
    found = st.compare(data, methods="mv:ties=random", seeds=2, abstain=None)
    assert found.name == "demo" and found["mv:ties=random"].f1_spread is not None
    assert "±" in str(found) and "2 seeds" in str(found)


def test_as_text(table) -> None:
    text = str(table)
    assert text.splitlines()[1].split() == ["method", "precision", "recall", "F1", "seconds"]
    assert "F1 by type, %" in text and "LOC" in text


def test_as_markdown_latex_and_html(table) -> None:
    assert "| method | precision | recall | F1 | seconds |" in table.to_markdown()
    latex = table.to_latex()
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") == 2
    assert r"\textbf{" in latex and r"\%" in latex and "·" not in latex
    assert table._repr_html_().count("<table>") == 2


def test_as_frames(table) -> None:
    assert table.to_frame(library="pandas")["f1"].tolist() == [row.f1 for row in table]
    types = table.to_frame("types").to_pylist()
    assert {row["type"] for row in types} >= {"LOC", "PER"}
    with pytest.raises(ParameterError, match="methods, types"):
        table.to_frame("words")
    assert json.loads(json.dumps(table.to_dicts()))[0]["method"] == "mv"


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ParameterError, match="give gold="):
        st.compare(small_crowd(), methods=["mv"])
    with pytest.raises(ParameterError, match="no method named"):
        st.compare(small_crowd(), small_crowd(), methods=[])
    with pytest.raises(ParameterError, match="unknown method"):
        st.compare(small_crowd(), small_crowd(), methods=["mv", "magic"])


@pytest.mark.parametrize(
    ("format", "word"), [("markdown", "|---|---:|"), ("latex", r"\toprule"), ("json", '"per_type"')]
)
def test_the_command_prints_them(
    format: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--dataset", "demo", "-m", "mv,ds", "--format", format, "-q"]) == 0
    assert word in capsys.readouterr().out


def test_the_command_knows_no_other(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["compare", "--dataset", "demo", "-m", "mv", "--format", "excel"]) == 2
    assert "text, markdown, latex, json" in capsys.readouterr().err
