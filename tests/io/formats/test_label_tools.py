"""Label Studio, Argilla and doccano: their own packages load what we write. Run by ``make test-tools``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seqtruth import io
from seqtruth.io.documents import Document, Mark, Notes, Opinion

pytestmark = pytest.mark.tools

TEXT = "Ada 😀 met Zoë in New York City."
DOCUMENTS = [
    Document(
        "1",
        TEXT,
        (
            Opinion(
                "bsc-seq", (Mark(0, 3, "PER", (), 0.9), Mark(10, 13, "PER")), "model", score=0.7
            ),
            Opinion("gpt", (Mark(17, 30, "LOC"), Mark(17, 25, "LOC")), "model"),
        ),
    ),
    Document("2", "Nobody was there.", (Opinion("bsc-seq", (), "model", score=1.0),)),
]  # fmt: skip
CONFIG = """<View><Labels name="label" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>
<Text name="text" value="$text"/></View>"""
PAGE = """<View><HyperTextLabels name="ner" toName="page"><Label value="PER"/></HyperTextLabels>
<HyperText name="page" value="$page"/></View>"""


@pytest.fixture
def interface() -> Any:
    found = pytest.importorskip("label_studio_sdk.label_interface", reason="label-studio-sdk")
    return found.LabelInterface


def test_label_studio_predictions_are_valid(interface: Any, tmp_path: Path) -> None:
    """By the tool's own check of predictions against a project's configuration."""
    path = tmp_path / "tasks.json"
    io.write_documents(DOCUMENTS, path, "label-studio")
    tasks = json.loads(path.read_text())
    project = interface(CONFIG)
    for task in tasks:
        assert project.validate_task({"data": task["data"]})
        for prediction in task["predictions"]:
            assert project.validate_prediction(prediction), prediction
    bad = json.loads(json.dumps(tasks[0]["predictions"][0]))
    bad["result"][0]["from_name"] = "nobody"
    assert not project.validate_prediction(bad)  # the check can fail


def test_label_studio_pages_are_valid(interface: Any, tmp_path: Path) -> None:
    mark = {
        "start": "/p[1]/text()[1]", "startOffset": 0, "end": "/p[1]/text()[1]", "endOffset": 3,
        "text": "Ada", "hypertextlabels": ["PER"],
    }  # fmt: skip
    result = {"from_name": "ner", "to_name": "page", "type": "hypertextlabels", "value": mark}
    task = {"id": 1, "data": {"page": "<p>Ada ran.</p>"}, "annotations": [{"result": [result]}]}
    (tmp_path / "in.json").write_text(json.dumps([task]))
    io.convert(tmp_path / "in.json", tmp_path / "out.json", to="label-studio")
    (back,) = json.loads((tmp_path / "out.json").read_text())
    assert interface(PAGE).validate_prediction(back["predictions"][0])


def test_label_studio_converts_what_we_write(tmp_path: Path) -> None:
    """Annotations through the tool's converter to JSON-MIN and CSV, which we read again."""
    converter = pytest.importorskip(
        "label_studio_sdk.converter", reason="label-studio-sdk"
    ).Converter
    people = [
        Document("1", TEXT, (Opinion("ann@x.org", (Mark(0, 3, "PER"), Mark(17, 30, "LOC"))),))
    ]
    path = tmp_path / "in.json"
    io.write_documents(people, path, "label-studio", opinions="annotations")
    for kind, name in (("JSON_MIN", "result.json"), ("CSV", "result.csv")):
        out = tmp_path / kind
        converter(CONFIG, project_dir=None).convert(str(path), str(out), kind, is_dir=False)
        ((back, _),) = io.read_documents(out / name)
        assert [(m.start, m.end, m.label) for m in back.opinions[0].marks] == [
            (0, 3, "PER"),
            (17, 30, "LOC"),
        ]


def test_argilla_loads_what_we_write(tmp_path: Path) -> None:
    records = pytest.importorskip("argilla.records._io", reason="argilla").JsonIO
    path = tmp_path / "records.json"
    one = Document("1", TEXT, DOCUMENTS[0].opinions[:1])
    io.write_documents([one], path, "argilla")
    (record,) = records._records_from_json(path)
    assert record.fields["text"] == TEXT
    suggested = [
        (span["start"], span["end"], span["label"])
        for suggestion in record.suggestions
        for span in suggestion.value
    ]
    assert (0, 3, "PER") in suggested


def test_doccano_transformer_loads_what_we_write(tmp_path: Path) -> None:
    datasets = pytest.importorskip("doccano_transformer.datasets", reason="doccano-transformer")
    utils = pytest.importorskip("doccano_transformer.utils")
    path = tmp_path / "ann.jsonl"
    people = [
        Document("1", "Ada met Zoë .", (Opinion("ann", (Mark(0, 3, "PER"), Mark(8, 11, "PER"))),))
    ]
    io.write_documents(people, path, "doccano", shape="labels")  # the package is older than "label"
    found = list(utils.read_jsonl(path, datasets.NERDataset, "utf-8").to_conll2003(str.split))
    lines = [
        line.split() for line in found[0]["data"].splitlines() if line and "DOCSTART" not in line
    ]
    assert [(line[0], line[-1]) for line in lines] == [
        ("Ada", "B-PER"),
        ("met", "O"),
        ("Zoë", "B-PER"),
        (".", "O"),
    ]


def test_prodigy_hashes_and_tokens(tmp_path: Path) -> None:
    """Prodigy itself is not on any index; this is what its docs say of a task for ``review``."""
    path = tmp_path / "a.prodigy.jsonl"
    opinions = tuple(Opinion(name, (Mark(0, 3, "PER"),)) for name in ("ann", "bob"))
    io.write_documents([Document("1", TEXT, opinions)], path, "prodigy", Notes())
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {line["_input_hash"] for line in lines} == {lines[0]["_input_hash"]}
    for line in lines:
        span = line["spans"][0]
        tokens = {token["id"]: token for token in line["tokens"]}
        assert line["answer"] == "accept" and line["_view_id"] in ("ner_manual", "spans_manual")
        assert tokens[span["token_start"]]["start"] == span["start"]
        assert tokens[span["token_end"]]["end"] == span["end"]
