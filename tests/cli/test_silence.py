"""What was found about silence is said everywhere a person or a program looks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import seqtruth as st
from seqtruth.cli import main
from seqtruth.datasets import demo
from seqtruth.simulation import simulate_rules

SAID = "8 sources are silent where they have nothing to say: their O is not counted as a vote"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    st.write(simulate_rules(demo.load().gold[:120], 2), tmp_path / "rules.parquet")
    return tmp_path


def summary(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    assert main(["aggregate", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("method", ["mv", "ds", "accord:predictor=none"])
def test_it_is_said_in_json_result_and_report(rules: Path, capsys, method: str) -> None:
    out = rules / "r.seqtruth", rules / "r.html"
    found = summary(
        capsys, rules / "rules.parquet", "-m", method, "--save", out[0], "--report", out[1],
        "-o", rules / "labels.conll",
    )  # fmt: skip
    assert SAID in found["warnings"]
    kept = st.Result.load(out[0])
    assert SAID in kept.warnings and SAID in out[1].read_text()
    assert kept.provenance["parameters"]["abstain"] == "auto"


def test_streams_decide_the_same(rules: Path, capsys) -> None:
    tags = []
    for engine in ("memory", "stream"):
        out = rules / f"{engine}.parquet"
        found = summary(capsys, rules / "rules.parquet", "-m", "ds", "--engine", engine, "-o", out)
        assert SAID in found["warnings"]
        assert set(found["silence"]["silent"]) == set(st.read(rules / "rules.parquet").annotators)
        tags.append(st.read(out).tags)
    np.testing.assert_array_equal(*tags)


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_none_counts_every_o(rules: Path, capsys, engine: str) -> None:
    found = summary(
        capsys, rules / "rules.parquet", "-m", "mv", "--abstain", "none", "--engine", engine,
        "-o", rules / "none.parquet",
    )  # fmt: skip
    assert found["warnings"] == [] and "silence" not in found
    crowd = st.read(rules / "rules.parquet")
    back = st.read(rules / "none.parquet")
    written = [back.scheme.labels[tag] for tag in back.tags]
    for word in ("none", None):
        result = st.MajorityVote(abstain=word).fit(crowd)
        assert [result.scheme.labels[tag] for tag in result.tags] == written
