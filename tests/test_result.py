"""A result as a Python user meets it: strings, frames, a short repr, a notebook view, saved with its
crowd."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import seqtruth as st
from seqtruth.errors import DataError, DataWarning, MissingExtraError, ParameterError
from seqtruth.testing import small_crowd


@pytest.fixture(scope="module")
def result() -> st.Result:
    return st.DawidSkene().fit(small_crowd())


def test_labels_are_strings(result: st.Result) -> None:
    assert len(result.labels) == 40
    assert [label for row in result.labels for label in row] == [
        result.scheme.labels[t] for t in result.tags
    ]
    bare = st.MajorityVote().fit(
        st.Crowd.of({"a": [["O"], None], "b": [["B-X"], None]}, [["x"], ["y"]])
    )
    assert bare.labels[1] == [None]


@pytest.mark.parametrize("library", ["arrow", "pandas", "polars"])
def test_frames(result: st.Result, library: str) -> None:
    tokens = result.to_frame("tokens", library)
    columns = tokens.column_names if library == "arrow" else list(tokens.columns)
    assert columns == ["document", "sentence", "token_index", "token", "label", "confidence"]
    assert len(tokens) == result.corpus.n_tokens
    spans = result.to_frame("spans", library)
    assert len(spans) == len(result.spans())
    assert len(result.to_frame("sentences", library)) == 40
    assert len(result.to_frame("annotators", library)) == 5


def test_frames_say_the_same_as_the_result(result: st.Result) -> None:
    tokens = result.to_frame().to_pydict()
    assert tokens["label"] == [label for row in result.labels for label in row]
    assert tokens["token_index"][:3] == [0, 1, 2]
    np.testing.assert_array_equal(tokens["confidence"], result.token_confidence)
    first = result.to_frame("spans").to_pylist()[0]
    span = result.spans()[0]._asdict()
    assert first == {name: span[name] for name in first} and first["text"] == span["text"]
    sentences = result.to_frame("sentences")
    assert sum(sentences["spans"].to_pylist()) == len(result.spans())
    ranked = result.annotators.to_frame()["weight"].to_pylist()
    assert ranked == sorted(ranked)


def test_frames_without_tokens_and_without_sentences() -> None:
    table = pa.table({"task": ["a", "a"], "worker": ["x", "y"], "label": ["B-P", "O"]})
    found = st.MajorityVote().fit(table)
    assert "token" not in found.to_frame().column_names
    empty = st.Crowd.build(st.Corpus.of([]), ["O"], ["a", "b"], [], [], np.zeros(0, np.int16))
    nothing = st.MajorityVote().fit(empty)
    for kind in ("tokens", "spans", "sentences"):
        assert nothing.to_frame(kind).num_rows == 0
    assert nothing.labels == [] and "<table>" in nothing._repr_html_()


def test_wrong_words(result: st.Result) -> None:
    with pytest.raises(ParameterError, match="tokens, spans, sentences, annotators"):
        result.to_frame("words")
    with pytest.raises(ParameterError, match="arrow, pandas, polars"):
        result.to_frame("tokens", library="excel")


def test_a_library_that_is_not_there(result: st.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"seqtruth\[frames\]"):
        result.to_frame("tokens", library="polars")


def test_one_order_of_annotators(result: st.Result) -> None:
    annotators = result.annotators
    assert annotators.names == small_crowd().annotators
    assert [row["annotator"] for row in annotators] == list(annotators.names)
    assert annotators["w3"]["weight"] == annotators.weight[3]
    ranked = annotators.ranked()
    worst = int(annotators.weight.argmin())
    assert ranked.names[0] == annotators.names[worst]
    np.testing.assert_array_equal(ranked.confusion[0], annotators.confusion[worst])
    assert str(annotators).splitlines()[1].startswith(annotators.names[worst])
    with pytest.raises(DataError, match="no such annotator"):
        annotators["nobody"]


def test_short_and_for_notebooks(result: st.Result) -> None:
    assert repr(result).startswith("<Result of ds: 40 sentences") and len(repr(result)) < 150
    assert "w4" in result._repr_html_() and len(repr(result.annotators)) < 60
    evil = replace(
        small_crowd(),
        annotators=("<script>alert(1)</script>", *(f"w{i}" * 200 for i in range(1, 5))),
    )
    for thing in (evil, st.MajorityVote().fit(evil)):
        page = thing._repr_html_()
        assert "<script>" not in page and "&lt;script&gt;" in page and len(page) < 8000


def test_warnings_are_kept_and_shown(tmp_path: Path) -> None:
    with pytest.warns(DataWarning, match="only one annotator"):
        found = st.MajorityVote().fit(small_crowd().select_annotators(["w0"]))
    assert len(found.warnings) == 1 and "only one annotator" in found.warnings[0]
    found.save(tmp_path / "r")
    assert st.Result.load(tmp_path / "r").warnings == found.warnings
    assert "only one annotator" in found._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataWarning):
            st.MajorityVote().fit(small_crowd().select_annotators(["w0"]))


def test_a_result_knows_its_crowd(tmp_path: Path) -> None:
    crowd = small_crowd()
    found = st.MajorityVote().fit(crowd, small_crowd(kind="bioes").select_annotators(["w0"])[:3])
    assert found.crowd is crowd
    found.report(tmp_path / "a.html")
    found.report(tmp_path / "b.html", crowd=crowd)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    found.save(tmp_path / "without")
    assert st.Result.load(tmp_path / "without").crowd is None
    found.save(tmp_path / "with", crowd=True)
    again = st.Result.load(tmp_path / "with")
    assert again.crowd is not None and again.crowd.digest() == crowd.digest()
    again.report(tmp_path / "c.html")
    shown = [
        (tmp_path / name).read_text().partition('id="data">')[2].partition("</script>")[0]
        for name in ("a.html", "c.html")
    ]
    assert "w4" in shown[0] and shown[0] == shown[1]
    with pytest.raises(DataError, match="does not know the crowd"):
        replace(found, crowd=None).save(tmp_path / "x", crowd=True)
    with pytest.raises(DataError, match="not the one"):
        replace(found, crowd=crowd[:5]).save(tmp_path / "x", crowd=True)


def test_writing(result: st.Result, tmp_path: Path) -> None:
    st.write(result, tmp_path / "a.jsonl")
    result.write(tmp_path / "b.jsonl")
    result.write(tmp_path / "c", format="jsonl")
    texts = {(tmp_path / name).read_bytes() for name in ("a.jsonl", "b.jsonl", "c")}
    assert len(texts) == 1 and b"confidence" in texts.pop()


def test_evaluate_is_one_function(result: st.Result) -> None:
    assert st.evaluate is st.metrics.evaluate
    gold = small_crowd().select_annotators(["w0"])
    assert result.evaluate(gold) == st.evaluate(result, gold)
