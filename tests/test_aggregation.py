"""Anything readable goes in, by one call; people from crowd-kit find their feet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import seqtruth as st
from seqtruth.errors import InputError, ParameterError
from seqtruth.testing import small_crowd


def frame() -> pa.Table:
    crowd = small_crowd()
    rows = [
        (crowd.corpus.sentence_ids[int(s)].as_py(), crowd.annotators[w], i, word, tag)
        for s, w, a, b in zip(
            crowd.row_sentence, crowd.row_annotator, crowd.row_offsets[:-1], crowd.row_offsets[1:],
            strict=True,
        )
        for i, (word, tag) in enumerate(
            zip(crowd.corpus.words(int(s)), (crowd.scheme.labels[t] for t in crowd.tags[a:b]), strict=True)
        )
    ]  # fmt: skip
    names = ("task", "worker", "token_index", "token", "label")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def test_every_source_gives_the_same(tmp_path: Path) -> None:
    crowd, table = small_crowd(), frame()
    expected = st.DawidSkene().fit(crowd).labels
    st.write(crowd, tmp_path / "c.jsonl")
    for half, name in ((slice(0, 20), "a"), (slice(20, 40), "b")):
        st.write(crowd[half], tmp_path / f"{name}.jsonl")
    sources = [
        crowd, str(tmp_path / "c.jsonl"), tmp_path / "c.jsonl", table, table.to_pandas(),
        pl.from_arrow(table), [tmp_path / "a.jsonl", tmp_path / "b.jsonl"],
    ]  # fmt: skip
    for source in sources:
        assert st.aggregate(source, "ds").labels == expected, type(source)
        assert st.DawidSkene().fit(source).labels == expected, type(source)


def test_a_crowd_in_parts_stays_where_it_is(tmp_path: Path) -> None:
    st.write(small_crowd(), tmp_path / "c.parquet")
    found = st.aggregate(st.stream(tmp_path / "c.parquet"), "ds")
    found.write(tmp_path / "t.parquet")
    labels = st.read(tmp_path / "t.parquet").labelling()
    names = [labels.scheme.labels[t] for t in labels.tags]
    expected = st.DawidSkene().fit(small_crowd()).labels
    assert names == [label for row in expected for label in row]


def test_methods_by_name_class_and_object() -> None:
    crowd = small_crowd()
    for method in ("aggslc:predictor=none", st.AggSLC(predictor=None)):
        assert st.aggregate(crowd, method).provenance["method"] == "aggslc"
    found = st.aggregate(crowd, st.AggSLC, predictor=None, folds=3, seed=4)
    assert found.provenance["parameters"]["folds"] == 3 and found.provenance["seed"] == 4
    with pytest.raises(ParameterError, match="no setting 'color'"):
        st.aggregate(crowd, "ds", color=1)
    with pytest.raises(InputError, match="nowhere"):
        st.aggregate("nowhere.conll", "ds")


def test_gold_may_be_a_file(tmp_path: Path) -> None:
    crowd = small_crowd()
    gold = crowd.select_annotators(["w0"])[:4]
    st.write(gold, tmp_path / "gold.jsonl")
    one = st.aggregate(crowd, "ds", gold=tmp_path / "gold.jsonl")
    assert one.labels == st.DawidSkene().fit(crowd, gold).labels


def test_fit_predict_is_a_series_by_task() -> None:
    found = st.DawidSkene().fit_predict(frame().to_pandas())
    assert isinstance(found, pd.Series)
    assert found.index.name == "task" and found.name == "agg_label"
    assert found["s0"] == st.DawidSkene().fit(small_crowd()).labels[0]


def test_the_rooms_are_there_on_a_fresh_import() -> None:
    code = "import seqtruth as st; print(st.io.FORMATS is not None, st.report.__name__, st.testing)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
