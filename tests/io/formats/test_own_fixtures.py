"""The shared folder of real files: every one of these tools is read, or refused with a good reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seqtruth.errors import InputError
from seqtruth.io.documents import Document
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats import (
    figure_eight,
    gliner,
    huggingface,
    lighttag,
    mturk,
    sagemaker,
    wrench,
)
from tests.io.formats.drawn_documents import FIXTURES, read
from tests.io.formats.test_own_reading import FORMATS

pytestmark = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason=f"no folder of real files at {FIXTURES} (SEQTRUTH_FIXTURES)"
)

#: File, format, documents, opinions, marks.
READ: list[tuple[str, DocumentFormat, int, int, int]] = [
    ("hf_datasets/multi_annotator_ner_tags.parquet", huggingface.FORMAT, 150, 450, 712),
    ("hf_datasets/row_per_annotator.parquet", huggingface.FORMAT, 150, 450, 712),
    ("hf_datasets/saved_to_disk", huggingface.FORMAT, 60, 180, 279),
    ("wrench/wikigold/valid_100.json", wrench.FORMAT, 100, 1700, 1086),
    ("mturk/cast_topic1_experts_30rows.csv", mturk.FORMAT, 10, 30, 76),
    ("mturk/cast_topic1_masters_50rows.csv", mturk.FORMAT, 10, 50, 184),
    ("figure_eight/crowdtruth_event_text_highlight_150rows.csv", figure_eight.FORMAT, 8, 150, 496),
    ("figure_eight/btc_a_per_100units.json", figure_eight.FORMAT, 100, 200, 71),
    ("lighttag/lighttag_annotations.json", lighttag.FORMAT, 1, 1, 11),
    ("sagemaker/docs_ner_output_manifest_record.json.txt", sagemaker.FORMAT, 1, 1, 7),
    ("gliner/sample_data.json", gliner.FORMAT, 64, 64, 236),
]
#: File, format, and the reason in the error.
REFUSED = [
    ("hf_datasets/multi_annotator_ner_tags.jsonl", "huggingface", "the labels are numbers"),
    (
        "sagemaker/consolidation_payload_per_worker_bbox.json",
        "sagemaker",
        "the text is not in the file",
    ),
    ("tagtog/formatted.ann.json", "tagtog", "the text is not in an .ann.json file"),
]


def counts(documents: list[Document]) -> tuple[int, int, int]:
    opinions = [opinion for document in documents for opinion in document.opinions]
    return len(documents), len(opinions), sum(len(opinion.marks) for opinion in opinions)


@pytest.mark.parametrize(("name", "format", "documents", "opinions", "marks"), READ)
def test_read(name: str, format: DocumentFormat, documents: int, opinions: int, marks: int) -> None:
    found, _ = read(format, FIXTURES / name)
    assert counts(found) == (documents, opinions, marks)
    assert len({document.id for document in found}) == documents


@pytest.mark.parametrize(("name", "format", "reason"), REFUSED)
def test_refused(name: str, format: str, reason: str) -> None:
    known = next(one for one in FORMATS if one.name == format)
    assert known.tell(Glimpse(FIXTURES / name)) >= 0.7
    with pytest.raises(InputError) as caught:
        read(known, FIXTURES / name)
    assert reason in str(caught.value)
    assert caught.value.fix


def test_names_make_the_lines_readable() -> None:
    parquet, _ = read(huggingface.FORMAT, FIXTURES / "hf_datasets/multi_annotator_ner_tags.parquet")
    names = "O,B-DATE,B-LOC,B-ORG,B-PER,I-DATE,I-LOC,I-ORG,I-PER"
    path = FIXTURES / "hf_datasets/multi_annotator_ner_tags.jsonl"
    lines, _ = read(huggingface.FORMAT, path, names=names)
    assert [d.opinions for d in lines] == [d.opinions for d in parquet]


def test_mturk_marks_the_words_its_authors_found() -> None:
    import csv

    path = FIXTURES / "mturk/cast_topic1_masters_50rows.csv"
    documents, _ = read(mturk.FORMAT, path)
    found = {(d.text, o.annotator): sorted(d.text[m.start : m.end] for m in o.marks)
             for d in documents for o in d.opinions}  # fmt: skip
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            entities = json.loads(row["Answer.taskAnswers"])[0].popitem()[1]["entities"]
            spans = [row["Input.passage"][e["startOffset"] : e["endOffset"]] for e in entities]
            assert found[row["Input.passage"], row["WorkerId"]] == sorted(spans)


def claimed() -> list[Path]:
    """All files and folders of the shared folder."""
    return sorted(path for path in FIXTURES.rglob("*")) if FIXTURES.is_dir() else []


def test_no_other_tools_file_is_claimed() -> None:
    """Formats of one's own may claim a tool's file, but less than the tool does (0.7 and more)."""
    own = {name.split("/")[0] for name, *_ in (*READ, *REFUSED)}
    for path in claimed():
        scores = {format.name: format.tell(Glimpse(path)) for format in FORMATS}
        if path.relative_to(FIXTURES).parts[0] not in own:
            assert max(scores.values()) <= 0.5, (path, scores)
