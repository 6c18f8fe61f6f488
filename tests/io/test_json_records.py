"""JSON files of every shape, cut at any place, whole or damaged."""

from __future__ import annotations

import gzip
import json
import math
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqtruth.errors import DataWarning, InputError
from seqtruth.io.json_records import json_records, records_in

SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), max_size=5)


def read(data: bytes, size: int | None = None) -> list[object]:
    size = size or max(1, len(data))
    chunks = [data[place : place + size] for place in range(0, len(data), size)]
    return [record.value for record in records_in(chunks, "x.json")]


@given(
    objects=st.lists(VALUES, max_size=5),
    size=st.integers(1, 40),
    indent=st.sampled_from([None, 0, 2]),
    plain=st.booleans(),
)
@settings(deadline=None)
def test_an_array_is_its_elements_wherever_it_is_cut(objects, size, indent, plain):
    text = json.dumps(objects, indent=indent, ensure_ascii=plain)
    assert read(text.encode(), size) == objects


@given(
    objects=OBJECTS.filter(lambda objects: objects and objects[0]),
    size=st.integers(1, 40),
    indent=st.sampled_from([None, 2]),
)
@settings(deadline=None)
def test_values_after_each_other_need_no_lines(objects, size, indent):
    text = "\n".join(json.dumps(value, indent=indent) for value in objects)
    assert read(text.encode(), size) == objects
    assert read(text.encode()) == objects


@given(st.binary(max_size=60), st.integers(1, 20))
@settings(deadline=None)
def test_any_bytes_are_read_or_refused(data, size):
    try:
        read(data, size)
    except InputError as error:
        assert str(error)


@given(st.lists(st.sampled_from('[]{}",:\\1 \n'), max_size=30).map("".join))
@settings(deadline=None, max_examples=500)
def test_what_json_reads_is_read_and_nothing_else(text):
    try:
        expected = json.loads(text, strict=True)
    except ValueError:
        return
    expected = expected if isinstance(expected, list) else [expected]
    assert read(text.encode()) == expected


@pytest.mark.parametrize(
    ("data", "where", "what"),
    [
        (b"", "x.json", "empty"),
        (b'[{"a": 1}', "x.json:1", "ends in the middle"),
        (b'[{"a": 1},\n\n{"b": ', "x.json:3", "ends in the middle"),
        (b'{"a": 1}\n{"b": \n{"c": 3}\n', "x.json:2", "not JSON"),
        (b'[{"a": 1},\n{"b":\n oops}]', "x.json:3", "not JSON"),
        (b'[{"a": 1}\n{"b": 1}]', "x.json:1", "not separated by one comma"),
        (b'[{"a": 1}]\n7', "x.json:2", "after the end"),
        (b'{"a": 1}\n{"b": "\xff"}', "x.json:2", "not UTF-8"),
        (b'[{"a": 1},\n{"b": "\0"}]', "x.json:2", "not text"),
        (b"[" * 100_000, "x.json:1", "ends in the middle"),
        (b"[" * 100_000 + b"]" * 100_000, "x.json:1", "depth"),
    ],
)
def test_a_fault_has_its_line(data, where, what):
    with pytest.raises(InputError, match=what) as caught:
        read(data)
    assert caught.value.where == where


def test_every_record_has_its_line(tmp_path: Path):
    path = tmp_path / "x.json"
    path.write_text('\n[\n{"a":\n1},\n\n{"b": 2}, 7\n]\n')
    assert [(value, where.rpartition(":")[2]) for value, where in json_records(path)] == [
        ({"a": 1}, "3"), ({"b": 2}, "6"), (7, "6"),
    ]  # fmt: skip


def test_lines_that_are_arrays_stay_whole():
    assert read(b'["a", {}]\n["b", {}]\n') == [["a", {}], ["b", {}]]


def test_what_python_writes_beyond_the_standard():
    with pytest.warns(DataWarning, match=r"x\.json:2: halves of surrogate pairs"):
        _, value = read(b'{}\n{"nan": NaN, "half": "a\\ud83d!", "pair": "\\ud83d\\ude00"}')
    assert math.isnan(value["nan"])
    assert (value["half"], value["pair"]) == ("a\ufffd!", "\U0001f600")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(b'{"a": "\\ud83d\\ude00", "b": -Infinity}')[0]["b"] == -math.inf


def test_gzip_and_byte_order_mark(tmp_path: Path):
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbf[{"a": 1}]'))
    assert [record.value for record in json_records(path)] == [{"a": 1}]
    path.write_bytes(gzip.compress(b'[{"a": 1}]' * 99)[:-12])
    with pytest.raises(InputError, match=r"damaged|after the end"):
        list(json_records(path))
    path.write_bytes('[{"a": "é😀"}]'.encode("utf-16"))
    assert [record.value for record in json_records(path)] == [{"a": "é😀"}]
    path.write_bytes('[{"a": "é😀"}]'.encode("utf-16")[:-1])
    with pytest.raises(InputError, match="not the UTF-16 that its byte-order mark says"):
        list(json_records(path))


def test_a_record_without_end_is_refused_before_memory_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SEQTRUTH_MAX_RECORD", "1000")
    with pytest.raises(InputError, match="too large"):
        read(b'[{"a": "' + b"x" * 5000, 100)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": "' + b"\\" * 3_000_000 + b'"}',
        b'[{"' + b'a": 1, "' * 300_000 + b'a": 1}]',
        b'[{"a": "' + b"x" * 5_000_000 + b'"}]',
        b"[" + b"\n" * 3_000_000 + b"]",
        b"[" + b",".join([b"1"] * 1_000_000) + b"]",
    ],
    ids=["backslashes", "repeated keys", "a huge string", "blank lines", "numbers"],
)
def test_time_is_linear(data):
    start = time.perf_counter()
    read(data, 1 << 18)
    assert time.perf_counter() - start < 5
