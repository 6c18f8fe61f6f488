"""The NER sources' own shapes, with every quirk, into tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataset_sources import (
    HARBOUR,
    MARKET,
    conll,
    conll2003_files,
    ner_files,
    ner_sources,
    tarred,
    write_sources,
    zipped,
)
from seqtruth.datasets.convert_ner import convert
from seqtruth.datasets.releases import match_sentences
from seqtruth.datasets.tables import Table
from seqtruth.errors import DataWarning, InputError


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Table]:
    return convert(write_sources(tmp_path, ner_sources()))


def test_sentences_are_val_then_test_by_document(tables: dict[str, Table]) -> None:
    assert [row[:2] for row in tables["sentences.tsv.gz"].rows] == [
        ("doc-a#0", "doc-a"), ("doc-a#1", "doc-a"), ("doc-z#0", "doc-z"),
        ("doc-b#0", "doc-b"), ("doc-b#1", "doc-b"), ("doc-b#2", "doc-b"),
    ]  # fmt: skip
    assert tables["sentences.tsv.gz"].rows[1][2] == "U.S. ships reach North Quay"


def test_every_quirk(tables: dict[str, Table]) -> None:
    rows = {(row[0], row[1]): row[2:] for row in tables["annotations.tsv.gz"].rows}
    assert len(rows) == 4 * 2 + 2 * 3
    entity = "B-LOC O O B-LOC I-LOC"
    assert rows["doc-a#0", "W1exact"] == ("B-LOC O O O", "exact")
    assert rows["doc-a#1", "W2suffix"] == ("I-LOC O O B-LOC I-LOC", "suffix")
    assert rows["doc-a#0", "W2suffix"] == ("B-LOC O O O", "suffix")
    assert rows["doc-a#0", "W3retok"] == ("B-LOC O I-PER I-PER", "retok")
    assert rows["doc-a#1", "W3retok"] == ("I-LOC O O B-LOC I-LOC", "retok")
    assert rows["doc-a#0", "W4emptyline"] == ("B-LOC O O O", "emptyline")
    assert rows["doc-a#1", "W4emptyline"] == (entity, "emptyline")
    assert rows["doc-b#0", "W5fuzzy"] == ("B-LOC O", "exact")  # a strange label is O
    assert rows["doc-b#1", "W5fuzzy"] == ("B-ORG I-ORG O O O", "fuzzy")
    assert rows["doc-b#2", "W5fuzzy"] == ("O O O O", "fuzzy")  # not in the annotator's file
    parts = [(row[1], row[0]) for row in tables["annotations.tsv.gz"].rows]
    assert parts == sorted(parts[:8]) + sorted(parts[8:])


def test_splits(tables: dict[str, Table]) -> None:
    splits: dict[str, list[str]] = {}
    for name, split in tables["splits.tsv.gz"].rows:
        splits.setdefault(split, []).append(name)
    assert splits == {
        "nguyen_val": ["doc-a#0", "doc-a#1"],
        "no_crowd": ["doc-z#0"],
        "nguyen_test": ["doc-b#0", "doc-b#1", "doc-b#2"],
        "aggslc_3466": ["doc-b#0", "doc-b#1", "doc-a#1"],
        "optsla_4515": ["doc-a#0", "doc-b#2"],
    }


def test_gold_raw_and_repaired(tables: dict[str, Table]) -> None:
    rows = {row[0]: row[1:] for row in tables["gold.tsv.gz"].rows}
    assert rows["doc-b#2"] == ("B-MISC B-MISC O O", "B-MISC O O O")
    assert all(repaired == raw for name, (repaired, raw) in rows.items() if name != "doc-b#2")


def test_the_authors_votes(tables: dict[str, Table]) -> None:
    assert tables["aggslc_mv.tsv.gz"].rows == [
        ("doc-b#0", "O O", "B-LOC O"),
        ("doc-b#1", "B-ORG I-ORG O O O", "B-ORG I-ORG O O O"),
        ("doc-a#1", "O O O O O", "B-LOC O O B-LOC I-LOC"),
    ]


def test_held_out_sets_are_iob2_by_document(tables: dict[str, Table]) -> None:
    assert tables["conll2003_task2_eval.tsv.gz"].rows == [
        ("testa-0", "testa-1", "Oslo Fjord sleeps", "B-LOC B-LOC O", "testa"),
        ("testa-1", "testa-1", "Ada", "B-PER", "testa"),
        ("testb-0", "testb-1", "Bergen wakes", "B-LOC O", "testb"),
    ]


def test_the_crowd_alone_is_enough(tmp_path: Path) -> None:
    only = convert(write_sources(tmp_path, {"crowd.archive": zipped(ner_files())}))
    assert set(only) == {f"{n}.tsv.gz" for n in ("sentences", "annotations", "gold", "splits")}


def test_the_papers_own_archive_has_no_halves(tmp_path: Path) -> None:
    root = "crf-ma-datasets/mturk"
    files = {
        f"{root}/ground_truth/doc-a.txt": conll(HARBOUR),
        f"{root}/ground_truth/doc-b.txt": conll(MARKET),
        f"{root}/extracted_data/W1/doc-a.txt": conll(HARBOUR),
        f"{root}/dredze_format/trainset_mturk.dredze.txt": "not read",
    }
    with pytest.warns(DataWarning, match="nguyen_test are missing"):
        tables = convert(write_sources(tmp_path, {"crowd.archive": tarred(files)}))
    assert len(tables["sentences.tsv.gz"].rows) == 5
    assert {split for _, split in tables["splits.tsv.gz"].rows} == {"no_crowd"}


@pytest.mark.parametrize(
    ("source", "content", "message"),
    [
        ("crowd.archive", zipped({"a/ground_truth/d.txt": "a O\n"}), "no folder mturk_train_data"),
        ("crowd.archive", zipped({"readme.txt": ""}), "no folder ground_truth"),
        ("crowd.archive", b"<html>not found</html>", "the archive cannot be read"),
        ("conll2003.zip", zipped({"valid.txt": conll2003_files()["valid.txt"]}), "eng.testb"),
        ("aggslc-mv.txt", b"a O\n\n", "not of the same sentences"),
        ("optsla-gold.txt", b"<html>\n\nmoved O\n", "0 of 2 found"),
        ("aggslc-gold.txt", b"", "0 of 0 found"),
    ],
)
def test_another_file_is_told_apart(
    tmp_path: Path, source: str, content: bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        convert(write_sources(tmp_path, ner_sources() | {source: content}))


def test_sentences_without_ids_are_found_by_their_company() -> None:
    date, head = ["1999-01-01"], ["HEAD"]
    sentences = [("a#0", date), ("a#1", ["x"]), ("b#0", date), ("b#1", ["y"]), ("c#0", date)]
    sentences += [("c#1", head), ("d#0", date), ("d#1", date)]
    assert match_sentences([date, ["y"], date, ["x"]], sentences) == ["b#0", "b#1", "a#0", "a#1"]
    assert match_sentences([["y"], ["nowhere"], head], sentences) == ["b#1", None, "c#1"]
    # One date alone: not of a document that a longer run has.
    assert match_sentences([date, date, ["x"], date, ["y"]], sentences[:5]) == [
        "c#0", "a#0", "a#1", "b#0", "b#1"
    ]  # fmt: skip
