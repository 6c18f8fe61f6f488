"""The tools' own packages read what we write, and we read what they write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.formats import huggingface
from seqtruth.io.formats.token_tags import join
from tests.io.formats.drawn_documents import read

pytestmark = pytest.mark.tools


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    found = pytest.importorskip("datasets", reason="the package datasets is not installed")
    if not hasattr(found, "ClassLabel"):  # a folder of that name on the path
        pytest.skip("the package datasets is not installed")
    return found


TEXT, TOKENS = join(["Ann", "Lee", "ran", "👍🏽"])
DOCUMENT = Document(
    "d1",
    TEXT,
    (Opinion("ann", (Mark(0, 7, "PER"),)), Opinion("bob", ()), Opinion("gold", (), "gold")),
    TOKENS,
)


def loaded(datasets: Any, path: Path, tmp_path: Path) -> Any:
    kind = "parquet" if path.suffix == ".parquet" else "json"
    return datasets.load_dataset(
        kind, data_files=str(path), split="train", cache_dir=str(tmp_path / "c")
    )


def test_tags(datasets: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    huggingface.write([DOCUMENT, Document("d2", TEXT, (), TOKENS)], path, Notes())
    found = loaded(datasets, path, tmp_path)
    names = found.features["ner_tags_ann"].feature.names
    assert names == ["O", "B-PER", "I-PER"]
    assert [names[i] for i in found[0]["ner_tags_ann"]] == ["B-PER", "I-PER", "O", "O"]
    assert found[0]["tokens"] == ["Ann", "Lee", "ran", "👍🏽"]
    assert found[1]["ner_tags_ann"] is None


def test_spans(datasets: Any, tmp_path: Path) -> None:
    for name in ("x.parquet", "x.jsonl"):
        huggingface.write([DOCUMENT], tmp_path / name, Notes(), layout="spans")
        found = loaded(datasets, tmp_path / name, tmp_path)
        assert found[0]["spans"][0]["label"] == "PER"
        assert found["annotator"][:] == ["ann", "bob", "gold"]


@pytest.mark.parametrize("how", ["parquet", "json", "disk", "dict"])
def test_what_the_package_writes(datasets: Any, tmp_path: Path, how: str) -> None:
    label = datasets.ClassLabel(names=["O", "B-PER", "I-PER"])
    many = datasets.Sequence
    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            "tokens": many(datasets.Value("string")),
            "ner_tags": many(label),
        }
    )
    rows = [{"id": "a", "tokens": ["Ann", "Lee"], "ner_tags": [1, 2]}]
    made = datasets.Dataset.from_list(rows, features=features)
    path = tmp_path / "x"
    options = {}
    if how == "parquet":
        made.to_parquet(str(path))
    elif how == "json":
        made.to_json(str(path))
        options = {"names": "O,B-PER,I-PER"}
    elif how == "disk":
        made.save_to_disk(str(path))
    else:
        datasets.DatasetDict({"train": made, "test": made}).save_to_disk(str(path))
    documents, _ = read(huggingface.FORMAT, path, **options)
    assert [d.id for d in documents] == (["test/a", "train/a"] if how == "dict" else ["a"])
    assert documents[0].opinions[0].marks == (Mark(0, 7, "PER"),)


def test_spans_of_the_package(datasets: Any, tmp_path: Path) -> None:
    """Lists of objects, and what older code makes of them: an object of lists."""
    label = datasets.ClassLabel(names=["PER", "LOC"])
    whole = datasets.Value("int32")
    span = {"start": whole, "end": whole, "label": label}
    for number, feature in enumerate(([span], datasets.Sequence(span))):
        features = datasets.Features({"text": datasets.Value("string"), "entities": feature})
        value: Any = (
            {"start": [0], "end": [3], "label": [1]}
            if number
            else [{"start": 0, "end": 3, "label": 1}]
        )
        made = datasets.Dataset.from_list([{"text": "Rom", "entities": value}], features=features)
        path = tmp_path / f"{number}.parquet"
        made.to_parquet(str(path))
        (document,), _ = read(huggingface.FORMAT, path)
        assert document.opinions[0].marks == (Mark(0, 3, "LOC"),), json.dumps(made[0])
