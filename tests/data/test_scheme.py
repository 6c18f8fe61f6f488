"""Scheme tables against the definitions: a sequence is legal when some spans are spelled so."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.conlleval import chunks
from oracles.generate import KINDS, spanned_sentences
from oracles.spelling import all_span_lists, merge_touching, spell
from seqtruth.data.scheme import MAX_LABELS, PLAIN, Scheme, check_label, detect
from seqtruth.errors import DataError, ParameterError


def is_legal(scheme: Scheme, sequence: tuple[str, ...]) -> bool:
    codes = [scheme.index(tag) for tag in sequence]
    inner = all(scheme.allowed[a, b] for a, b in pairwise(codes))
    return bool(inner and scheme.start[codes[0]] and scheme.end[codes[-1]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 2, 3])
def test_legal_sequences_are_those_that_spell_spans(kind: str, length: int) -> None:
    scheme = Scheme.of(kind, ["I-LOC", "I-PER"])
    spelled = {
        tuple(spell(spans, length, kind)) for spans in all_span_lists(length, ["LOC", "PER"])
    }
    legal = {s for s in product(scheme.labels, repeat=length) if is_legal(scheme, s)}
    assert legal == spelled


def test_plain_tags_may_stand_anywhere() -> None:
    scheme = Scheme.of("plain", ["NOUN", "O", "VERB"])
    assert scheme.labels == ("NOUN", "O", "VERB")
    assert scheme.allowed.all() and scheme.start.all() and scheme.end.all()
    assert (scheme.roles == PLAIN).all() and scheme.is_entity.all() and scheme.outside == -1


@pytest.mark.parametrize("kind", KINDS)
@given(types=st.sets(st.sampled_from(["A", "B-C", "PER", "x-"]), max_size=3))
def test_labels_are_sorted_and_closed(kind: str, types: set[str]) -> None:
    scheme = Scheme.of(kind, [f"I-{name}" for name in types])
    assert list(scheme.labels) == sorted(scheme.labels)
    assert scheme.types == tuple(sorted(types))
    assert scheme == Scheme.of(kind, scheme.labels)
    assert scheme.labels[scheme.outside] == "O" and not scheme.is_entity[scheme.outside]
    for number, label in enumerate(scheme.labels):
        assert scheme.index(label) == number
        if label != "O":
            assert scheme.types[scheme.type_of[number]] == label[2:]
            assert scheme.label(int(scheme.roles[number]), label[2:]) == number


@pytest.mark.parametrize("kind", KINDS)
@given(sentences=spanned_sentences())
def test_detection_finds_a_scheme_that_reads_the_same_spans(
    kind: str, sentences: list[tuple[int, list[tuple[int, int, str]]]]
) -> None:
    spelled = [spell(spans, length, kind) for length, spans in sentences]
    found = detect_lists(spelled)
    spans = [merge_touching(spans) if kind == "io" else spans for _, spans in sentences]
    if found != kind:
        # only possible where the evidence fits both: IOB1 without touching spans is IO, no span
        # at all is called IOB2
        assert (kind, found) == ("iob1", "io") or not any(spans)
    assert [chunks(tags) for tags in spelled] == spans


def detect_lists(sentences: list[list[str]]) -> str:
    labels = sorted({tag for tags in sentences for tag in tags})
    codes = np.array([labels.index(tag) for tags in sentences for tag in tags], np.int8)
    starts = np.cumsum([0] + [len(tags) for tags in sentences])[:-1].astype(np.int64)
    return detect(labels, codes, starts)


@pytest.mark.parametrize(
    ("tags", "kind"),
    [
        ("O O", "iob2"),
        ("B-PER I-PER O", "iob2"),
        ("I-PER B-PER O I-LOC", "iob1"),
        ("I-PER I-PER O", "io"),
        ("S-PER O", "bioes"),
        ("B-PER E-PER", "bioes"),
        ("U-PER O", "bilou"),
        ("B-PER L-PER", "bilou"),
        ("S-PER U-PER", "plain"),
        ("DET NOUN VERB", "plain"),
        ("DET O", "plain"),
        ("B-PER NOUN", "plain"),
        ("I-LOC O B-PER O B-LOC O B-PER", "iob2"),  # one stray I- among many B-
    ],
)
def test_detection_by_hand(tags: str, kind: str) -> None:
    assert detect_lists([tags.split()]) == kind


def test_detection_does_not_look_across_sentences() -> None:
    assert detect_lists([["O", "B-PER"], ["B-PER"]]) == "iob2"
    assert detect_lists([["I-PER", "B-PER"], ["I-PER"]]) == "iob1"


@pytest.mark.parametrize(
    ("kind", "label"),
    [("iob2", "E-PER"), ("io", "B-PER"), ("bioes", "L-PER"), ("iob2", "PER"), ("iob2", "B-")],
)
def test_foreign_labels_are_refused_with_what_is_expected(kind: str, label: str) -> None:
    with pytest.raises(DataError, match="expected"):
        check_label(kind, label)
    with pytest.raises(DataError, match=label):
        Scheme.of(kind, [label])


def test_faults_name_what_was_got() -> None:
    with pytest.raises(ParameterError, match="'bio'"):
        Scheme.of("bio", [])
    with pytest.raises(DataError, match="2049"):
        Scheme.of("plain", [str(i) for i in range(MAX_LABELS + 1)])
    with pytest.raises(DataError, match="'B-ORG'"):
        Scheme.of("iob2", ["B-PER"]).index("B-ORG")
