"""The commands that bring tools' files in and out."""

from __future__ import annotations

import csv
import io as streams
import json
import sys
from pathlib import Path

import pytest

import seqtruth
from seqtruth import io
from seqtruth.cli import main
from seqtruth.errors import DataError, DataWarning, InputError

TEXT = "Ada met Zoë in Ames. They left."


@pytest.fixture
def export(tmp_path: Path) -> Path:
    def annotation(who: str, *spans: tuple[int, int, str]) -> dict[str, object]:
        result = [
            {
                "from_name": "l",
                "to_name": "t",
                "type": "labels",
                "value": {"start": a, "end": b, "labels": [c]},
            }
            for a, b, c in spans
        ]
        return {"completed_by": {"email": who}, "result": result}

    good = ((0, 3, "PER"), (8, 11, "PER"), (15, 19, "LOC"))
    annotations = [
        annotation("ann", *good),
        annotation("bob", *good),
        annotation("eve", (0, 3, "LOC")),
    ]
    task = {
        "id": 3,
        "data": {"text": TEXT, "more": "kept"},
        "annotations": annotations,
        "predictions": [],
    }
    path = tmp_path / "export.json"
    path.write_text(json.dumps([task]))
    return path


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_an_export_to_labels_and_back_with_one_command(export: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.json"
    assert run("aggregate", export, "-o", out, "--to", "label-studio", "-m", "mv", "-q") == 0
    (task,) = json.loads(out.read_text())
    assert (task["id"], task["data"]) == (3, {"text": TEXT, "more": "kept"})
    (prediction,) = task["predictions"]
    assert prediction["model_version"] == "seqtruth-mv"
    found = [
        (r["value"]["start"], r["value"]["end"], r["value"]["labels"][0])
        for r in prediction["result"]
    ]
    assert found == [(0, 3, "PER"), (8, 11, "PER"), (15, 19, "LOC")]
    assert all(0 < r["score"] <= 1 for r in prediction["result"])


def test_one_tool_to_another_and_to_our_own(export: Path, tmp_path: Path) -> None:
    assert run("convert", export, tmp_path / "b", "--to", "brat") == 0
    assert (tmp_path / "b" / "ann" / "3.ann").read_text().count("\n") == 3
    assert run("convert", tmp_path / "b", tmp_path / "c.jsonl", "--split", "none") == 0
    crowd = io.read(tmp_path / "c.jsonl")
    assert crowd.annotators == ("ann", "bob", "eve") and crowd.corpus.sentence_ids.to_pylist() == [
        "3"
    ]
    assert run("convert", tmp_path / "c.jsonl", tmp_path / "d.json", "--to", "doccano") in (0, 2)
    assert run("convert", export) == 2
    assert run("convert", export, export) == 2


def test_options_of_reading(export: Path, tmp_path: Path) -> None:
    io.convert(export, tmp_path / "lines.jsonl", read_options={"split": "sentences"})
    assert len((tmp_path / "lines.jsonl").read_text().splitlines()) == 2
    assert run("convert", export, tmp_path / "x.jsonl", "--read", "control=other") in (0, 2)
    assert run("convert", export, tmp_path / "x.jsonl", "--read", "wish=1") == 2


def test_several_files_patterns_and_standard_input(
    export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = json.loads(export.read_text())
    parts = []
    for n, annotation in enumerate(tasks[0]["annotations"]):
        parts.append(tmp_path / f"part{n}.json")
        parts[-1].write_text(json.dumps([tasks[0] | {"annotations": [annotation]}]))
    whole = io.read(export)
    for source in (parts, str(tmp_path / "part*.json")):
        assert io.read(source).digest() == whole.digest()
    monkeypatch.setattr(
        sys, "stdin", type("Input", (), {"buffer": streams.BytesIO(export.read_bytes())})
    )
    assert io.read("-").digest() == whole.digest()
    with pytest.raises(InputError, match="no file fits the pattern"):
        io.read(str(tmp_path / "no*.json"))


def test_a_folder_of_parquet_is_one_table(tmp_path: Path) -> None:
    crowd = io.read(_tables(tmp_path))
    assert (crowd.n_sentences, crowd.annotators) == (2, ("ann", "bob"))


def _tables(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    for n, who in enumerate(["ann", "bob"]):
        crowd = st_crowd(who, n)
        io.write(crowd, folder / f"part-{n}.parquet")
    return folder


def st_crowd(who: str, n: int) -> object:
    from seqtruth import Crowd

    return Crowd.of({who: [["B-PER", "O"]]}, [["Ada", "ran"]], ids=[f"s{n}"])


def test_faults_name_the_tool(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(
        '[{"id": 1, "data": {"text": "a"}, "annotations": [{"result": 3}], "predictions": []}]'
    )
    with pytest.raises(InputError, match="Label Studio"):
        io.read(path)


def test_layers_come_back_where_a_format_has_none(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    spans = '[{"start": 0, "end": 3, "label": "A"}, {"start": 0, "end": 7, "label": "B"}]'
    path.write_text('{"id": "s", "text": "Ada ran", "annotations": {"w": ' + spans + "}}\n")
    with pytest.warns(DataWarning, match="put on 2 layers"):
        crowd = io.read(path)
    io.write(crowd, tmp_path / "a.conll")
    assert io.read(tmp_path / "a.conll").corpus.layers == crowd.corpus.layers


@pytest.mark.filterwarnings("ignore::seqtruth.errors.DataWarning")
def test_safe_cells_wherever_cells_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels, made crowds, tagged text, queues and plans: no cell that a spreadsheet would run."""
    path, gold = tmp_path / "in.jsonl", tmp_path / "gold.jsonl"
    words = ["=1+1", "ran", "to", "Rome"]
    tags = ["B-X", "O", "O", "B-Y"]
    lines, truth = [], []
    for n in range(12):
        record = {"id": f"=s{n}", "tokens": words}
        said = {"a": tags, "b": tags, "c": ["O"] * 4} if n % 2 else {"a": tags, "c": tags}
        lines.append(json.dumps({**record, "annotations": said}))
        truth.append(json.dumps({**record, "annotations": {"gold": tags}}))
    path.write_text("\n".join(lines))
    gold.write_text("\n".join(truth))
    saved, tagger = tmp_path / "r.seqtruth", tmp_path / "t.seqtruth"
    made = [tmp_path / f"{n}.csv" for n in range(6)]
    more, wide = ("--save", saved, "--tagger", tagger), ("-m", "mv", "--to", "wide-table")
    assert run("aggregate", path, "-o", made[0], "--safe-cells", "-q", *more) == 0
    assert run("aggregate", path, "-o", made[1], "--safe-cells", "-q", *wide) == 0
    assert run("simulate", gold, "-o", made[2], "--safe-cells") == 0
    assert run("tag", tagger, gold, "-o", made[3], "--safe-cells") == 0
    assert run("triage", saved, "-o", made[4]) == 0
    assert run("aggregate", path, "-m", "ds", "-q", "--save", saved) == 0
    assert run("next", saved, "-o", made[5]) == 0
    for file in made:
        with file.open(newline="") as lines_:
            cells = [cell for row in csv.reader(lines_) for cell in row]
        assert any("=s" in cell for cell in cells), file
        assert not [cell for cell in cells if cell[:1] in ("=", "+", "@")], file
    capsys.readouterr()
    assert run("aggregate", path, "-o", tmp_path / "x.conll", "--safe-cells", "-m", "mv") == 2
    assert "--safe-cells is not for conll; it is for csv, tsv" in capsys.readouterr().err


def test_the_tagger_marks_all_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """University of Rome: an organisation, and in it a place."""
    path, model, text = tmp_path / "in.jsonl", tmp_path / "tagger.seqtruth", tmp_path / "new.txt"
    spans = [{"start": 0, "end": 18, "label": "ORG"}, {"start": 14, "end": 18, "label": "LOC"}]
    record = {"text": "University of Rome opened", "annotations": {"a": spans, "b": spans}}
    path.write_text("".join(json.dumps({"id": n, **record}) + "\n" for n in range(8)))
    result = seqtruth.aggregate(io.read(path), "accord:predictor=crf")
    result.tagger.save(model)
    text.write_text("University of Rome opened\n")
    assert main(["tag", str(model), str(text), "-o", str(tmp_path / "out.jsonl")]) == 0
    marks = json.loads((tmp_path / "out.jsonl").read_text())["annotations"]["tagger"]
    found = sorted((mark["start"], mark["end"], mark["label"]) for mark in marks)
    assert found == [(0, 18, "ORG"), (14, 18, "LOC")]
    capsys.readouterr()
    assert main(["info", str(model), "--json"]) == 0
    (further,) = json.loads(capsys.readouterr().out)["layers"]
    assert set(further) in ({"O", "B-LOC", "I-LOC"}, {"O", "B-ORG", "I-ORG"})
    with pytest.raises(DataError, match="makes them itself"):
        result.tagger.label(result.corpus)


def test_from_tool_to_tool_roles_and_overlaps_are_as_asked(tmp_path: Path) -> None:
    def result(end: int, label: str) -> dict[str, object]:
        value = {"start": 0, "end": end, "labels": [label]}
        return {"from_name": "l", "to_name": "t", "type": "labels", "value": value}

    marked = {"completed_by": 1, "result": [result(4, "PER"), result(8, "S")]}
    predicted = {"model_version": "m", "result": [result(4, "PER")]}
    task = {
        "id": 1,
        "data": {"text": "Jane ran."},
        "annotations": [marked],
        "predictions": [predicted],
    }
    source = tmp_path / "in.json"
    source.write_text(json.dumps([task]))
    io.convert(source, tmp_path / "models", to="brat", read_options={"roles": "model"})
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["m"]
    io.convert(source, tmp_path / "longest", to="brat", read_options={"overlap": "longest"})
    assert (tmp_path / "longest/1/1.ann").read_text() == "T1\tS 0 8\tJane ran\n"
    with pytest.raises(InputError, match="overlap"):
        io.convert(source, tmp_path / "error", to="brat", read_options={"overlap": "error"})
