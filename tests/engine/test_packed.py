"""Packing long tables: nothing is lost, in whatever order and batches the rows come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seqtruth
from seqtruth.data.crowd import Crowd
from seqtruth.engine import packed, sum_rows
from seqtruth.engine.base import add
from seqtruth.engine.packed import Layout
from seqtruth.errors import InputError
from seqtruth.io.longtable.build import count_rows
from seqtruth.io.longtable.write import token_table
from strategies import crowds as some_crowds
from strategies import document_names, spelled


def long_table(crowd: Crowd) -> pa.Table:
    """The rows of a crowd as an engine hands them over: plain types, empty text as null."""
    table = token_table(crowd, None)
    doc = "doc" in table.column_names
    types = {"token_index": pa.int64()}
    columns = {name: table[name].cast(types.get(name, pa.string())) for name in table.column_names}
    if doc:
        columns["doc"] = pa.array([name or None for name in table["doc"].to_pylist()], pa.string())
    return pa.table(columns)


def layout_of(table: pa.Table, crowd: Crowd) -> Layout:
    doc = "doc" in table.column_names
    return Layout(crowd.annotators, crowd.scheme.labels, len(table), text=True, doc=doc)


def packed_batches(table: pa.Table, crowd: Crowd, batch: int, limit: int) -> list[pa.RecordBatch]:
    layout = layout_of(table, crowd)
    runs = pa.Table.from_batches(
        [
            packed.cut(rows, layout)
            for rows in packed.joined(
                table.combine_chunks().to_batches(max_chunksize=batch), n_rows=limit
            )
        ],
        layout.runs,
    )
    order = [("task", "ascending"), ("worker", "ascending"), ("first", "ascending")]
    runs = runs.sort_by(order).combine_chunks()
    return list(packed.pack(runs.to_batches(max_chunksize=batch), layout, limit))


@given(some_crowds(), st.randoms(use_true_random=False), st.integers(1, 9), st.integers(1, 20))
def test_packing_keeps_everything(crowd, random, batch, limit):
    table = long_table(crowd)
    order = list(range(len(table)))
    random.shuffle(order)
    batches = packed_batches(table.take(order), crowd, batch, limit)
    parts = list(packed.crowds(batches, crowd.scheme, crowd.annotators, limit))
    assert all(
        part.annotators == crowd.annotators and part.scheme == crowd.scheme for part in parts
    )
    whole = Crowd.concat(parts)
    assert spelled(whole) == spelled(crowd)
    assert words_of(whole) == words_of(crowd)
    assert sum(part.n_sentences for part in parts) == crowd.n_sentences


def words_of(crowd: Crowd) -> dict[str, tuple[list[str], str]]:
    corpus = crowd.corpus
    names = zip(corpus.sentence_ids.to_pylist(), document_names(corpus), strict=True)
    return {name: (corpus.words(s), doc) for s, (name, doc) in enumerate(names)}


@given(some_crowds(), st.integers(1, 5), st.integers(1, 5), st.integers(1, 20))
def test_parts_do_not_depend_on_batches(crowd, batch, other, limit):
    table = pa.Table.from_batches(packed_batches(long_table(crowd), crowd, 100, 100))
    cut = [
        [part.corpus.sentence_ids.to_pylist() for part in made]
        for size in (batch, other)
        for made in [
            packed.crowds(
                table.combine_chunks().to_batches(max_chunksize=size),
                crowd.scheme,
                crowd.annotators,
                limit,
            )
        ]
    ]
    assert cut[0] == cut[1]


@given(some_crowds(), st.integers(1, 20))
def test_shapes_add_up(crowd, limit):
    batches = packed_batches(long_table(crowd), crowd, 100, 100)
    parts = packed.crowds(batches, crowd.scheme, crowd.annotators, limit)
    sums = add(count_rows(part, crowd.n_annotators, crowd.n_labels) for part in parts)
    assert sums["sizes"].tolist() == [crowd.n_sentences, crowd.n_tokens]
    assert sums["sentences"].tolist() == crowd.annotator_sentences.tolist()
    assert sums["tokens"].tolist() == crowd.annotator_tokens.tolist()
    assert sums["pairs"].sum() == (crowd.tags >= 0).sum()


def rows(**columns: list[object]) -> pa.RecordBatch:
    n = max(map(len, columns.values()))
    whole = {
        "task": ["t"] * n,
        "worker": ["a"] * n,
        "token_index": list(range(n)),
        "label": ["O"] * n,
    }
    types = {"token_index": pa.int64()}
    return pa.record_batch(
        {k: pa.array(v, types.get(k, pa.string())) for k, v in (whole | columns).items()}
    )


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"task": ["t", None]}, "^the task is empty"),
        ({"worker": ["a", None]}, "^task 't': the annotator is empty"),
        ({"token_index": [0, -1]}, "must not be negative"),
        ({"token_index": [0, None]}, "token_index is empty"),
        ({"token_index": [0, 2**40]}, "higher than the table has rows"),
        ({"token_index": [0, 2]}, "^task 't' has no row for token 1"),
        ({"token_index": [1, 2]}, "^task 't' has no row for token 0"),
        ({"token_index": [0, 0]}, "^task 't': annotator 'a' labelled task 't' twice"),
        ({"worker": ["a", "z"]}, "changed since it was scanned"),
        ({"label": ["O", "Q"]}, "changed since it was scanned"),
        (
            {"worker": ["a", "b"], "token_index": [0, 0], "token": ["x", "y"]},
            "^task 't': the token differs from the one given before",
        ),
        ({"doc": ["x", "y"]}, "^task 't': the doc differs from the one given before"),
        ({"token": ["x", None]}, "^task 't': the token is empty"),
    ],
)
def test_faults_are_told(columns, fault):
    batch = rows(**columns)
    layout = Layout(("a", "b"), ("O",), 9, "token" in columns, "doc" in columns)
    with pytest.raises(InputError, match=fault):
        runs = pa.Table.from_batches([packed.cut(batch, layout)])
        order = [("task", "ascending"), ("worker", "ascending"), ("first", "ascending")]
        list(packed.pack(runs.sort_by(order).to_batches(), layout, 9))


@given(st.integers(1, 6), st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_sums_as_rows(n_parts, seed, random):
    tables = np.random.default_rng(seed).normal(size=(n_parts, 50, 50)) * 1e9
    sums = [{"table": table, "n": np.array(3), "none": np.zeros((0, 2))} for table in tables]
    batches = [
        batch for i, part in enumerate(sums) for batch in sum_rows.to_rows(i // 2, i % 2, part)
    ]
    travelled = [row for batch in batches for row in batch.to_pylist()]
    order = [("name", "ascending"), ("piece", "ascending")]
    order += [("partition", "ascending"), ("part", "ascending")]
    sorted_rows = pa.Table.from_batches(batches).sort_by(order).to_batches(max_chunksize=5)
    merged = [row for batch in sum_rows.merge(sorted_rows) for row in batch.to_pylist()]
    expected = add(sums)
    random.shuffle(travelled)
    assert len(sum_rows.from_rows(travelled)) == n_parts
    for rows in (travelled, merged):
        found = add(sum_rows.from_rows(rows))
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            assert found[name].dtype == array.dtype
            assert np.array_equal(found[name], array)


def test_a_crowd_read_back_is_the_same():
    crowd = seqtruth.Crowd.of({"a": [["O"], None], "b": [[None], ["O"]]}, tokens=[["x"], ["y"]])
    [part] = packed.crowds(
        packed_batches(long_table(crowd), crowd, 9, 9), crowd.scheme, ("a", "b"), 9
    )
    assert part.digest() == crowd.digest()
