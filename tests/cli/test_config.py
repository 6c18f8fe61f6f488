"""Settings by -s and by a file: the command line wins, and the file stands in the provenance."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import seqtruth as st
from seqtruth.cli import main
from seqtruth.testing import small_crowd


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    st.write(small_crowd(), tmp_path / "crowd.conll")
    st.write(small_crowd().select_annotators(["w0"]), tmp_path / "gold.conll")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def parameters(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)


def test_settings_need_no_quotes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ("aggregate", "crowd.conll", "-o", "t.conll", "--json")
    assert run(*common, "-m", "aggslc:folds=2", "-s", "predictor=none", "-s", "folds=3") == 0
    found = parameters(capsys)["parameters"]
    assert found["folds"] == 3 and found["predictor"] is None
    assert run(*common, "-m", "aggslc", "-s", "folds") == 2
    assert "folds needs a value" in capsys.readouterr().err
    assert run(*common, "-m", "aggslc", "-s", "colour=red") == 2
    assert "no setting 'colour'" in capsys.readouterr().err


def test_a_whole_job_from_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.toml").write_text(
        'annotations = "crowd.conll"\nmethod = "aggslc"\noutput = "t.conll"\nseed = 3\njson = true\n'
        'save = "r"\n[settings]\npredictor = "none"\nfolds = 4\nreliability = {w0 = 0.9}\n'
    )
    assert run("aggregate", "--config", "run.toml") == 0
    found = parameters(capsys)
    assert found["seed"] == 3 and found["parameters"]["folds"] == 4 and found["method"] == "aggslc"
    assert found["config"]["settings"]["reliability"] == {"w0": 0.9}
    assert (folder / "t.conll").exists()
    assert st.Result.load(folder / "r").provenance["config"]["method"] == "aggslc"
    # what is said on the command line wins
    assert (
        run("aggregate", "--config", "run.toml", "--seed", 5, "-s", "folds=2", "-m", "optsla") == 0
    )
    found = parameters(capsys)
    assert (found["seed"], found["parameters"]["folds"], found["method"]) == (5, 2, "optsla")


def test_compare_from_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.toml").write_text('annotations = ["crowd.conll"]\ngold = "gold.conll"\n')
    assert run("compare", "--config", "run.toml", "-m", "mv", "--format", "markdown") == 0
    assert "| mv |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour = 1", "no such option; got 'colour'"),
        ("method = ", "not TOML"),
        ("settings = 3", "settings must be a table"),
        ("seed = 'x'", "seed"),
        ("[settings]\nmax_iter = true", "max_iter"),
    ],
)
def test_faults_are_named(
    folder: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "run.toml").write_text(text)
    assert run("aggregate", "crowd.conll", "--config", "run.toml", "-m", "ds") == 2
    assert message in capsys.readouterr().err
    assert run("aggregate", "crowd.conll", "--config", "missing.toml") == 2
    assert "missing.toml" in capsys.readouterr().err


def test_known_is_another_word_for_gold(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("aggregate", "crowd.conll", "-m", "ds", "--gold", "gold.conll", "-o", "t.conll") == 0
    assert (
        run("aggregate", "crowd.conll", "-m", "ds", "--known", "gold.conll", "-o", "u.conll") == 0
    )
    assert (folder / "t.conll").read_bytes() == (folder / "u.conll").read_bytes()


def test_a_report_of_a_saved_result(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(
        "aggregate", "crowd.conll", "-m", "ds", "-o", "t.conll", "--save", "r", "--report", "a.html"
    )
    assert run("report", "r", "-o", "b.html") == 0
    shown = [
        (folder / name).read_text().partition('id="data">')[2].partition("</script>")[0]
        for name in ("a.html", "b.html")
    ]
    assert "w4" in shown[0] and shown[0] == shown[1]
    assert run("report", "r", "-o", "c.html", "--gold", "gold.conll") == 0
    assert "F1 against gold" in (folder / "c.html").read_text()


def test_time_stamps_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ("aggregate", "crowd.conll", "-m", "mv", "-o", "t.conll")
    assert run("--timestamps", *common) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* ", line) for line in lines)
    assert run(*common) == 0
    assert not capsys.readouterr().err.startswith("20")


def test_the_main_commands_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    run("--help")
    page = capsys.readouterr().out
    names = ("aggregate", "compare", "evaluate", "report", "info", "tag", "datasets", "reproduce")
    places = [page.index(f" {name} ") for name in names]
    assert places == sorted(places)


def test_threads_must_be_a_number(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQTRUTH_THREADS", "abc")
    assert run("info") == 2
    assert "SEQTRUTH_THREADS must be a whole number; got 'abc'" in capsys.readouterr().err


def test_info_has_plain_keys_and_lists(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (("info", "crowd.conll", "--json"), ("info", "--json")):
        assert run(*arguments) == 0
        facts = json.loads(capsys.readouterr().out)
        assert all(key.isidentifier() for key in facts)
    assert isinstance(facts["methods"], list) and isinstance(facts["extras"], list)
    assert run("info", "crowd.conll", "--json") == 0
    assert json.loads(capsys.readouterr().out)["labels"] == list(small_crowd().scheme.labels)
