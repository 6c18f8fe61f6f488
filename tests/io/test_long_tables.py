"""Token tables in any order, of any column types, cut into any batches, against plain Python."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqtruth import io
from seqtruth.data.crowd import Crowd
from seqtruth.errors import InputError
from seqtruth.io.longtable import scan as scanning
from seqtruth.io.longtable import sources
from strategies import crowds, document_names, spelled

NAMES = ("task", "worker", "token_index", "label", "token", "doc")
Row = tuple[str | None, str | None, int | None, str | None, str | None, str | None]


class Fault(Exception):
    """The oracle's word for a table that must be refused."""


@dataclass
class Read:
    """What a table says, in words."""

    annotators: list[str] = field(default_factory=list)
    lengths: dict[str, int] = field(default_factory=dict)
    tags: dict[tuple[str, str], dict[int, str | None]] = field(default_factory=dict)
    tokens: dict[tuple[str, int], str] = field(default_factory=dict)
    docs: dict[str, str] = field(default_factory=dict)


def oracle(rows: list[Row]) -> Read:
    """Read row by row."""
    read = Read()
    seen: dict[str, set[int]] = {}
    for task, annotator, index, label, token, doc in rows:
        if not task or (label and (not annotator or index is None)):
            raise Fault
        if index is not None and not 0 <= index < len(rows):
            raise Fault
        places = seen.setdefault(task, set())
        if doc and read.docs.setdefault(task, doc) != doc:
            raise Fault
        if index is not None:
            places.add(index)
            if token and read.tokens.setdefault((task, index), token) != token:
                raise Fault
        if annotator:
            if annotator not in read.annotators:
                read.annotators.append(annotator)
            mine = read.tags.setdefault((task, annotator), {})
            if index is not None:
                if index in mine:
                    raise Fault
                mine[index] = label or None
    read.lengths = {task: len(places) for task, places in seen.items()}
    for places in seen.values():
        if places != set(range(len(places))):
            raise Fault
    n_tokens = sum(read.lengths.values())
    if read.tokens and len(read.tokens) != n_tokens:
        raise Fault
    return read


def check(crowd: Crowd, expected: Read) -> None:
    corpus = crowd.corpus
    ids = corpus.sentence_ids.to_pylist()
    assert list(crowd.annotators) == expected.annotators
    assert dict(zip(ids, np.diff(corpus.token_offsets), strict=True)) == expected.lengths
    assert ids == list(expected.lengths)
    assert document_names(corpus) == [expected.docs.get(name, "") for name in ids]
    assert spelled(crowd) == {
        pair: [tags.get(i) for i in range(expected.lengths[pair[0]])]
        for pair, tags in expected.tags.items()
    }
    assert (corpus.tokens is None) == (not expected.tokens)
    if corpus.tokens is not None:
        places = [(name, i) for name in ids for i in range(expected.lengths[name])]
        assert corpus.tokens.to_pylist() == [expected.tokens[place] for place in places]


@st.composite
def tables(draw) -> list[Row]:
    """Rows of a crowd, as they are or in any order; sometimes one field is another."""
    crowd = draw(crowds(kinds=("iob2",)))
    corpus = crowd.corpus
    labels = [*crowd.scheme.labels, None]
    rows: list[Row] = []
    ids, docs = corpus.sentence_ids.to_pylist(), document_names(corpus)
    for s, name in enumerate(ids):
        annotators = [r for r in range(crowd.n_rows) if crowd.row_sentence[r] == s]
        for r in annotators or [None]:
            who = None if r is None else crowd.annotators[crowd.row_annotator[r]]
            words = corpus.words(s)
            for i, word in enumerate(words):
                tag = -1 if r is None else crowd.tags[crowd.row_offsets[r] + i]
                rows.append((name, who, i, labels[tag], word, docs[s] or None))
            if not words:
                rows.append((name, who, None, None, None, docs[s] or None))
    if draw(st.booleans()):
        rows = draw(st.permutations(rows))
    if draw(st.booleans()):
        row, column = draw(st.integers(0, len(rows) - 1)), draw(st.integers(0, 5))
        other = draw(st.sampled_from(rows))[column]
        values = [other, None] + ([-1, 7, 2**40] if column == 2 else [])
        changed = list(rows[row])
        changed[column] = draw(st.sampled_from(values))
        rows = [*rows[:row], tuple(changed), *rows[row + 1 :]]
    return rows


@st.composite
def typed(draw, rows: list[Row], columns: tuple[str, ...] = NAMES) -> pa.Table:
    """The rows as an Arrow table of text, categories and numbers of several sizes."""
    table = {}
    for place, name in enumerate(NAMES):
        values = [row[place] for row in rows]
        if name not in columns:
            continue
        if name == "token_index":
            small = max((abs(v) for v in values if v is not None), default=0) < 100
            numbers = [pa.int64(), pa.float64(), pa.string()]
            numbers += [pa.int8(), pa.int16(), pa.int32()] if small else []
            if all(v is None or v >= 0 for v in values):
                numbers += [pa.uint64(), *([pa.uint8(), pa.uint16()] if small else [])]
            kind = draw(st.sampled_from(numbers))
            texts = kind == pa.string()
            made = pa.array([str(v) if texts and v is not None else v for v in values], kind)
        else:
            kind = draw(st.sampled_from([pa.string(), pa.large_string()]))
            made = pa.array(values, kind)
        table[name] = made.dictionary_encode() if draw(st.booleans()) else made
    return pa.table(table)


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_a_table_reads_as_plain_python_reads_it(data: st.DataObject) -> None:
    rows = data.draw(tables())
    table = data.draw(typed(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "BATCH_ROWS", data.draw(st.sampled_from([1, 2, 3, 1000])))
        try:
            expected = oracle(rows)
        except Fault:
            with pytest.raises(InputError):
                io.read(table, scheme="iob2")
        else:
            check(io.read(table, scheme="iob2"), expected)


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_row_groups_and_batches_change_nothing(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = data.draw(tables())
    table = data.draw(typed(rows))
    path = tmp_path_factory.mktemp("table") / "a.parquet"
    pq.write_table(
        table,
        path,
        row_group_size=data.draw(st.integers(1, 5)),
        use_dictionary=data.draw(st.booleans()),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "BATCH_ROWS", data.draw(st.sampled_from([1, 2, 1000])))
        try:
            expected = oracle(rows)
        except Fault:
            with pytest.raises(InputError):
                io.read(path, scheme="iob2")
        else:
            check(io.read(path, scheme="iob2"), expected)


def test_faults_in_later_batches_name_their_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "BATCH_ROWS", 2)
    monkeypatch.chdir(tmp_path)
    good = {
        "task": ["s", "s", "s", "s", "t"],
        "worker": ["u", "u", "v", "v", "u"],
        "token_index": [0, 1, 0, 1, 0],
        "label": ["O", "B-X", "O", "B-X", "O"],
        "token": ["a", "b", "a", "b", "c"],
        "doc": ["d", "d", "d", "d", "e"],
    }
    for column, row, value, message in (
        ("task", 4, None, "row 5: the task is empty"),
        ("worker", 3, None, "row 4: the annotator is empty; name who gave the label"),
        ("token_index", 3, -1, "row 4: token_index must not be negative; count from 0"),
        ("token_index", 3, None, "row 4: token_index is empty; say which token has the label"),
        ("token_index", 3, 9, "row 4: token_index is higher than the table has rows; got 9; "),
        ("token_index", 4, 2, "row 5: task 't' has no row for token 0; "),
        ("token_index", 3, 0, "row 4: annotator 'v' labelled task 's' twice; "),
        ("token", 3, "x", "row 4: the token differs from the one given before for the same place"),
        ("token", 4, "", "row 5: the token is empty"),
        ("doc", 3, "x", "row 4: the doc differs from the one given before for the same place"),
        ("label", 3, "X-X", "row 4: tag 'X-X' is not IOB2; expected B-, I- or O"),
    ):
        columns = {**good, column: [*good[column][:row], value, *good[column][row + 1 :]]}
        if column == "token_index":  # else the tokens differ
            del columns["token"]
        pq.write_table(pa.table(columns), "a.parquet", row_group_size=3)
        with pytest.raises(InputError) as caught:
            io.read("a.parquet", scheme="iob2")
        assert str(caught.value).startswith(f"a.parquet: {message}")


def test_labels_that_are_only_listed_are_no_labels() -> None:
    names = [f"never-{i}" for i in range(2000)] + ["O", "B-X"]
    label = pa.DictionaryArray.from_arrays(pa.array([2000, 2001, None], pa.int16()), names)
    crowd = io.read(pa.table({"task": ["a", "b", "c"], "worker": ["w"] * 3, "label": label}))
    assert crowd.scheme.labels == ("B-X", "I-X", "O")
    assert crowd.tags.tolist() == [2, 0, -1]


def test_too_many_labels_are_refused() -> None:
    for n in (2049, 5000):
        texts = [str(i) for i in range(n)]
        with pytest.raises(InputError, match=f"at most 2048 different labels.*got {n}"):
            io.read(pa.table({"task": texts, "worker": ["w"] * n, "label": texts}))


def test_a_shuffled_table_in_parts_is_called_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a table that lacks rows, which it looks like part by part."""
    monkeypatch.setattr(scanning, "PART_ROWS", 100)
    n = 400
    index = np.arange(n) % 2
    order = np.random.default_rng(3).permutation(n)
    table = pa.table(
        {
            "task": [f"t{place // 2}" for place in order],
            "worker": ["ann"] * n,
            "token_index": index[order],
            "label": ["O"] * n,
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"rows of task '.*' are not neighbours"):
        scanning.scan(tmp_path / "a.parquet")


def test_an_empty_token_is_found_at_once(tmp_path: Path) -> None:
    n = 200_000
    tokens = ["w"] * n
    tokens[-1] = ""
    table = pa.table(
        {
            "task": [f"t{place // 20}" for place in range(n)],
            "worker": ["ann"] * n,
            "token_index": np.arange(n) % 20,
            "token": tokens,
            "label": ["O"] * n,
        }
    )
    began = time.perf_counter()
    with pytest.raises(InputError, match=rf"row {n}: the token is empty"):
        io.read(table)
    assert time.perf_counter() - began < 10


def test_columns_without_values() -> None:
    """Categories of which there is none, and maps, in any place."""
    nothing = pa.DictionaryArray.from_arrays(pa.array([None], pa.int32()), pa.array([], pa.null()))
    mapped = pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))
    whole = {
        "task": ["a"],
        "worker": ["x"],
        "start": [0],
        "end": [1],
        "label": ["P"],
        "text": ["abc"],
    }
    tokens = {"task": ["a"], "worker": ["x"], "token_index": [0], "token": ["w"], "label": ["O"]}
    for columns in (whole, tokens, {**whole, "tokens": mapped}):
        for name in columns:
            for odd in (nothing, mapped):
                with suppress(InputError):
                    assert io.read(pa.table({**columns, name: odd})).n_sentences == 1


@pytest.mark.parametrize("mark", [",", ";", "|"])
@pytest.mark.parametrize("before", ["", "sep={}\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_tables_as_spreadsheets_write_them(
    tmp_path: Path, mark: str, before: str, encoding: str
) -> None:
    path = tmp_path / "a.csv"
    lines = ["task,worker,token_index,token,label", "s1,Zoë,0,Köln,B-LOC", "s1,Zoë,1,😀,O"]
    text = before.format(mark) + "".join(line.replace(",", mark) + "\r\n" for line in lines)
    path.write_bytes(text.encode(encoding))
    crowd = io.read(path)
    assert (crowd.annotators, crowd.corpus.words(0)) == (("Zoë",), ["Köln", "😀"])
    path.write_bytes((text + f"s1{mark}bob\r\n").encode(encoding))
    with pytest.raises(
        InputError, match=rf"a\.csv:{4 + bool(before)}: 2 columns where the header has 5"
    ):
        io.read(path)
