"""A table streamed in parts says what the same table says in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import seqtruth as st
from seqtruth import io
from seqtruth.data.corpus import concat_corpora
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.engine import Labels
from seqtruth.engine.streaming import ParquetParts
from seqtruth.errors import InputError
from seqtruth.io.longtable import scan, sources, write
from strategies import crowds, same_corpus


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of two rows, read two by two, written three by three."""
    monkeypatch.setattr(scan, "PART_ROWS", 2)
    monkeypatch.setattr(sources, "BATCH_ROWS", 2)
    monkeypatch.setattr(write, "GROUP_ROWS", 3)


def parts_of(parts: ParquetParts) -> list[Crowd]:
    seen: list[Crowd] = []
    parts.add_up(lambda crowd: seen.append(crowd) or {})
    return seen


def check_same(parts: ParquetParts, whole: Crowd) -> None:
    pieces = parts_of(parts)
    for piece in pieces:
        assert piece.scheme == parts.scheme == whole.scheme
        assert piece.annotators == parts.annotators == whole.annotators
    ids = [name for piece in pieces for name in piece.corpus.sentence_ids.to_pylist()]
    assert ids == whole.corpus.sentence_ids.to_pylist()
    first = np.cumsum([0] + [piece.n_sentences for piece in pieces])
    numbers = [p.row_sentence + shift for p, shift in zip(pieces, first, strict=False)]
    np.testing.assert_array_equal(np.concatenate(numbers), whole.row_sentence)
    for name in ("row_annotator", "tags"):
        joined = np.concatenate([getattr(piece, name) for piece in pieces])
        np.testing.assert_array_equal(joined, getattr(whole, name))
    facts = parts.facts
    assert facts.n_sentences == whole.n_sentences
    assert facts.n_tokens == whole.n_tokens
    assert facts.n_annotations == (whole.tags >= 0).sum()
    np.testing.assert_array_equal(facts.annotator_sentences, whole.annotator_sentences)
    np.testing.assert_array_equal(facts.annotator_tokens, whole.annotator_tokens)
    assert facts.has_text == (whole.corpus.tokens is not None)


def own(crowd: Crowd) -> Labels:
    """Some labels that depend on the sentence alone."""
    places = np.arange(crowd.n_tokens) - np.repeat(
        crowd.corpus.token_offsets[:-1], np.diff(crowd.corpus.token_offsets)
    )
    return Labels((places % crowd.n_labels).astype(np.int8), (places / 10).astype(np.float32))


@settings(max_examples=60, deadline=None)
@given(crowd=crowds(), data=some.data())
def test_streamed_is_what_is_read(
    crowd: Crowd, data: some.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("crowd")
    path = folder / "a.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "GROUP_ROWS", data.draw(some.integers(1, 9)))
        io.write(crowd, path, "parquet", level="token")
        table = pq.read_table(path)
        pq.write_table(table, path, row_group_size=data.draw(some.integers(1, 9)))
        patch.setattr(scan, "PART_ROWS", data.draw(some.integers(1, 9)))
        patch.setattr(sources, "BATCH_ROWS", data.draw(some.integers(1, 9)))
        whole = io.read(path)
        parts = ParquetParts(path).seeing_text()
        check_same(parts, whole)
        corpora = [piece.corpus for piece in parts_of(parts)]
        joined = concat_corpora(corpora) if len(corpora) > 1 else corpora[0]
        assert same_corpus(joined, whole.corpus)
        parts.write(own, folder / "labels.parquet")
        labels = own(whole)
        truth = Labelling(whole.corpus, whole.scheme, labels.tags).as_crowd()
        io.write(truth, folder / "whole.parquet", confidence=labels.confidence)
    streamed, in_memory = (
        pq.read_table(folder / name) for name in ("labels.parquet", "whole.parquet")
    )
    assert streamed.equals(in_memory)


def test_a_sentence_over_borders_of_row_groups(tmp_path: Path, small_parts: None) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table(
        {
            "task": ["s"] * 10 + ["t"] * 2,
            "worker": ["v"] * 5 + ["u"] * 5 + ["w"] * 2,
            "token_index": [*range(5), *range(5), 0, 1],
            "label": ["B-X", "I-X", "O", "O", None] * 2 + ["O", "B-Y"],
        }
    )
    pq.write_table(table, path, row_group_size=3)
    parts = ParquetParts(path)
    check_same(parts, io.read(path))
    assert [piece.n_sentences for piece in parts_of(parts)] == [1, 1]
    assert parts.annotators == ("v", "u", "w")


def test_folder_and_pattern_are_one_table(tmp_path: Path, small_parts: None) -> None:
    crowd = st.datasets.load("demo").crowd[:12]
    io.write(crowd, tmp_path / "whole.parquet", level="token")
    table = pq.read_table(tmp_path / "whole.parquet")
    (tmp_path / "parts").mkdir()
    cut = table.num_rows // 3 + 1  # inside a sentence
    for number in range(3):
        piece = table.slice(number * cut, cut)
        pq.write_table(piece, tmp_path / "parts" / f"part-{number}.parquet")
    (tmp_path / "parts" / "_SUCCESS").write_text("")
    whole = io.read(tmp_path / "whole.parquet")
    check_same(ParquetParts(tmp_path / "parts"), whole)
    check_same(ParquetParts(tmp_path / "parts" / "part-*.parquet"), whole)


def test_digest_names_the_files(tmp_path: Path) -> None:
    crowd = st.datasets.load("demo").crowd
    for name in ("one/a.parquet", "two/a.parquet"):
        (tmp_path / name).parent.mkdir()
        io.write(crowd, tmp_path / name, level="token")
    one, two = (ParquetParts(tmp_path / name / "a.parquet").facts for name in ("one", "two"))
    assert one.digest == two.digest
    io.write(crowd[1:], tmp_path / "two" / "a.parquet", level="token")
    assert ParquetParts(tmp_path / "two" / "a.parquet").facts.digest != one.digest


def rows(tasks: str, label: str = "B-X") -> pa.Table:
    """One annotator per row, one token per task."""
    annotators = [f"w{i}" for i in range(len(tasks))]
    return pa.table(
        {"task": list(tasks), "worker": annotators, "label": ["B-X"] * (len(tasks) - 1) + [label]}
    )


@pytest.mark.parametrize("tasks", ["aba", "aabbcca", "abcdeb"])
def test_tasks_that_come_back_are_refused(tasks: str, tmp_path: Path, small_parts: None) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(rows(tasks), path, row_group_size=2)
    with pytest.raises(InputError) as caught:
        ParquetParts(path)
    assert str(caught.value) == (
        f"{path}: row {len(tasks)}: rows of task {tasks[-1]!r} are not neighbours; "
        "sort the table by task, or read it in memory"
    )


def test_other_faults_of_tables(tmp_path: Path, small_parts: None) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(rows("abcde", "X-X"), path)
    with pytest.raises(InputError) as caught:
        ParquetParts(path, "iob2")
    assert str(caught.value) == f"{path}: row 5: tag 'X-X' is not IOB2; expected B-, I- or O"
    (tmp_path / "f").mkdir()
    with pytest.raises(InputError, match="the folder holds no Parquet files"):
        ParquetParts(tmp_path / "f")
    with pytest.raises(InputError, match="no file is named like this"):
        ParquetParts(tmp_path / "f" / "*.parquet")
    with pytest.raises(InputError, match="cannot read the file; got No such file"):
        ParquetParts(tmp_path / "none.parquet")
    pq.write_table(rows("ab"), tmp_path / "f" / "1.parquet")
    pq.write_table(rows("cd").append_column("doc", [["d", "d"]]), tmp_path / "f" / "2.parquet")
    with pytest.raises(InputError, match=r"2.parquet: the columns differ from those of 1.parquet"):
        ParquetParts(tmp_path / "f")
    io.write(st.datasets.load("demo").crowd, path, level="span")
    with pytest.raises(InputError, match="a table of spans cannot be read in parts"):
        ParquetParts(path)


def test_a_fault_met_while_streaming_comes_through(tmp_path: Path, small_parts: None) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(rows("abcde"), path)
    parts = ParquetParts(path)
    pq.write_table(rows("abcdefg"), path)
    with pytest.raises(InputError, match="the table has changed since it was scanned"):
        parts.add_up(lambda crowd: {})
    with pytest.raises(InputError, match="the table has changed since it was scanned"):
        parts.write(own, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_result_and_parts_write_the_same_rows(tmp_path: Path) -> None:
    crowd = st.datasets.load("demo").crowd
    path = tmp_path / "a.parquet"
    io.write(crowd, path, level="token")
    result = st.MajorityVote().fit(io.read(path))
    result.write(tmp_path / "whole.parquet")
    st.MajorityVote().fit(ParquetParts(path)).write(tmp_path / "parts.parquet")
    one, two = (pq.read_table(tmp_path / name) for name in ("whole.parquet", "parts.parquet"))
    assert one.drop_columns(["confidence"]).equals(two.drop_columns(["confidence"]))
    np.testing.assert_allclose(one["confidence"], two["confidence"], rtol=1e-6)
    np.testing.assert_array_equal(io.read(tmp_path / "parts.parquet").tags, result.tags)


def test_the_digest_knows_the_labels_and_not_their_bounds_only(tmp_path: Path) -> None:
    """Same name, size and footer, other labels: was taken for the same run by resume."""
    digests = []
    for number, tags in enumerate((["B-PER", "B-LOC", "O"], ["B-LOC", "B-PER", "O"])):
        table = pa.table({
            "task": ["s"] * 3, "worker": ["a"] * 3, "token": ["x", "y", "z"], "label": tags,
            "token_index": [0, 1, 2],
        })  # fmt: skip
        path = tmp_path / str(number) / "a.parquet"
        path.parent.mkdir()
        pq.write_table(table, path, compression="none", use_dictionary=False)
        digests.append(ParquetParts(path).facts.digest)
    first, second = (tmp_path / str(n) / "a.parquet" for n in (0, 1))
    assert first.stat().st_size == second.stat().st_size
    assert first.read_bytes()[-400:] == second.read_bytes()[-400:]
    assert digests[0] != digests[1]
