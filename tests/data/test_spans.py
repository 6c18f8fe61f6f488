"""Spans against conlleval's rules on strings, and the round trips between spans and tags."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.conlleval import chunks
from oracles.generate import KINDS, TYPES, spanned_sentences, tags
from oracles.spelling import SpanList, merge_touching, spell
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import Spans, convert, extract, paint
from seqtruth.errors import DataError, ParameterError

Sentences = list[tuple[int, SpanList]]


def flat(sentences: list[list[str]], scheme: Scheme) -> tuple[np.ndarray, np.ndarray]:
    codes = np.array([scheme.index(tag) for tags in sentences for tag in tags], np.int8)
    return codes, np.cumsum([0] + [len(tags) for tags in sentences]).astype(np.int64)


def unflat(spans: Spans, n: int, scheme: Scheme) -> list[SpanList]:
    found: list[SpanList] = [[] for _ in range(n)]
    for s, start, end, kind in zip(*(column.tolist() for column in spans), strict=True):
        found[s].append((start, end, scheme.types[kind]))
    return found


def scheme_of(kind: str) -> Scheme:
    return Scheme.of(kind, [f"I-{name}" for name in TYPES])


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_extract_reads_any_tags_as_conlleval_does(kind: str, data: st.DataObject) -> None:
    sentences = data.draw(st.lists(st.lists(tags(kind), max_size=7), max_size=4))
    scheme = scheme_of(kind)
    spans = extract(*flat(sentences, scheme), scheme)
    assert unflat(spans, len(sentences), scheme) == [chunks(tags) for tags in sentences]


@pytest.mark.parametrize("kind", ["iob2", "bioes", "bilou"])
@given(data=st.data())
def test_b_required_keeps_the_spans_that_open_with_b(kind: str, data: st.DataObject) -> None:
    sentences = data.draw(st.lists(st.lists(tags(kind), max_size=7), max_size=4))
    scheme = scheme_of(kind)
    spans = extract(*flat(sentences, scheme), scheme, "b-required")
    expected = [[c for c in chunks(tags) if tags[c[0]][0] in "BSU"] for tags in sentences]
    assert unflat(spans, len(sentences), scheme) == expected


@pytest.mark.parametrize("kind", ["io", "iob1", "plain"])
@given(data=st.data())
def test_readings_agree_where_b_is_not_needed(kind: str, data: st.DataObject) -> None:
    sentences = data.draw(st.lists(st.lists(tags(kind), max_size=7), max_size=4))
    used = [tag for sentence in sentences for tag in sentence]
    scheme = Scheme.of(kind, used)
    one, two = (extract(*flat(sentences, scheme), scheme, r) for r in ("conlleval", "b-required"))
    assert all((a == b).all() for a, b in zip(one, two, strict=True))


def test_plain_tags_are_spans_of_one_token() -> None:
    scheme = Scheme.of("plain", ["DET", "NOUN"])
    spans = extract(np.array([1, 1, -1, 0], np.int8), np.array([0, 2, 4]), scheme)
    assert unflat(spans, 2, scheme) == [[(0, 1, "NOUN"), (1, 2, "NOUN")], [(1, 2, "DET")]]
    with pytest.raises(DataError):
        paint(spans, np.array([0, 2, 4]), scheme)


@pytest.mark.parametrize("kind", KINDS)
@given(sentences=spanned_sentences())
def test_paint_spells_and_extract_reads_back(kind: str, sentences: Sentences) -> None:
    scheme = scheme_of(kind)
    spelled = [spell(spans, length, kind) for length, spans in sentences]
    codes, offsets = flat(spelled, scheme)
    spans = extract(codes, offsets, scheme)
    expected = [merge_touching(spans) if kind == "io" else spans for _, spans in sentences]
    assert unflat(spans, len(sentences), scheme) == expected
    assert (paint(spans, offsets, scheme) == codes).all()


@pytest.mark.parametrize(("source", "target"), list(product(KINDS, KINDS)))
@given(sentences=spanned_sentences())
def test_conversion_respells(source: str, target: str, sentences: Sentences) -> None:
    a, b = scheme_of(source), scheme_of(target)
    held = [
        (n, merge_touching(spans) if "io" in (source, target) else spans) for n, spans in sentences
    ]
    codes, offsets = flat([spell(spans, n, source) for n, spans in sentences], a)
    expected, _ = flat([spell(spans, n, target) for n, spans in held], b)
    there = convert(codes, offsets, a, b)
    assert (there == expected).all()
    if "io" not in (source, target):
        assert (convert(there, offsets, b, a) == codes).all()


def test_conversion_keeps_holes_and_finds_types_by_name() -> None:
    source, target = Scheme.of("iob2", ["B-PER"]), Scheme.of("bioes", ["B-LOC", "B-PER"])
    codes = np.array([-1, source.index("B-PER"), source.index("I-PER"), -1], np.int8)
    there = convert(codes, np.array([0, 4]), source, target)
    assert [target.labels[c] if c >= 0 else None for c in there] == [None, "B-PER", "E-PER", None]


def test_a_hole_ends_a_span() -> None:
    scheme = scheme_of("iob2")
    codes = np.array([scheme.index("B-PER"), -1, scheme.index("I-PER")], np.int8)
    offsets = np.array([0, 3])
    assert extract(codes, offsets, scheme).end.tolist() == [1, 3]
    assert extract(codes, offsets, scheme, "b-required").end.tolist() == [1]


def test_unknown_reading_is_refused() -> None:
    with pytest.raises(ParameterError, match="'strict-B'"):
        extract(np.zeros(0, np.int8), np.zeros(1, np.int64), scheme_of("iob2"), "strict-B")


def test_chunks_are_laid_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, scheme = np.random.default_rng(0), scheme_of("bioes")
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 30, 4000))]).astype(np.int64)
    codes = rng.integers(-1, len(scheme.labels), int(offsets[-1])).astype(np.int8)
    parts = [extract(codes[a:b], np.array([0, b - a]), scheme) for a, b in pairwise(offsets)]
    for threads in ("1", "4"):
        monkeypatch.setenv("SEQTRUTH_THREADS", threads)
        found = extract(codes, offsets, scheme)
        counts = [len(part.start) for part in parts]
        assert found.sequence.tolist() == np.repeat(np.arange(4000), counts).tolist()
        for column in ("start", "end", "type"):
            joined = np.concatenate([getattr(part, column) for part in parts])
            np.testing.assert_array_equal(getattr(found, column), joined)
