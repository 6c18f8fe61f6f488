"""Annotators' own spellings of a text: each quirk alone, in company, and at random."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from seqtruth.datasets.alignment import HOW, Line, align

TEXT = [["Oslo", "'s", "port"], ["U.S.", "ships", "dock", "."]]


def lines(*tokens: str | None) -> list[Line]:
    """Each token with its own number as label; None is a blank line, '' a label without a token."""
    return [None if token is None else (token, str(n)) for n, token in enumerate(tokens)]


@pytest.mark.parametrize(
    ("tokens", "labels", "how"),
    [
        (["Oslo", "'s", "port", None, "U.S.", "ships", "dock", "."],
         ["0 1 2", "4 5 6 7"], "exact exact"),
        (["Oslo/LOC", "'s/", "port", None, "U.S./B", "ships", "dock", "./"],
         ["0 1 2", "4 5 6 7"], "suffix suffix"),
        (["Os", "lo", "'s", "port", None, "U.S", ".", "ships", "dock", "."],
         ["1 2 3", "6 7 8 9"], "retok retok"),
        (["Oslo's", "port", None, "U.S.", "ships", "dock."],
         ["0 0 1", "3 4 5 5"], "retok retok"),
        (["Oslo", None, "'s", "port", None, "U.S.", "ships", "dock", "."],
         ["0 2 3", "5 6 7 8"], "emptyline exact"),
        (["Oslo", "'s", "port", "U.S.", "ships", "dock", "."],
         ["0 1 2", "3 4 5 6"], "emptyline exact"),
        (["Oslo", "'s", "port", None, "U.S.", "", "ships", "dock", "."],
         ["0 1 2", "4 6 7 8"], "exact emptyline"),
        (["Oslo", "'s", "harbour", None, "U.S.", "ships", "dock", "."],
         ["0 1 2", "4 5 6 7"], "fuzzy exact"),
        (["Oslo", "'s", "port", None, "Two", "more", "U.S.", "ships", "dock", "."],
         ["0 1 2", "6 7 8 9"], "exact fuzzy"),
        (["Oslo", "'s", "port", None, "dock", "."], ["0 1 2", "O O 4 5"], "exact fuzzy"),
        (["Oslo", "'s", "port"], ["0 1 2", "O O O O"], "exact fuzzy"),
        ([], ["O O O", "O O O O"], "fuzzy fuzzy"),
        (["quite", "another", "text"], ["O O O", "O O O O"], "fuzzy fuzzy"),
    ],
)  # fmt: skip
def test_quirks(tokens: list[str | None], labels: list[str], how: str) -> None:
    found = align(TEXT, lines(*tokens))
    assert [" ".join(ls) for ls, _ in found] == labels
    assert " ".join(h for _, h in found) == how


def test_one_word_for_several_tokens_goes_on_inside() -> None:
    assert align([["New", "York"]], [("NewYork", "B-LOC")]) == [(["B-LOC", "I-LOC"], "retok")]


def test_a_slash_of_the_text_itself_stays() -> None:
    assert align([["1-1/4", "and/or"]], [("1-1/4", "O"), ("and/or", "O")])[0][1] == "exact"
    assert align([["US", "/", "UK"]], [("US", "A"), ("/", "B"), ("UK", "C")])[0][1] == "exact"


words = some.text("ab/.", min_size=1, max_size=4)


@given(
    some.lists(some.lists(words, min_size=1, max_size=5), max_size=5),
    some.lists(
        some.none() | some.tuples(words | some.just(""), some.sampled_from("OX")), max_size=30
    ),
)
def test_any_two_texts_give_a_label_for_every_token(text: list[list[str]], own: list[Line]) -> None:
    found = align(text, own)
    assert [len(labels) for labels, _ in found] == [len(sentence) for sentence in text]
    assert all(how in HOW for _, how in found)


@given(some.lists(some.lists(words, min_size=1, max_size=5), max_size=5))
def test_the_text_itself_is_exact(text: list[list[str]]) -> None:
    own: list[Line] = []
    for sentence in text:
        own += [*((token, token) for token in sentence), None]
    assert align(text, own) == [(sentence, "exact") for sentence in text]
