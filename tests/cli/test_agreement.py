"""``seqtruth agreement`` and ``st.agreement``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import seqtruth as st
from seqtruth.cli import main
from seqtruth.inter_annotator import silent_on


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("agreement") / "crowd.conll"
    st.write(st.datasets.load("demo").crowd, path)
    return path


def test_tables(crowd: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["agreement", str(crowd), "--resamples", "20", "-q"]) == 0
    text = capsys.readouterr().out
    for words in ("Krippendorff's alpha_U", "Gwet's AC1", "by type", "by pair", "by document"):
        assert words in text
    out = tmp_path / "table.tex"
    assert main(["agreement", str(crowd), "--latex", "-o", str(out), "--resamples", "0", "-q"]) == 0
    assert r"\begin{tabular}" in out.read_text()
    assert main(["agreement", str(crowd), "--latex", "--json"]) == 2


def test_json_is_what_python_has(crowd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agreement", str(crowd), "--json", "--resamples", "20", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == st.agreement(crowd, n_resamples=20).to_dict()
    assert len(told["pairs"]) == 45 and told["overall"]["alpha"]["low"] < 0.4


def test_whose_outside_counts() -> None:
    """Rules that each know other names: their O is silence, found or said."""
    rules = {
        w: [["B-X" if (i + n) % 3 else "O" for i in range(6)]] * 9 for n, w in enumerate("abc")
    }
    crowd = st.Crowd.of(rules, [list("uvwxyz")] * 9)
    heard = st.agreement(crowd, abstain=None, n_resamples=0)
    found = st.agreement(crowd, n_resamples=0)
    told = st.agreement(crowd, abstain="O", n_resamples=0)
    assert silent_on(crowd) is not None
    assert heard.span_f1 == 0.5 and heard.silent == ()
    assert found.span_f1 == told.span_f1 == 1.0 and found.silent == ("a", "b", "c")
    assert np.isnan(found.alpha_u)


def test_people_are_not_silent() -> None:
    assert silent_on(st.datasets.load("demo").crowd) is None


def test_gamma_needs_its_package(crowd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the package, gamma lies between 0 and 1 on the demo; without, the extra is named."""
    code = main(["agreement", str(crowd), "--gamma", "2", "--resamples", "0", "-q"])
    shown = capsys.readouterr()
    assert (code, "seqtruth[gamma]" in shown.err) == (2, True) or "gamma (spans)" in shown.out
