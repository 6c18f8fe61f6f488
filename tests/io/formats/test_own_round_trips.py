"""Reading what was written gives the same documents, in every script."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import DocumentFormat
from seqtruth.io.formats import (
    gliner,
    huggingface,
    own_json,
    sagemaker,
    span_table,
    wide_table,
    wrench,
)
from tests.io.formats.drawn_documents import bare, round_trip, span_documents, token_documents

few = settings(max_examples=60, deadline=None)


def same(format: DocumentFormat, documents: list[Document], name: str, **options: object) -> Notes:
    with TemporaryDirectory() as folder:
        found, notes = round_trip(format, documents, Path(folder) / name, **options)
    assert found == [bare(document) for document in documents]
    return notes


@few
@given(span_documents(), st.sampled_from(["x.json", "x.jsonl", "x.jsonl.gz"]))
def test_json(documents: list[Document], name: str) -> None:
    assert not same(own_json.FORMAT, documents, name).counts


@few
@given(token_documents(), st.sampled_from(["x.json", "x.jsonl"]))
def test_json_with_tokens(documents: list[Document], name: str) -> None:
    assert not same(own_json.FORMAT, documents, name).counts


@few
@given(span_documents(), st.sampled_from(["x.parquet", "x.jsonl"]))
def test_huggingface_spans(documents: list[Document], name: str) -> None:
    assert not same(huggingface.FORMAT, documents, name, layout="spans").counts


@few
@given(token_documents(), st.sampled_from(["x.parquet", "x.jsonl"]))
def test_huggingface_tags(documents: list[Document], name: str) -> None:
    assert not same(huggingface.FORMAT, documents, name).counts


@few
@given(span_documents())
def test_huggingface_takes_spans_where_tags_would_lose(documents: list[Document]) -> None:
    with TemporaryDirectory() as folder:
        found, notes = round_trip(huggingface.FORMAT, documents, Path(folder) / "x.parquet")
    assert not notes.counts
    untokened = [replace(document, tokens=None) for document in found]
    assert untokened == [bare(document) for document in documents]


@few
@given(span_documents(min_length=1), st.sampled_from(["x.csv", "x.tsv"]), st.booleans())
def test_span_table(documents: list[Document], name: str, safe: bool) -> None:
    notes = same(span_table.FORMAT, documents, name, safe_cells=safe)
    assert not notes.counts


@few
@given(token_documents(), st.sampled_from(["x.csv", "x.tsv"]), st.booleans())
def test_wide_table(documents: list[Document], name: str, safe: bool) -> None:
    if not any(document.opinions for document in documents):
        return  # a table of tokens alone
    assert not same(wide_table.FORMAT, documents, name, safe_cells=safe).counts


@few
@given(token_documents(names=("ann",)))
def test_gliner(documents: list[Document]) -> None:
    seen = [document for document in documents if document.opinions]
    assert not same(gliner.FORMAT, seen, "ann.json").counts


@few
@given(span_documents(pieces=False))
def test_sagemaker(documents: list[Document]) -> None:
    single = [replace(document, opinions=document.opinions[:1]) for document in documents]
    assert not same(sagemaker.FORMAT, single, "x.manifest").counts


@few
@given(token_documents())
def test_wrench(documents: list[Document]) -> None:
    names = sorted({o.annotator for d in documents for o in d.opinions})
    full = []
    for document in documents:
        said = {opinion.annotator: opinion for opinion in document.opinions}
        opinions = [said.get(name, Opinion(name)) for name in names] + [Opinion("gold", (), "gold")]
        full.append(replace(document, opinions=tuple(opinions)))
    assert not same(wrench.FORMAT, full, "folder").counts


RICH = Document(
    "d",
    "Ann ran. Bob ran.",
    (
        Opinion(
            "ann", (Mark(0, 3, "P", score=0.5),), "model", ((0, 8),), 0.25, "2024-01-01T00:00:00"
        ),
        Opinion("gold", (Mark(0, 12, "P", ((0, 3), (9, 12))),), "gold"),
        Opinion("ann", ()),
    ),
    tokens=((0, 3), (4, 7), (7, 8), (9, 12), (13, 17)),
    sentences=((0, 8), (9, 17)),
)


@pytest.mark.parametrize(
    ("format", "name"),
    [
        (own_json.FORMAT, "x.jsonl"),
        (huggingface.FORMAT, "x.parquet"),
        (huggingface.FORMAT, "x.jsonl"),
    ],
)
def test_everything_there_is(format: DocumentFormat, name: str, tmp_path: Path) -> None:
    found, notes = round_trip(format, [RICH], tmp_path / name)
    assert found == [bare(RICH)]
    assert not notes.counts


def test_same_bytes_twice(tmp_path: Path) -> None:
    for name in ("x.parquet", "x.jsonl"):
        for copy in ("a", "b"):
            huggingface.FORMAT.write([RICH], tmp_path / f"{copy}{name}", Notes())  # type: ignore[misc]
        assert (tmp_path / f"a{name}").read_bytes() == (tmp_path / f"b{name}").read_bytes()


def test_what_tags_cannot_say_is_named(tmp_path: Path) -> None:
    overlapping = Opinion(
        "ann", (Mark(0, 7, "X"), Mark(4, 8, "Y"), Mark(0, 2, "Z"), Mark(9, 12, "P"))
    )
    document = replace(RICH, opinions=(overlapping,))
    found, notes = round_trip(wide_table.FORMAT, [document], tmp_path / "x.csv")
    assert [mark.label for mark in found[0].opinions[0].marks] == ["X", "P"]
    assert notes.counts == {
        "mark that overlaps another one": 1,
        "mark that ends inside a token": 1,
        "spacing of a text (it has tokens only)": 1,
        "borders of sentences in a document": 1,
    }


def test_formulas(tmp_path: Path) -> None:
    document = Document("d", "=1+2", (Opinion("@x", (Mark(0, 4, "-"),)),))
    notes = Notes()
    assert span_table.FORMAT.write is not None
    span_table.FORMAT.write([document], tmp_path / "x.csv", notes, safe_cells=True)
    line = (tmp_path / "x.csv").read_text().splitlines()[1]
    assert line == "d,'@x,annotator,0,4,'-,,,'=1+2,'=1+2"


def test_huggingface_tags_are_class_labels(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    document = replace(RICH, opinions=(Opinion("ann", (Mark(0, 3, "PER"),)),))
    huggingface.FORMAT.write([document], tmp_path / "x.parquet", Notes(), layout="tags")  # type: ignore[misc]
    table = pq.read_table(tmp_path / "x.parquet")
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert features["ner_tags"]["feature"]["names"] == ["O", "B-PER", "I-PER"]
    assert table["ner_tags"].to_pylist() == [[1, 0, 0, 0, 0]]
    assert table["tokens"].to_pylist() == [["Ann", "ran", ".", "Bob", "ran."]]
