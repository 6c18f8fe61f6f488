"""Records that a kernel reads into columns, against the same records read one by one."""

from __future__ import annotations

import json
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqtruth import io
from seqtruth.errors import InputError
from seqtruth.io import json_blocks
from seqtruth.io.formats import jsonl_texts
from seqtruth.io.sentences import SPLITS

words = st.text(min_size=1, max_size=5).filter(str.strip)
tags = st.sampled_from(["O", "B-X", "I-X", 'B-é"\\', None])
annotators = st.sampled_from(["ann", "bob", 'Zoë "q"', "李"])
#: What stands in a file here and there: blanks, escapes, keys of other orders, faults.
odd_lines = st.sampled_from(
    [
        "", "  ", "{}", "[]", "null", '{"id": 1}', '{"tokens": [], "annotations": {}}',
        '{"id": "t", "tokens": ["a", ""], "annotations": {}}',
        '{"id": "u", "tokens": ["a"], "annotations": {"x": ["O", "O"]}}',
        '{"id": "v", "tokens": ["a"], "annotations": {"x": ["O"], "x": ["O"]}}',
        '{"id": "w", "tokens": ["a"], "id": "z", "annotations": {}}',
        '{"id": 01, "tokens": ["a"], "annotations": {}}',
        '{"id": 1.5, "tokens": ["a"], "annotations": {}}',
        '{"id": 12345678901234567890, "tokens": ["a"], "annotations": {}}',
        '{"id": "b", "tokens": ["\\ud800"], "annotations": {}}',
        '{"id": "c", "tokens": ["\\ud83d\\ude00\\u00e9\\n"], "annotations": {"x": ["B-\\u0058"]}}',
        '{"id": "d", "tokens": ["a"], "confidence": [0.5], "annotations": {"x": ["O"]}}',
        '{"id": "e", "tokens": ["a"], "annotations": {"x": ["O"]}} ',
        '{"id": "f", "tokens": ["a"], "annotations": {"x": ["O"]}}x',
        '{"id": "g", "tokens": ["a"], "annotations": {"": ["O"]}}',
        '{"id": "h", "tokens": ["a"], "scheme": "iob7", "annotations": {}}',
        '{"id": "i", "tokens": ["a"], "scheme": "iob2", "annotations": {"x": [3]}}',
        '{"id": "j", "doc": "D", "tokens": ["a b"], "annotations": {"x": null}}\r',
        '{"id": "k", "text": "Ann ran", "annotations": {"x": [{"start": 0, "end": 3, "label": "P"}]}}',
        '{"id": "l", "tokens": ["a",], "annotations": {}}',
        '{"id": "m", "tokens": ["a"], "annotations": {"x": ["O"]}',
        '{"id": "n", "tokens": ["a\tb"], "annotations": {}}',
    ]
)  # fmt: skip


@st.composite
def records(draw: st.DrawFn, number: int) -> str:
    tokens = draw(st.lists(words, max_size=4))
    notes = {
        name: draw(st.none() | st.lists(tags, min_size=len(tokens), max_size=len(tokens)))
        for name in draw(st.lists(annotators, max_size=3, unique=True))
    }
    record: dict[str, Any] = {"id": draw(st.sampled_from([f"r{number}", number]))}
    if draw(st.booleans()):
        record["doc"] = draw(st.sampled_from(["", "d1", "d2"]))
    record |= {"tokens": tokens, "annotations": notes}
    if draw(st.integers(0, 3)) == 0:
        del record["id"]
    keys = draw(st.permutations(list(record)))
    blanks = draw(st.sampled_from([(", ", ": "), (",", ":"), (" , ", " :\t")]))
    return json.dumps(
        {key: record[key] for key in keys}, ensure_ascii=draw(st.booleans()), separators=blanks
    )


@st.composite
def files(draw: st.DrawFn) -> str:
    plain = [draw(records(number)) for number in range(draw(st.integers(1, 6)))]
    for line in draw(st.lists(odd_lines, max_size=2)):
        plain.insert(draw(st.integers(0, len(plain))), line)
    return "\n".join(plain) + draw(st.sampled_from(["", "\n"]))


#: Pieces of texts: scripts, blanks and signs that are looked at closely, and what is written by escapes.
PIECES = (
    "Ann ", "Dr. ", "3.50", "1,5年", "北京", "Nguyễn ", "e\u0301 ", "🇩🇪", "😀", "\n", "\t", '"q" ', "\\ ",
    "\x1c", "\u2028", "。", "x" * 9, "é" * 7,
)  # fmt: skip


@st.composite
def text_records(draw: st.DrawFn, number: int) -> str:
    text = "".join(draw(st.lists(st.sampled_from(PIECES), max_size=8)))
    place = st.integers(0, len(text) + draw(st.sampled_from([0, 0, 0, 1])))
    notes: dict[str, Any] = {}
    for name in draw(st.lists(annotators, max_size=3, unique=True)):
        pairs = draw(st.none() | st.lists(st.tuples(place, place).map(sorted), max_size=3))
        if pairs is not None and draw(st.integers(0, 3)):  # most people's marks do not overlap
            borders = sorted({x for pair in pairs for x in pair})
            pairs = list(zip(borders[::2], borders[1::2], strict=False))
        notes[name] = pairs and [
            {"start": a, "end": b, "label": draw(st.sampled_from(["P", "L", "Ä"]))}
            for a, b in pairs
        ]
    record = {"id": f"r{number}", "text": text, "annotations": notes}
    if draw(st.booleans()):
        record |= {"doc": draw(st.sampled_from(["", "d1", "d2"])), "offset": 7 * number}
    return json.dumps(record, ensure_ascii=draw(st.booleans()))


@st.composite
def text_files(draw: st.DrawFn) -> str:
    lines = [draw(text_records(number)) for number in range(draw(st.integers(1, 6)))]
    for line in draw(st.lists(odd_lines, max_size=1)) if draw(st.booleans()) else ():
        lines.insert(draw(st.integers(0, len(lines))), line)
    return "\n".join(lines)


def outcome(path: Path, **options: str) -> tuple[Any, ...]:
    """What reading gives: all of a crowd with the warnings, or the fault."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            crowd = io.read(path, "jsonl", **options)
        except InputError as error:
            return (str(error),)
    columns = [
        None if column is None else column.tolist() if isinstance(column, np.ndarray) else column
        for one in (crowd.corpus, crowd)
        for column in (getattr(one, entry.name) for entry in fields(one) if entry.name != "corpus")
    ]
    # labels of a layer are told as they are met, which is another order where marks are not sorted
    told = ["".join(sorted(str(one.message))) for one in warned]
    return (crowd.digest(), *columns, *told)


@given(files())
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_columns_are_the_records(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content, newline="")
    with pytest.MonkeyPatch.context() as patch:
        fast = outcome(path)
        patch.setattr(json_blocks, "_MOST", 0)
        assert outcome(path) == fast


@given(text_files(), st.sampled_from(SPLITS), st.sampled_from(["layers", "error"]))
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_columns_are_the_texts(tmp_path: Path, content: str, split: str, overlap: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content, newline="")
    with pytest.MonkeyPatch.context() as patch:
        fast = outcome(path, split=split, overlap=overlap)
        patch.setattr(jsonl_texts, "_FEW", 1)
        assert outcome(path, split=split, overlap=overlap) == fast
        patch.setattr(json_blocks, "_MOST", 0)
        assert outcome(path, split=split, overlap=overlap) == fast


def test_a_file_in_many_blocks_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        json.dumps({"id": n, "tokens": ["a"] * (n % 5), "annotations": {f"p{n % 3}": ["O"] * (n % 5)}})
        for n in range(500)
    ]  # fmt: skip
    path.write_text("\n".join(lines))
    whole = outcome(path)
    for size in (1, 100, 3000):
        monkeypatch.setattr(json_blocks, "BLOCK", size)
        monkeypatch.setattr(io.chunks, "CHUNK", size)
        assert outcome(path) == whole
    path.write_text("\n".join([*lines, '{"id": 3, "tokens": [], "annotations": {}}']))
    with pytest.raises(InputError, match=r"a\.jsonl:501: .*'3' is given twice.*a\.jsonl:4"):
        io.read(path)


def test_an_id_that_stands_twice_is_said_with_both_places(tmp_path: Path) -> None:
    """Both lines are in one block, so that neither is in the crowd yet when the other is met."""
    line = '{"id": "s1", "text": "Ann ran", "annotations": {"ann": []}}\n'
    (tmp_path / "a.jsonl").write_text(2 * line)
    with pytest.raises(InputError, match=r"a\.jsonl:2.*a\.jsonl:1"):
        io.read(tmp_path / "a.jsonl")
