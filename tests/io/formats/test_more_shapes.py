"""Shapes of files that were read wrongly, or refused, until somebody tried them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from seqtruth import io
from seqtruth.io.documents import Document, Notes

TEXT = "Jane Roe met Zoë 😀 in Bonn."


def put(path: Path, *records: Any) -> Path:
    """A file of text, or of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (one if isinstance(one, str) else json.dumps(one) for one in records)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read(path: Path, **options: Any) -> tuple[list[Document], Notes]:
    found = list(io.read_documents(path, **options))
    return [document for document, _ in found], found[-1][1]


def said(document: Document) -> dict[str, list[tuple[str, str]]]:
    """What each one marked: words and labels."""
    return {
        opinion.annotator: [(document.text[m.start : m.end], m.label) for m in opinion.marks]
        for opinion in document.opinions
    }


def test_prodigy_without_hashes_keeps_rejected_answers_out(tmp_path: Path) -> None:
    span = {"start": 0, "end": 8, "label": "PER"}
    answers = [
        {"text": f"{TEXT} {answer}", "spans": [span], "answer": answer}
        for answer in ("accept", "reject", "ignore")
    ]
    documents, notes = read(put(tmp_path / "ann.jsonl", *answers))
    assert io.detect_format(tmp_path / "ann.jsonl") == "prodigy"
    assert [len(document.opinions) for document in documents] == [1, 0, 0]
    assert notes.counts == {"rejected answer": 1, "ignored answer": 1}


def test_tags_of_a_whole_sentence_in_a_cell_are_no_tag(tmp_path: Path) -> None:
    path = put(tmp_path / "ann.csv", "text,labels", "Jane ran,B-PER O", "Bob sat,B-PER O")
    documents, _ = read(path)
    assert [said(one) for one in documents] == [
        {"ann": [("Jane", "PER")]},
        {"ann": [("Bob", "PER")]},
    ]


def test_an_end_that_is_the_last_character_is_known_by_the_quote(tmp_path: Path) -> None:
    spans = [
        {"start": 0, "end": 7, "text": "Jane Roe", "label": "PER"},
        {"start": 22, "end": 26, "text": "Bonn", "label": "LOC"},  # UTF-16 units
        {"start": 9, "end": 12, "text": "saw", "label": "V"},
    ]
    documents, notes = read(put(tmp_path / "ann.jsonl", {"text": TEXT, "entities": spans}))
    assert said(documents[0])["ann"] == [("Jane Roe", "PER"), ("Bonn", "LOC"), ("met", "V")]
    assert notes.counts == {"quoted text that differs from the text at its offsets": 1}


def test_dataturks(tmp_path: Path) -> None:
    point = {"start": 0, "end": 7, "text": "Jane Roe"}
    label = {"label": ["PER"], "points": [point]}
    record = {"content": TEXT, "annotation": [label], "extras": None}
    documents, _ = read(put(tmp_path / "ann.json", record))
    assert said(documents[0]) == {"ann": [("Jane Roe", "PER")]}


def test_a_column_of_spans_for_each_annotator(tmp_path: Path) -> None:
    wanted = {"ann": [("Jane Roe", "PER")], "bob": []}
    record = {"id": 1, "text": TEXT, "ann": [{"start": 0, "end": 8, "label": "PER"}], "bob": []}
    documents, _ = read(put(tmp_path / "wide.jsonl", record))
    assert said(documents[0]) == wanted
    row = f"""1,{TEXT},"[(0, 8, 'PER')]",[]"""
    documents, _ = read(put(tmp_path / "wide.csv", "id,text,ann,bob", row, f"2,{TEXT} 2,,[]"))
    assert [said(one) for one in documents] == [wanted, {"bob": []}]


def test_a_row_for_each_quote(tmp_path: Path) -> None:
    header, *rows = "id,text,model,quote,label", "7,Jane met Bob.,gpt,Jane,PER", "7,,gpt,Bob,PER"
    path = put(tmp_path / "answers.csv", header, *rows, "7,,llama,,", "7,,eve,Paris,LOC")
    documents, notes = read(path)
    names = [("Jane", "PER"), ("Bob", "PER")]
    assert [said(one) for one in documents] == [{"gpt": names, "llama": [], "eve": []}]
    assert notes.counts == {"invented quote (not in the text) of eve": 1}


def test_quotes_under_the_names_of_models(tmp_path: Path) -> None:
    record = {"text": TEXT, "gpt": [{"text": "Jane Roe", "label": "PER"}], "llama": [], "eve": None}
    documents, _ = read(put(tmp_path / "answers.jsonl", record))
    assert said(documents[0]) == {"gpt": [("Jane Roe", "PER")], "llama": []}
    assert {opinion.role for opinion in documents[0].opinions} == {"model"}
