"""Rules, trained people and language models: sets of four tables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import seqtruth as st
from seqtruth.datasets import other_sources
from seqtruth.datasets.tables import Table, write_table
from seqtruth.errors import InputError


def write_set(root: Path, name: str) -> None:
    folder = root / other_sources.SETS[name].folder
    folder.mkdir(parents=True)
    tables = {
        "sentences": Table(("sentence_id", "doc_id", "tokens"), [("a", "d", "Ann ran"), ("b", "d", "no")]),
        "annotations": Table(
            ("sentence_id", "worker_id", "labels"),
            [("a", "r1", "B-X O"), ("a", "r2", "O O"), ("b", "r1", "O")],
        ),
        "gold": Table(("sentence_id", "labels"), [("a", "B-Y O"), ("b", "O")]),
        "splits": Table(("sentence_id", "split"), [("a", "test"), ("b", "train")]),
    }  # fmt: skip
    for table, rows in tables.items():
        write_table(folder / f"{table}.tsv.gz", rows)


@pytest.mark.parametrize("name", other_sources.SETS)
def test_four_tables_are_read(name: str, tmp_path: Path) -> None:
    write_set(tmp_path, name)
    data = st.datasets.load(name, tmp_path)
    assert data.crowd.annotators == ("r1", "r2") and data.crowd.n_rows == 3
    assert data.crowd.scheme == data.gold.scheme and data.gold.scheme.types == ("X", "Y")
    assert {k: v.tolist() for k, v in data.splits.items()} == {
        "test": [True, False], "train": [False, True], "all": [True, True],
    }  # fmt: skip
    assert data.info["source"].startswith("https://github.com/")


def test_a_set_that_is_not_there_says_where_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rules/bc5cdr.*CHMM-ALT.*data_dir="):
        st.datasets.load("bc5cdr", tmp_path)


@pytest.mark.skipif("SEQTRUTH_DATA" not in os.environ, reason="set SEQTRUTH_DATA")
@pytest.mark.parametrize(
    ("name", "annotators", "spans"),
    [("ncbi-disease", 8, 6832), ("essays", 3, 1266), ("bambara", 7, 1306)],
)
def test_the_sets_are_whole(name: str, annotators: int, spans: int) -> None:
    data, made = st.datasets.load(name), other_sources.SETS[name]
    assert data.info["annotators"] == annotators and data.info["gold spans"] == spans
    assert {*made.tune, made.report} <= set(data.splits)
