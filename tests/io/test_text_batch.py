"""Texts that are cut many at once are cut as each would be alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqtruth.errors import InputError
from seqtruth.io.documents import Document
from seqtruth.io.sentences import SPLITS, split_text
from seqtruth.io.text_batch import Given, batch_of, cut, strings
from seqtruth.io.tokens import tokenise

#: Pieces of texts in many scripts, with what is hard about them.
PIECES = (
    "Dr. ", "3.50", "1,000.5", "1.2.3年", "3.5a", "x_1", ". ", "! ", "...", "? \"Yes\" ", "e.g. the ", "A. ",
    "\n", "\r\n", "\n\n", "  ", "\t", "\u2029", "\f", "她跑了。", "我没有",
    "！」", "ไทย", "๓.๕", "कि", "é", "e\u0301",
    "👩‍👧", "🇩🇪", "👍🏽", "😀", "مرحبا. ", "؟ ", "שלום", "\u00ad", "㎏", "²",
    "٣٫٥", "1.\u0663", "ab", "word ", "",
    "Messrs. ", "abcdefg. ", "U.S. ", "u.\u212a. ", "İ. ", 
    "1. ", "12. ", "_x. ", "..no. ", ".) ", "。 ", ",", "B",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)


@st.composite
def marked(draw: st.DrawFn) -> tuple[Document, list[tuple[int, int]]]:
    text = draw(texts.filter(lambda text: not any("\ud800" <= x <= "\udfff" for x in text)))
    place = st.integers(0, len(text))
    marks = [sorted(pair) for pair in draw(st.lists(st.tuples(place, place), max_size=4))]
    marks = [(a, b) for a, b in marks if a < b]
    tokens = tuple(tokenise(text)[::2]) if draw(st.booleans()) and draw(st.booleans()) else None
    sentences = tuple(split_text(text, "sentences")[::2]) if draw(st.booleans()) else None
    return Document("d", text, (), tokens, sentences), marks


@settings(max_examples=400, deadline=None)
@given(st.lists(marked(), min_size=1, max_size=6), st.sampled_from(SPLITS))
def test_a_batch_is_cut_as_its_texts(given_: list, split: str) -> None:
    documents = [document for document, _ in given_]
    batch = batch_of([document.text for document in documents], "test")
    spans = [
        (a + base, b + base)
        for (_, marks), base in zip(given_, batch.starts.tolist(), strict=True)
        for a, b in marks
    ]
    table = np.array(spans, np.int64).reshape(-1, 2)
    borders = Given(
        {n: one.tokens for n, one in enumerate(documents) if one.tokens is not None},
        {n: one.sentences for n, one in enumerate(documents) if one.sentences},
    )
    found = cut(batch, borders, split, np.unique(table), (table[:, 0], table[:, 1]))
    for number, (document, marks) in enumerate(given_):
        base = int(batch.starts[number])
        first, last = found.sentences_of[number : number + 2]
        a, b = found.tokens_of[first], found.tokens_of[last]
        tokens = list(
            zip(found.token_starts[a:b] - base, found.token_ends[a:b] - base, strict=True)
        )
        wanted = tokenise(
            document.text, {place for mark in marks for place in mark}, document.tokens
        )
        assert tokens == wanted
        solid = wanted if document.tokens is not None else [
            (x, y) for x, y in wanted if y - x > 1 and document.text[x] in "。！？｡"
        ]  # fmt: skip
        sentences = list(
            zip(
                found.sentence_starts[first:last] - base, found.sentence_ends[first:last] - base,
                strict=True,
            )
        )  # fmt: skip
        assert sentences == split_text(document.text, split, document.sentences, [*marks, *solid])
    texts = strings(batch, found.token_starts, found.token_ends)
    ends = np.cumsum(texts.sizes).tolist()
    data = texts.data.tobytes()
    column = [data[b - n : b].decode() for b, n in zip(ends, texts.sizes.tolist(), strict=True)]
    assert column == [
        batch.text[a:b] for a, b in zip(found.token_starts, found.token_ends, strict=True)
    ]


@given(st.lists(texts, min_size=1, max_size=6), st.data())
@settings(deadline=None)
def test_a_part_of_a_batch_is_the_batch_of_its_texts(
    given_: list[str], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(given_) - 1))
    last = data.draw(st.integers(first + 1, len(given_)))
    part, wanted = batch_of(given_, "test").part(first, last), batch_of(given_[first:last], "test")
    assert part.text == wanted.text
    assert [part.text_of(n) for n in range(last - first)] == given_[first:last]
    for name in ("data", "kinds", "starts", "ends"):
        assert getattr(part, name).tolist() == getattr(wanted, name).tolist()


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(InputError, match=r"a\.json: a text holds half a surrogate pair"):
        batch_of(["Ann", "\ud800"], "a.json")


@pytest.mark.parametrize("text", ["", " ", "a", "\n", "1.5", "1.5年"])
def test_the_smallest_texts(text: str) -> None:
    empty = np.zeros(0, np.int64)
    batch = batch_of([text], "test")
    found = cut(batch, Given(), "sentences", empty, (empty, empty))
    assert found.sentences_of.tolist() == [0, 1]
    assert len(found.token_starts) == len(tokenise(text))
