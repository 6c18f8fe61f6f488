"""``seqtruth aggregate --engine``: the same labels, and plain words where something cannot be had."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import seqtruth as st
from seqtruth.cli import main
from seqtruth.io.longtable import scan
from seqtruth.testing import small_crowd
from tests.engine.specs import EVERYWHERE


@pytest.fixture
def table(tmp_path: Path) -> Path:
    st.write(small_crowd(), tmp_path / "crowd.parquet")
    return tmp_path / "crowd.parquet"


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_most_methods_run_everywhere() -> None:
    names = {spec.partition(":")[0] for spec in EVERYWHERE}
    bayes = {"ds", "hmm-crowd", "bsc-seq", "bsc-seq-if", "bsc-cm", "bsc-cv", "bsc-spam", "bsc-acc"}
    assert names == bayes | {"mv", "crh", "catd", "aggslc", "optsla", "accord"}


@pytest.mark.parametrize("method", EVERYWHERE)
@pytest.mark.filterwarnings("ignore::seqtruth.errors.ConvergenceWarning")
def test_streamed_labels_are_those_made_in_memory(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(scan, "PART_ROWS", 200)
    whole, streamed = table.with_name("whole.parquet"), table.with_name("streamed.parquet")
    assert run("aggregate", table, "-m", method, "-o", whole, "-q") == 0
    code = run("aggregate", table, "-m", method, "-o", streamed, "--engine", "stream", "--json")
    assert code == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["sentences"] == 40 and summary["written"] == [str(streamed)]
    one, other = pq.read_table(whole), pq.read_table(streamed)
    assert one.column_names == other.column_names
    for name in one.column_names:
        if name == "confidence":
            np.testing.assert_allclose(one[name], other[name], rtol=1e-5)
        else:
            assert one[name].to_pylist() == other[name].to_pylist()


def test_a_tagger_from_a_streamed_table(tmp_path: Path) -> None:
    table, tagger = tmp_path / "crowd.parquet", tmp_path / "tagger.seqtruth"
    st.write(st.datasets.load("demo").crowd, table)
    code = run(
        "aggregate", table, "-m", "aggslc:predictor=crf;max_iter=3;tol=0.01", "-o",
        tmp_path / "truth.parquet", "--engine", "stream", "--tagger", tagger, "-q",
    )  # fmt: skip
    assert code == 0
    assert st.Tagger.load(tagger).tag(["Marta", "Lindqvist", "flew", "to", "Oslo", "."])[-1] == "O"
    demo = st.datasets.load("demo")
    with_tagger = st.evaluate(tmp_path / "truth.parquet", demo.gold).f1
    assert with_tagger > st.evaluate(st.AggSLC(predictor=None).fit(demo.crowd), demo.gold).f1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--engine", "cloud"], "--engine must be one of memory, stream, spark"),
        (["--engine", "stream", "--report", "r.html"], "--report needs the whole crowd in memory"),
        (["--engine", "stream", "--abstain", "O"], "--abstain needs the whole crowd in memory"),
        (["--engine", "stream", "-m", "mace"], "needs all of it in memory"),
        (["--engine", "stream", "-m", "optsla"], "set prediction to cross-fit"),
        (["--engine", "stream", "-m", "hmm-crowd"], "set text_features=False"),
        (["--engine", "stream", "-m", "mv", "-o", "truth.conll"], "written as Parquet"),
    ],
)
def test_what_cannot_be_had(
    table: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    more: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(table.parent)
    before = sorted(table.parent.iterdir())
    assert run("aggregate", table, "-o", "truth.parquet", *more) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert sorted(table.parent.iterdir()) == before
