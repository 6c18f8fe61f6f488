"""What is written comes back, in every format."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seqtruth import io
from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import KINDS
from seqtruth.errors import InputError
from seqtruth.testing import small_crowd
from tests.strategies import (
    corpora,
    crowds,
    document_names,
    marked_texts,
    same_corpus,
    spelled,
)

SPAN_KINDS = tuple(kind for kind in KINDS if kind != "plain")
quick = settings(max_examples=60, deadline=None)


def there_and_back(crowd: Crowd, name: str, scheme: str | None = None, **options: object) -> Crowd:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        io.write(crowd, path, "conll-folder" if name == "folder" else None, **options)
        assert [entry.name for entry in Path(folder).iterdir()] == [name]
        return io.read(path, scheme=scheme)


def said(crowd: Crowd) -> dict[tuple[str, str], list[str | None]]:
    """What CoNLL columns can say: rows with at least one tag."""
    return {pair: tags for pair, tags in spelled(crowd).items() if any(tags)}


@quick
@given(crowds(), st.sampled_from(["a.conll", "a.conll.gz"]))
def test_conll(crowd: Crowd, name: str) -> None:
    back = there_and_back(crowd, name)
    assert same_corpus(back.corpus, crowd.corpus)
    assert back.annotators == crowd.annotators
    assert back.scheme.kind == crowd.scheme.kind
    assert said(back) == said(crowd)


@quick
@given(crowds())
def test_conll_without_comments(crowd: Crowd) -> None:
    numbers = tuple(str(i + 1) for i in range(crowd.n_annotators))
    crowd = Crowd(crowd.corpus, crowd.scheme, numbers, crowd.row_sentence, crowd.row_annotator,
                  crowd.tags)  # fmt: skip
    if crowd.corpus.words(0)[:1] == ["token"]:
        return
    back = there_and_back(crowd, "a.conll", crowd.scheme.kind, comments=False)
    assert back.annotators == numbers
    assert back.corpus.tokens.equals(crowd.corpus.tokens)
    assert list(said(back).values()) == list(said(crowd).values())


@quick
@given(crowds())
def test_conll_folder(crowd: Crowd) -> None:
    back = there_and_back(crowd, "folder")
    assert same_corpus(back.corpus, crowd.corpus)
    assert list(back.annotators) == sorted(crowd.annotators)
    assert said(back) == said(crowd)


@quick
@given(crowds())
def test_label_matrix(crowd: Crowd) -> None:
    texts = [*crowd.annotators, *crowd.corpus.sentence_ids.to_pylist(), *crowd.scheme.labels]
    if any(text.endswith("\0") for text in [*texts, *crowd.corpus.tokens.to_pylist()]):
        return  # NumPy's texts end there
    if not crowd.n_annotators or not crowd.n_tokens:
        return
    back = there_and_back(crowd, "a.npz", crowd.scheme.kind)
    assert back.annotators == crowd.annotators
    assert back.corpus.tokens.equals(crowd.corpus.tokens)
    assert back.corpus.sentence_ids.equals(crowd.corpus.sentence_ids)
    assert said(back) == said(crowd)


@quick
@given(crowds())
def test_jsonl_tokens(crowd: Crowd) -> None:
    back = there_and_back(crowd, "a.jsonl")
    assert same_corpus(back.corpus, crowd.corpus)
    assert back.annotators == crowd.annotators
    assert back.scheme.kind == crowd.scheme.kind
    assert spelled(back) == spelled(crowd)


@quick
@given(crowds(), st.sampled_from(["a.csv", "a.tsv", "a.parquet", "a.csv.gz"]))
def test_token_tables(crowd: Crowd, name: str) -> None:
    back = there_and_back(crowd, name, crowd.scheme.kind)
    assert same_corpus(back.corpus, crowd.corpus)
    assert spelled(back) == spelled(crowd)


@quick
@given(
    crowds(SPAN_KINDS, missing=False, corpus=corpora()),
    st.sampled_from(["a.csv", "a.tsv", "a.parquet"]),
)
def test_span_tables_of_tokens(crowd: Crowd, name: str) -> None:
    legal = crowd.respell("bioes").respell("iob2")  # spans cannot keep an illegal path
    back = there_and_back(legal, name, "iob2", level="span")
    assert same_corpus(back.corpus, legal.corpus)
    assert spelled(back) == spelled(legal)


def _record(name: object, text: str, marked: dict[str, list[dict[str, object]]]) -> str:
    return json.dumps({"id": f"r{name}", "doc": "d", "text": text, "annotations": marked})


def _read_records(lines: list[str], scheme: str | None = None) -> Crowd:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text("\n".join(lines) + "\n")
        return io.read(path, scheme=scheme)


@quick
@given(st.lists(marked_texts(), min_size=1, max_size=3), st.sampled_from(["iob2", "bioes", "iob1"]))
def test_jsonl_texts(records: list, scheme: str) -> None:
    crowd = _read_records([_record(i, *record) for i, record in enumerate(records)], scheme)
    assert crowd.corpus.texts.to_pylist() == [text for text, _ in records]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.jsonl"
        io.write(crowd, path)
        written = [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]
        again = io.read(path, scheme=scheme)
    assert again.digest() == crowd.digest()
    for (text, marked), record in zip(records, written, strict=True):
        assert record["text"] == text
        found = {w: spans for w, spans in record["annotations"].items() if spans is not None}
        expected = {w: sorted(s, key=lambda x: x["start"]) for w, s in marked.items()}
        assert found == expected


@quick
@given(
    st.lists(marked_texts(), min_size=1, max_size=3),
    st.sampled_from(["a.csv", "a.tsv", "a.parquet"]),
)
def test_span_tables_of_texts(records: list, name: str) -> None:
    crowd = _read_records([_record(i, *record) for i, record in enumerate(records)])
    texts = "".join(text for text, _ in records)
    if "\0" in texts and name != "a.parquet":
        return  # text files with NUL bytes are refused
    back = there_and_back(crowd, name)
    assert same_corpus(back.corpus, crowd.corpus)
    assert spelled(back) == spelled(crowd)
    assert document_names(back.corpus) == document_names(crowd.corpus)


@quick
@example(("\r0", {}), small_crowd(n_sentences=2))
@given(marked_texts(), crowds(SPAN_KINDS))
def test_jsonl_of_both_kinds(record: tuple, crowd: Crowd) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        io.write(crowd, path)
        path.write_bytes(path.read_bytes() + _record(" 0", *record).encode())
        mixed = io.read(path)
        io.write(mixed, path)
        assert io.read(path).digest() == mixed.digest()
    assert mixed.scheme.kind == crowd.scheme.kind
    assert mixed.corpus.texts[len(mixed.corpus.texts) - 1].as_py() == record[0]


def test_frames_of_three_libraries() -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    data = {
        "task": [1, 1, 1, 1, 2],
        "worker": ["ann", "ann", "bob", "bob", "bob"],
        "token_index": [0, 1, 0, 1, 0],
        "label": ["B-PER", "O", "O", None, "O"],
    }
    crowds_read = [io.read(make(data)) for make in (pd.DataFrame, pl.DataFrame, pa.table)]
    expected = {
        ("1", "ann"): ["B-PER", "O"],
        ("1", "bob"): ["O", None],
        ("2", "bob"): ["O"],
    }
    for crowd in crowds_read:
        assert spelled(crowd) == expected
        assert crowd.corpus.tokens is None


def test_frames_with_categories() -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    data = {"task": ["b", "a", "a"], "worker": ["x", "x", "y"], "label": ["cat", "dog", None]}
    part = pl.DataFrame(data)
    label = part["label"].cast(pl.Enum(["dog", "cat"]))
    frames = [
        part.cast(pl.Categorical),
        part.with_columns(label),
        pl.concat([part[:1].cast(pl.Categorical), part[1:].cast(pl.Categorical)], rechunk=False),
        pd.DataFrame(data).astype("category"),
        pa.table({name: pa.array(column).dictionary_encode() for name, column in data.items()}),
    ]
    expected = {("b", "x"): ["cat"], ("a", "x"): ["dog"], ("a", "y"): [None]}
    for frame in frames:
        assert spelled(io.read(frame)) == expected
    numbers = pd.DataFrame(data | {"task": [1, 2, 2]}).astype("category")
    assert list(spelled(io.read(numbers))) == [("1", "x"), ("2", "x"), ("2", "y")]


def test_columns_that_are_no_text() -> None:
    pa = pytest.importorskip("pyarrow")
    nested = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([{"a": 1}]))
    for label in (pa.array([{"a": 1}]), nested):
        table = pa.table({"task": ["a"], "worker": ["x"], "label": label})
        with pytest.raises(InputError, match="column 'label' cannot be read as text"):
            io.read(table)


def test_crowd_kit_table_has_one_token_a_task() -> None:
    pa = pytest.importorskip("pyarrow")
    crowd = io.read(pa.table({"task": ["a", "b"], "worker": ["x", "x"], "label": ["cat", "dog"]}))
    assert crowd.scheme.kind == "plain"
    assert crowd.corpus.token_offsets.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_confidence_is_written(tmp_path: Path, name: str) -> None:
    crowd = Crowd.of({"truth": [["B-PER", "O"]]}, [["Ann", "ran"]])
    io.write(crowd, tmp_path / name, confidence=np.array([0.75, 0.5]))
    if name == "a.jsonl":
        assert json.loads((tmp_path / name).read_text())["confidence"] == [0.75, 0.5]
    elif name == "a.csv":
        assert (tmp_path / name).read_text() == (
            "task,worker,token_index,token,label,confidence\n"
            "0,truth,0,Ann,B-PER,0.75\n0,truth,1,ran,O,0.5\n"
        )
    assert spelled(io.read(tmp_path / name)) == spelled(crowd)


@pytest.mark.parametrize(
    ("of_span", "wanted"),
    [(None, 0.5), (np.array([0.25, 0.25, 0.0]), 0.25)],
    ids=["weakest", "own"],
)
def test_spans_are_written_with_their_confidence(tmp_path: Path, of_span, wanted: float) -> None:
    marked = {"truth": [{"start": 0, "end": 7, "label": "PER"}]}
    (tmp_path / "in.jsonl").write_text(_record(0, "Ann Lee ran", marked) + "\n")
    crowd, tokens = io.read(tmp_path / "in.jsonl"), np.array([0.75, 0.5, 0.125])
    io.write(crowd, tmp_path / "a.jsonl", confidence=tokens, span_confidence=of_span)
    (span,) = json.loads((tmp_path / "a.jsonl").read_text())["annotations"]["truth"]
    assert span == marked["truth"][0] | {"confidence": wanted}
    io.write(crowd, tmp_path / "a.csv", confidence=tokens, span_confidence=of_span)
    assert (tmp_path / "a.csv").read_text().splitlines()[1].endswith(f",{wanted}")
    io.write(crowd, tmp_path / "t.csv", confidence=tokens, span_confidence=of_span, level="token")
    rows = (tmp_path / "t.csv").read_text().splitlines()[1:]
    assert [float(row.rsplit(",", 1)[1]) for row in rows] == tokens.tolist()
