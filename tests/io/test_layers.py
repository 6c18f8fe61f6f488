"""Layers go through files that have no place for them, and come back."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from seqtruth import io
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataWarning
from tests.strategies import spelled

RECORDS = [
    {
        "id": f"s{number}",
        "text": "the New York City mayor ran",
        "annotations": {
            "ann": [
                {"start": 4, "end": 17, "label": "LOC"},
                {"start": 4, "end": 23, "label": "ROLE"},
                {"start": 4, "end": 12, "label": "LOC"},
            ],
            "bob": [{"start": 4, "end": 17, "label": "LOC"}] if number else [],
        },
    }
    for number in range(3)
]


@pytest.fixture
def layered(tmp_path: Path) -> Crowd:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(map(json.dumps, RECORDS)))
    with pytest.warns(DataWarning, match="put on 3 layers"):
        return io.read(path)


@pytest.mark.parametrize("name", ["a.conll", "folder", "a.csv", "a.tsv", "a.parquet"])
def test_layers_come_back(layered: Crowd, tmp_path: Path, name: str) -> None:
    format = "conll-folder" if name == "folder" else None
    options = {} if name in ("a.conll", "folder") else {"level": "token"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        io.write(layered, tmp_path / name, format, **options)
    back = io.read(tmp_path / name, scheme="iob2")
    assert back.corpus.layers == layered.corpus.layers
    assert back.corpus.sentence_layer.tolist() == layered.corpus.sentence_layer.tolist()
    assert spelled(back) == spelled(layered)


@pytest.mark.parametrize(
    ("ids", "tokens"),
    [
        (["a", "a@b", "c"], [["x"]] * 3),
        (["a", "a@b", "c", "c@d"], [["x"]] * 4),
        (["a", "a@b"], [["x"], ["y"]]),
        (["a", "a@b"], [["x"], ["x", "y"]]),
    ],
)
def test_what_only_looks_like_layers_is_left_alone(
    tmp_path: Path, ids: list[str], tokens: list[list[str]]
) -> None:
    crowd = Crowd.of(
        {"ann": [["B-X", *["O"] * (len(words) - 1)] for words in tokens]}, tokens, ids=ids
    )
    io.write(crowd, tmp_path / "a.conll")
    assert io.read(tmp_path / "a.conll").corpus.layers == ("",)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_safe_cells(tmp_path: Path, name: str) -> None:
    """What a spreadsheet would run is disarmed, and comes back as it was."""
    words = ["=1+1", "+x", "-y", "@z", "'=q", "'plain", "''@", "a=b"]
    crowd = Crowd.of({"=ann": [["O"] * len(words)]}, [words], ids=["-id"])
    io.write(crowd, tmp_path / name, safe_cells=True)
    cells = (tmp_path / name).read_text().replace("\t", ",").replace("\n", ",").split(",")
    assert not [cell for cell in cells if cell.strip('"')[:1] in ("=", "+", "-", "@")]
    back = io.read(tmp_path / name, safe_cells=True, scheme="iob2")
    assert back.corpus.words(0) == words
    assert (back.annotators, back.corpus.sentence_ids[0].as_py()) == (("=ann",), "-id")
