"""Damaged files: nothing but errors that say what is wrong, and never for long."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seqtruth import io
from seqtruth.io.documents import Notes
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats import huggingface, own_json, span_table, tagtog, wrench
from seqtruth.io.formats.literals import literal
from tests.io.formats import small_files as small
from tests.io.formats.drawn_documents import mutations, survives
from tests.io.formats.test_own_reading import FORMATS, SMALL, put

NUMBER = 300


@pytest.mark.parametrize(("format", "name", "content"), SMALL)
def test_damaged(tmp_path: Path, format: DocumentFormat, name: str, content: bytes) -> None:
    put(tmp_path, "meta.json", small.WRENCH_META)
    options = {"names": "O,B-PER"} if format is huggingface.FORMAT else {}
    for number, data in enumerate(mutations(content, NUMBER)):
        path = put(tmp_path, f"{number}.{name}", data)
        survives(lambda: list(format.read(path, Notes(), **options)), str(path))  # noqa: B023
        for other in FORMATS:
            assert 0 <= other.tell(Glimpse(path)) <= 1


def _table() -> pa.Table:
    label = {"names": ["O", "B-PER"], "_type": "ClassLabel"}
    features = {"ner_tags": {"feature": label, "_type": "List"}}
    columns = {"id": ["0", "1"], "tokens": [["Ann", "ran"], ["Bob"]], "ner_tags": [[1, 0], [1]]}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    return pa.table(columns).replace_schema_metadata(metadata)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "file"])
def test_damaged_arrow(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "parquet":
        pq.write_table(_table(), path)
    else:
        with (pa.ipc.new_stream if kind == "arrow" else pa.ipc.new_file)(
            path, _table().schema
        ) as writer:
            writer.write_table(_table())
    for number, data in enumerate(mutations(path.read_bytes(), NUMBER)):
        damaged = put(tmp_path, f"{number}.{kind}", data)
        for format in (huggingface.FORMAT, span_table.FORMAT):
            survives(lambda: list(format.read(damaged, Notes())), str(damaged))  # noqa: B023
            assert 0 <= format.tell(Glimpse(damaged)) <= 1


def test_damaged_folders(tmp_path: Path) -> None:
    entity = small.tagtog_entity("e_1", "s1p1", 3, "Ann Lee", "user:ann")
    files = {
        "doc.ann.json": small.tagtog_ann(entity),
        "doc.plain.html": small.TAGTOG_HTML,
        "annotations-legend.json": small.TAGTOG_LEGEND,
    }
    for changed in files:
        for number, data in enumerate(mutations(files[changed], NUMBER // 3)):
            folder = tmp_path / f"{changed}{number}"
            for name, content in files.items():
                put(folder, name, data if name == changed else content)
            survives(lambda: list(tagtog.FORMAT.read(folder, Notes())), str(folder))  # noqa: B023
    put(folder, "annotations-legend.json", b'{"e_1": -7}')
    labels = {mark.label for one in io.read_documents(folder) for mark in one[0].opinions[0].marks}
    assert labels == {"-7"}  # a name, whatever the legend has
    for number, data in enumerate(mutations(small.WRENCH_META, NUMBER // 3)):
        folder = tmp_path / f"wrench{number}"
        put(folder, "meta.json", data)
        put(folder, "label.json", data)
        put(folder, "train.json", small.WRENCH)
        survives(lambda: list(wrench.FORMAT.read(folder, Notes())), str(folder))  # noqa: B023


@pytest.mark.parametrize(
    "cell",
    [
        "[" * 5000, "(" * 150 + ")" * 150, "-" * 5000 + "1", "['a' 'b']", "[1" + "+1" * 50000 + "]",
        "{[]: 1}", "array(['O'])", "[" + "'a', " * 100000 + "]", "'\\N{nope}'", "[1e999]", "9" * 5000,
        "[1j]", "f'{1}'",
    ],
)  # fmt: skip
def test_cells_that_are_no_lists(cell: str) -> None:
    survives(lambda: literal(cell, "x:1"), cell[:40])


@pytest.mark.parametrize(
    "content",
    [b'{"text": ' + b"[" * 100_000, b'{"tokens": ["a"], "tags": {"x": {"x": {"x": {}}}}}', b"[[[[]]]]",
     b"", b"\xff\xfe", b"{}", b"[]", b"null", b'"x"', b"[{}]"],
)  # fmt: skip
def test_odd_json(tmp_path: Path, content: bytes) -> None:
    path = put(tmp_path, "x.json", content)
    for format in FORMATS:
        survives(lambda: list(format.read(path, Notes())), format.name)  # noqa: B023
        assert 0 <= format.tell(Glimpse(path)) <= 1


def test_large_records_take_linear_time(tmp_path: Path) -> None:
    words = ["w"] * 100_000
    spans = [[i, i + 1, "X"] for i in range(0, 199_999, 2)]
    record = {"text": " ".join(words), "annotations": {"ann": spans, "bob": spans}}
    path = put(tmp_path, "x.jsonl", json.dumps(record).encode())
    (document,) = own_json.FORMAT.read(path, Notes())
    assert huggingface.FORMAT.write is not None
    huggingface.FORMAT.write([document], tmp_path / "x.parquet", Notes(), layout="tags")
    (again,) = huggingface.FORMAT.read(tmp_path / "x.parquet", Notes())
    assert len(again.opinions[0].marks) == len(spans)
