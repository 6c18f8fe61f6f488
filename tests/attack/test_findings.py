"""What the first attack found and no other file tests; ``README.md`` says where each finding is tested."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqtruth as st
from seqtruth import io
from seqtruth.cli import aggregate, display, main
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.errors import InputError, SeqTruthError
from seqtruth.methods import DawidSkene, loop
from tests.attack import archives, places
from tests.attack.kills import processor_seconds

HERE = Path(__file__).parent
#: Processor seconds; what was quadratic took 39 to 123.
SOON = 10.0


def test_every_finding_has_a_test_that_exists() -> None:
    """The table in the README beside this file, against the tests."""
    rows = re.findall(r"^\| (F\d+) \|.*\|$", (HERE / "README.md").read_text(), re.MULTILINE)
    assert [f"F{n}" for n in range(1, 23)] == [row for row in rows if rows.count(row) == 1]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (HERE / "README.md").read_text())
    assert len(named) > 30
    for file, name in named:
        tree = ast.parse((HERE.parents[1] / file).read_text())
        names = {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
        assert name in names, f"{file} has no {name}"


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved tagger."""
    path = tmp_path_factory.mktemp("saved") / "tagger.seqtruth"
    gold = st.datasets.load("demo").gold[:20]
    model = st.predictors.CRF(max_iter=3).fit(gold.corpus, gold.tags, scheme=gold.scheme)
    st.Tagger(model, gold.scheme).save(path)
    return path


def test_a_tagger_of_more_labels_than_it_was_taught_is_refused(
    tagger: Path, tmp_path: Path
) -> None:
    """F1: 101 labels on scores of 9 gave wrong tags, exit 0."""
    content = archives.members(tagger)
    meta = json.loads(content["meta.json"])
    meta["labels"] = [*meta["labels"], *(f"B-T{n}" for n in range(92))]
    content["meta.json"] = json.dumps(meta).encode()
    with pytest.raises(SeqTruthError, match="damaged"):
        st.Tagger.load(archives.pack(content, tmp_path / "tagger"))


def test_without_home_and_cache_everything_runs(tmp_path: Path) -> None:
    """F2."""
    assert places.no_home(tmp_path) == []


def test_a_tagger_forges_no_sentence(
    tagger: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """F4, for ``tag``."""
    crowd = Crowd.of({"ann": [["O", "O"]]}, tokens=[["a\n\nb", "c"]])
    io.write(crowd, tmp_path / "in.jsonl")
    assert main(["tag", str(tagger), str(tmp_path / "in.jsonl")]) == 2
    said = capsysbinary.readouterr()
    assert said.out == b"" and b"cannot be written in CoNLL" in said.err


def test_another_version_does_not_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F5: the fingerprint lacked the version."""
    crowd, method = st.datasets.load("demo").crowd[:9], DawidSkene(max_iter=3, tol=0.0)
    with pytest.warns(st.errors.ConvergenceWarning):
        method.fit(crowd, checkpoint=tmp_path)
    monkeypatch.setattr(loop, "__version__", "99.0")
    with pytest.raises(InputError, match="another run"):
        method.fit(crowd, checkpoint=tmp_path, resume=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"tokens": ["a"], "tags": {' + ", ".join(['"x": ["O"]'] * 150_000) + "}}\n"),
        ("a.json", "[{" + ", ".join(['"x": 1'] * 300_000) + "}]"),
        ("a.conll", "# token" + " a" * 200_000 + "\nx O\n"),
        ("a.conll", "# a" + " " * 200_000 + "b\nx O\n"),
        ("a.conll", "# a" + " " * 200_000 + "\nx O\n"),
    ],
    ids=["keys of a line", "keys of an object", "columns", "blanks", "blanks at the end"],
)
def test_reading_takes_time_in_proportion(name: str, text: str, tmp_path: Path) -> None:
    """F8: 1.5 MB of one key took more than 120 s, a line of blanks 39."""
    (tmp_path / name).write_text(text)
    began = time.process_time()
    try:
        io.read(tmp_path / name)
    except SeqTruthError as error:
        assert name in str(error)
    assert time.process_time() - began < SOON


def test_lines_may_end_as_they_did_on_old_macs(tmp_path: Path) -> None:
    """F11: it was read as one token by many annotators."""
    (tmp_path / "a.conll").write_bytes(b"a O\rb B-X\r\rc O\r")
    crowd = io.read(tmp_path / "a.conll")
    assert (crowd.n_sentences, crowd.n_tokens, crowd.n_annotators) == (2, 3, 1)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_ctrl_c_ends_a_network_soon(tmp_path: Path) -> None:
    """F17: it took 9 to 13 s. Counted is the processor time after the signal, and the exit is clean."""
    io.write(st.datasets.load("demo").crowd, tmp_path / "in.conll")
    out = tmp_path / "out.conll"
    line = [sys.executable, "-m", "seqtruth", "aggregate", str(tmp_path / "in.conll")]
    run = subprocess.Popen(
        [*line, "-m", "accord:predictor=bilstm", "-o", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=places._hears_interrupts,
    )
    while run.poll() is None and processor_seconds(run.pid) < 8.0:  # the networks are at work
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    before = used = processor_seconds(run.pid)
    while run.poll() is None:
        used = max(used, processor_seconds(run.pid))
        time.sleep(0.005)
    assert run.stderr is not None
    said = run.stderr.read()
    assert run.returncode == 130 and b"Traceback" not in said and not out.exists(), said[-500:]
    assert used - before < 3.0


@pytest.mark.slow
def test_a_hundred_thousand_annotators_are_described_soon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """F21: ``info`` took 123 s."""
    n = 100_000
    corpus = Corpus.of([["a", "b"]] * (n // 5))
    rows = np.arange(n)
    tags = np.random.default_rng(0).integers(0, 3, 2 * n)
    names = [f"w{number}" for number in range(n)]
    crowd = Crowd.build(corpus, ["O", "B-X", "I-X"], names, rows // 5, rows, tags, "iob2")
    io.write(crowd, tmp_path / "many.parquet")
    began = time.process_time()
    assert main(["info", str(tmp_path / "many.parquet")]) == 0
    assert time.process_time() - began < 2 * SOON
    assert re.search(r"annotators +100000\n", capsys.readouterr().out)


def test_reading_shows_that_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """F21: a large file was read in silence."""
    opened = aggregate._open

    def slow(*given: Any) -> Any:
        time.sleep(0.5)
        return opened(*given)

    io.write(st.datasets.load("demo").crowd[:2], tmp_path / "a.conll")
    monkeypatch.setattr(aggregate, "_open", slow)
    monkeypatch.setattr(display, "PATIENCE", 0.05)
    assert main(["aggregate", str(tmp_path / "a.conll"), "-m", "mv"]) == 0
    assert "reading" in capsys.readouterr().err


def test_cells_that_a_spreadsheet_would_run_are_disarmed(tmp_path: Path) -> None:
    """F22."""
    crowd = Crowd.of({"=cmd()": [["O", "O"]]}, tokens=[["=1+2", "@x"]])
    io.write(crowd, tmp_path / "a.jsonl")
    target = tmp_path / "a.csv"
    assert main(["convert", str(tmp_path / "a.jsonl"), str(target), "--safe-cells"]) == 0
    cells = [cell for row in target.read_text().splitlines() for cell in row.split(",")]
    assert "'=1+2" in cells and not [cell for cell in cells if cell[:1] in "=+-@" and cell]
