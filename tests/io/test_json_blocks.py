"""Records that a kernel reads into columns, against the same records read one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqtruth import io
from seqtruth.errors import InputError
from seqtruth.io import json_blocks

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


def outcome(path: Path) -> tuple[str, ...]:
    """What reading gives: all of a crowd, or the fault."""
    try:
        crowd = io.read(path, "jsonl")
    except InputError as error:
        return (str(error),)
    names = [crowd.corpus.documents[n] for n in crowd.corpus.sentence_document.tolist()]
    return (crowd.digest(), *crowd.annotators, *names, *crowd.corpus.sentence_ids.to_pylist())


@given(files())
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@pytest.mark.filterwarnings("ignore::seqtruth.errors.DataWarning")
def test_columns_are_the_records(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content, newline="")
    with pytest.MonkeyPatch.context() as patch:
        fast = outcome(path)
        patch.setattr(json_blocks, "_MOST", 0)
        assert outcome(path) == fast


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
