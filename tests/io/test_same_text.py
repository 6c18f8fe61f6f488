"""Copies of a text that differ: marks are moved where that is safe, and refused where it is not."""

from __future__ import annotations

import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.merge import merged
from seqtruth.io.same_text import align_texts, first_difference, joined

LETTERS = st.text(st.sampled_from("abc éño한글\u0301\u09c7\u09beक्षि\n\t."), max_size=30)


@given(text=LETTERS)
def test_normalisation_and_blanks_move_nothing_else(text: str) -> None:
    here, there = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    way = align_texts(here, there.replace(" ", "\r\n "))
    assert way is not None
    words = [found for found in here.split() if not unicodedata.category(found[0]).startswith("M")]
    for word in words:
        start = there.replace(" ", "\r\n ").find(unicodedata.normalize("NFD", word))
        mark = way.mark(Mark(start, start + len(unicodedata.normalize("NFD", word)), "X"))
        assert mark is not None
        assert unicodedata.normalize("NFC", here[mark.start : mark.end]).split() == [word]


def document(text: str, *marks: Mark, where: str = "") -> Document:
    return Document("d", text, (Opinion(where or "w", marks),), where=where)


def test_a_small_edit_loses_only_the_marks_that_it_touches() -> None:
    notes = Notes()
    first = document("Ann met Bob in Ames. They left at once.", where="a:1")
    second = document(
        "Ann met Rob in Ames. They left at once.", Mark(8, 11, "P"), Mark(15, 19, "L"), where="b:1"
    )
    both = joined(first, second, notes)
    assert both.opinions[1].marks == (Mark(15, 19, "L"),)
    assert notes.lines() == [
        "1 × mark on text that differs between copies of a document (first at b:1)"
    ]


def test_another_text_is_refused_with_its_place() -> None:
    first = document("Ann met Bob in Ames and they left.", where="a:1")
    second = document("Ann met her aunts at home.", where="b:1")
    with pytest.raises(InputError) as caught:
        joined(first, second, Notes())
    assert str(caught.value).startswith(
        "b:1: the text of document 'd' differs at character 8 from that at a:1; got 'her aunts at home.'"
    )
    assert first_difference("abc", "abd") == 2 and first_difference("ab", "abc") == 2


def test_ids_that_count_from_0_in_each_file() -> None:
    files = [
        (Path("a.json"), Document("0", "Ann ran.")),
        (Path("b.json"), Document("0", "Nothing of the kind!")),
        (Path("c.json"), Document("0", "Ann  ran.")),
    ]
    found = merged(files, Notes(), {})
    assert [document.id for document in found] == ["0", "b/0"]


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("a" * 200_000, "b" + "a" * 199_000), ("x. " * 50_000, "y. " * 50_000),
        ("\u0301" * 100_000, "\u0301" * 99_000), ("ab " * 50_000, "ba " * 50_000),
    ],
)  # fmt: skip
def test_no_text_takes_long(here: str, there: str) -> None:
    began = time.process_time()
    align_texts(here, there)
    assert time.process_time() - began < 20
