"""The command line as a user meets it: output, exit codes, nothing half-written."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import seqtruth as st
from seqtruth.cli import main
from seqtruth.testing import small_crowd

FAST = "aggslc:predictor=none"


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
    from_result = json.loads(capsys.readouterr().out)
    assert from_result["f1"] == from_labels["f1"] > 0.9
    assert from_labels["calibration"] is None
    saved, gold = st.Result.load(files / "r"), st.read(files / "gold.conll")
    assert from_result["calibration"]["span"]["ece"] == pytest.approx(
        st.evaluate(saved, gold).calibration.span.ece
    )
    assert run("evaluate", files / "t.conll", files / "gold.conll") == 0
    printed = capsys.readouterr().out
    assert "precision" in printed and "calibration" not in printed
    assert run("evaluate", files / "r", files / "gold.conll") == 0
    assert capsys.readouterr().out == f"{st.evaluate(saved, gold)}\n"


def test_compare_prints_one_object_a_method(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [files / "crowd.conll", "--gold", files / "gold.conll", "-m", f"mv,ds,{FAST}"]
    assert run("compare", *arguments, "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["method"] for row in rows] == ["mv", "ds", FAST]
    assert {"precision", "recall", "f1", "strict", "seconds"} <= set(rows[0])
    assert set(rows[0]["calibration_error"]) == {"token", "span", "sentence"}
    assert rows[0]["calibration_error"]["sentence"] is None  # the margin is no probability
    assert rows[0]["f1_of_surest"]["1"] == pytest.approx(rows[0]["f1"])
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
    assert st.read(files / "sim.jsonl").n_annotators > 3


def test_info(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("info", files / "crowd.conll", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["annotators"] == 5 and facts["scheme"] == "iob2"
    assert run("info") == 0
    assert "methods" in capsys.readouterr().out


def test_info_takes_several_files_and_the_reader_s_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for who in ("ann", "bob"):
        row = {"text": "Ada ran.", "spans": [[0, 3, "A"], [0, 7, "B"]]}
        (tmp_path / who).mkdir()
        (tmp_path / who / "labels.jsonl").write_text(json.dumps(row) + "\n")
    files = [tmp_path / who / "labels.jsonl" for who in ("ann", "bob")]
    assert run("info", *files, "--json", "--read", "unit=characters") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["format"] == "json" and facts["annotators"] == 2
    assert (facts["sentences"], facts["tokens"], facts["layers"]) == (1, 3, 2)


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
        (["compare", "--dataset", "ner"], "--data-dir"),
        (["compare", "{crowd}"], "--gold"),
        (["info", "{crowd}", "--from", "papyrus"], "papyrus"),
        (["evaluate", "{crowd}", "{crowd}"], "annotators"),
        (["tag", "{crowd}", "{crowd}"], "crowd.conll"),
        (["simulate", "{crowd}", "-o", "{dir}/x.conll"], "one label per token"),
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


def test_interrupted_exits_with_130(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(st.Crowd, "digest", stop)
    assert run("info", files / "crowd.conll") == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_comparison_shows_what_varies(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = (
        "compare",
        files / "crowd.conll",
        "--gold",
        files / "gold.conll",
        "-q",
        "-m",
        "mv:ties=random",
    )
    assert run(*common, "--strict", "conlleval,b-required", "--seeds", 2) == 0
    out = capsys.readouterr().out
    assert "read as" in out and "±" in out and "2 seeds" in out and "peak" not in out


def test_plain_tags_are_not_called_spans(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.conll").write_text("dogs N N\nbark V N\n")
    (tmp_path / "g.conll").write_text("dogs N\nbark V\n")
    assert run("compare", tmp_path / "c.conll", "--gold", tmp_path / "g.conll", "-m", "mv") == 0
    out = capsys.readouterr().out
    assert "tags, %" in out and "spans" not in out


def _strictly(text: str) -> object:
    def refuse(word: str) -> object:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_has_no_nan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody marks a span, so that no agreement is defined."""
    (tmp_path / "c.conll").write_text("a O O\nb O O\n")
    (tmp_path / "g.conll").write_text("a O\nb O\n")
    crowd, gold = tmp_path / "c.conll", tmp_path / "g.conll"
    for arguments in (
        ["info", crowd, "--scheme", "iob2"],
        ["aggregate", crowd, "-m", "mv", "--scheme", "iob2"],
        ["evaluate", gold, gold],
        ["compare", crowd, "--gold", gold, "-m", "mv", "-q"],
    ):
        assert run(*arguments, "--json") == 0
        assert _strictly(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "{dir}/folder"], ["--to"]),
        (["-o", "{dir}/folder", "--to", "conll"], ["folder"]),
        (["-o", "{dir}/full", "--to", "conll-folder"], ["empty"]),
        (["-o", "{dir}/x.conll", "--report", "{dir}/folder"], ["folder"]),
        (["-o", "{dir}/x.conll", "--save", "{dir}/folder"], ["folder"]),
        (["-o", "{dir}/x.conll", "--tagger", "{dir}/x.conll"], ["two outputs"]),
        (["-o", "{dir}/x.docx"], ["--to", "docx"]),
        (["-o", "{dir}/x.conll", "--to", "papyrus"], ["--to", "papyrus"]),
        (["--to", "jsonl"], ["--to", "--output"]),
        (["-o", "{dir}/x.conll", "--tagger", "{dir}/t"], ["--tagger", "mv"]),
        (["-o", "{dir}/x.conll", "--seed", "-1"], ["--seed"]),
    ],
)
def test_bad_outputs_are_refused_before_the_work(
    arguments: list[str], words: list[str], files: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def never(*_: object, **__: object) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr("seqtruth.methods.MajorityVote.fit", never)
    (files / "folder").mkdir()
    (files / "full").mkdir()
    (files / "full" / "a.conll").write_text("a O\n")
    before = sorted(files.rglob("*"))
    filled = [argument.format(dir=files) for argument in arguments]
    assert run("aggregate", files / "crowd.conll", "-m", "mv", *filled) == 2
    message = capsys.readouterr().err
    assert all(word in message for word in words), message
    assert sorted(files.rglob("*")) == before


@pytest.mark.parametrize("command", ["tag", "simulate"])
def test_other_outputs_are_refused_too(
    command: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = [files / "gold.conll"] * (2 if command == "tag" else 1)
    assert run(command, *inputs, "-o", files / "x.docx") == 2
    assert "--to" in capsys.readouterr().err
    assert run(command, *inputs, "-o", files, "--to", "jsonl") == 2
    assert "folder" in capsys.readouterr().err


def test_out_format_is_honoured(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ("aggregate", files / "crowd.conll", "-m", "mv", "-q")
    assert run(*common, "--to", "conll") == 0
    assert capsys.readouterr().out
    (files / "folder").mkdir()
    assert run(*common, "-o", files / "folder", "--to", "conll-folder") == 0
    assert st.read(files / "folder").n_sentences == 40


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("mv:ties", "ties needs a value: ties=…"),
        ("mv:ties=", "ties needs a value: ties=…"),
        ("aggslc:predictor=none,decoding=exact", "semicolons"),
        ("mace:variational=1", "true or false"),
        ("ds:max_iter=abc", "whole number"),
        ("ds:max_iter=1e3", "whole number"),
        ("ds:max_iter=inf", "whole number"),
        ("ds:max_iter=true", "whole number"),
        ("ds:tol=nan", "must be a number"),
        ("ds:tol=true", "must be a number"),
        ("ds:reliability=1", "Python"),
        ("mv:seed=-1", "negative"),
        ("crf-ma:predictor=none", "predictor=crf only"),
        ("accord:predictor=crf+magic", "unknown predictor"),
        ("accord:decoding=left", "decoding"),
        ("accord:evidence=0", "evidence"),
    ],
)
def test_wrong_settings_are_named(
    spec: str, word: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("aggregate", files / "crowd.conll", "-m", spec) == 2
    assert word in capsys.readouterr().err
    assert run("compare", files / "crowd.conll", "--gold", files / "gold.conll", "-m", spec) == 2
    assert word in capsys.readouterr().err


def test_settings_have_the_type_of_their_field() -> None:
    from seqtruth.methods import make_method

    made = make_method("aggslc:predictor=none;class_weights=inverse;tol=0;folds=3", seed=4)
    assert isinstance(made, st.AggSLC) and made.class_weights == "inverse" and made.tol == 0.0
    assert made.folds == 3 and made.seed == 4 and made.predictor is None
    again = make_method("aggslc:predictor=none;class_weights=3", seed=4)
    assert isinstance(again, st.AggSLC) and again.class_weights == 3.0


def test_accord_is_the_default(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ("aggregate", files / "crowd.conll", "--json", "-q", "-o")
    given = ("-m", "accord:predictor=crf;documents=false;max_iter=1", "--save", files / "r")
    assert run(*common, files / "a.conll", *given) == 0
    assert json.loads(capsys.readouterr().out)["method"] == "accord"
    settings = st.Result.load(files / "r").provenance["parameters"]
    assert settings["documents"] is False and settings["max_iter"] == 1
    assert settings["predictor"].startswith("CRF(")
    st.write(small_crowd(n_sentences=6), files / "small.conll")
    assert run("aggregate", files / "small.conll", "--json", "-q", "-o", files / "b.conll") == 0
    assert json.loads(capsys.readouterr().out)["method"] == "accord"


def test_methods_get_their_usual_predictor(monkeypatch: pytest.MonkeyPatch) -> None:
    from seqtruth.methods import make_method
    from seqtruth.predictors import CRF, BiLSTM, Ensemble

    found = importlib.util.find_spec("json")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: found)
    best, mixed = make_method("accord", seed=3), make_method("accord:predictor=bilstm+crf", seed=3)
    for made, kinds in ((best, [CRF, BiLSTM]), (mixed, [BiLSTM, CRF])):
        assert isinstance(made, st.Accord) and made.seed == 3
        predictor = made.resolved(has_text=True).predictor
        assert isinstance(predictor, Ensemble)
        assert [type(member) for member in predictor.members] == kinds
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert isinstance(st.Accord().resolved(has_text=True).predictor, CRF)
    assert st.Accord().resolved(has_text=False).predictor is None
    assert isinstance(st.AggSLC().resolved(has_text=True).predictor, CRF)


@pytest.mark.parametrize(
    "spec", ["dl-cl", "lstm-crowd", "aggslc:predictor=bilstm", "accord:predictor=crf+bilstm"]
)
def test_missing_extra_is_found_before_anything_runs(
    spec: str, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    common = ("compare", files / "crowd.conll", "--gold", files / "gold.conll")
    assert run(*common, "-m", f"mv,{spec}", "--json") == 2
    captured = capsys.readouterr()
    assert captured.out == "" and "pip install 'seqtruth[torch]'" in captured.err


def test_files_and_a_data_set_exclude_each_other(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compare", "--dataset", "demo", files / "crowd.conll", "-m", "mv") == 2
    assert "not both" in capsys.readouterr().err
    assert run("compare", "--dataset", "demo", "--gold", files / "gold.conll", "-m", "mv") == 2
    assert "not both" in capsys.readouterr().err


def test_info_describes_a_tagger(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("aggregate", files / "crowd.conll", "-q", "-o", files / "t.conll", "--tagger", files / "m",
        "--save", files / "r", "-m", "aggslc:folds=2;max_iter=1")  # fmt: skip
    capsys.readouterr()
    assert run("info", files / "m", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["tagger"] == "crf" and facts["scheme"] == "iob2" and "B-LOC" in facts["labels"]
    assert run("info", files / "m") == 0
    assert "crf" in capsys.readouterr().out
    assert run("info", files / "r", "--json") == 0
    assert json.loads(capsys.readouterr().out)["tagger"] == "crf"
    (files / "cut").write_bytes((files / "m").read_bytes()[:200])
    assert run("info", files / "cut") == 2


def test_info_shows_who_copies(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    st.write(small_crowd(), files / "crowd.jsonl")
    records = [json.loads(line) for line in (files / "crowd.jsonl").read_text().splitlines()]
    for record in records:
        record["annotations"]["copy"] = record["annotations"].get("w3")
    (files / "copied.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    assert run("info", files / "copied.jsonl", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    each, pairs = facts["each_annotator"], facts["closest_pairs"]
    assert {row["annotator"] for row in each} == {*small_crowd().annotators, "copy"}
    assert sum(row["sentences"] for row in each) == facts["annotations"]
    assert {pairs[0]["first"], pairs[0]["second"]} == {"w3", "copy"} and pairs[0]["span_f1"] == 1
    assert [row["span_f1"] for row in pairs] == sorted((r["span_f1"] for r in pairs), reverse=True)
    assert run("info", files / "copied.jsonl") == 0
    out = capsys.readouterr().out
    assert "each annotator" in out and "closest pairs" in out


def test_an_empty_sentence_lacks_no_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crowd = st.Crowd.of({"a": [["O"], None, None], "b": [["B-X"], None, None]}, [["x"], [], ["y"]])
    st.write(crowd, tmp_path / "c.jsonl")
    assert run("info", tmp_path / "c.jsonl", "--json") == 0
    assert json.loads(capsys.readouterr().out)["unlabelled_sentences"] == 1
    assert run("aggregate", tmp_path / "c.jsonl", "-m", "mv", "--json") == 0
    assert json.loads(capsys.readouterr().out)["unlabelled"] == 1


def test_one_sentence_is_not_plural(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.conll").write_text("Ann B-PER B-PER\n")
    assert run("aggregate", tmp_path / "c.conll", "-m", "mv") == 0
    message = capsys.readouterr().err
    assert "1 sentence ·" in message and "1 span ·" in message and "2 annotators" in message


@pytest.mark.parametrize("command", ["aggregate", "compare", "simulate", "demo"])
def test_seeds_are_not_negative(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "--seed", -1) == 2
    assert "'--seed'" in capsys.readouterr().err
