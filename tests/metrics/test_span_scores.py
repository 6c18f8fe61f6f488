"""Strict span scores against the CoNLL script's rules and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import conlleval
from oracles.generate import KINDS, both, column, columns
from seqtruth.data.labelling import Labelling
from seqtruth.data.spans import READINGS
from seqtruth.errors import DataError
from seqtruth.metrics import Score, align, span_scores


def counts(score: Score) -> tuple[int, int, int]:
    return score.correct, score.predicted, score.gold


# gold, result, and (correct, predicted, gold) by conlleval and with B- required
CASES = [
    ("B-PER I-PER O", "B-PER I-PER O", (1, 1, 1), (1, 1, 1)),
    ("B-PER I-PER O", "B-PER O O", (0, 1, 1), (0, 1, 1)),
    ("B-PER O O", "I-PER O O", (1, 1, 1), (0, 0, 1)),  # a stray I- opens, or is nothing
    ("O B-PER I-PER", "O I-PER I-PER", (1, 1, 1), (0, 0, 1)),
    ("B-PER B-PER", "B-PER I-PER", (0, 1, 2), (0, 1, 2)),
    ("B-PER I-PER", "B-PER B-PER", (0, 2, 1), (0, 2, 1)),
    ("B-PER I-LOC", "B-PER B-LOC", (2, 2, 2), (1, 2, 1)),  # a change of type opens
    ("B-PER I-LOC I-PER", "B-PER I-LOC I-PER", (3, 3, 3), (1, 1, 1)),
    ("B-LOC I-LOC", "B-PER I-PER", (0, 1, 1), (0, 1, 1)),
    ("O O", "O O", (0, 0, 0), (0, 0, 0)),
    ("O O", "B-PER O", (0, 1, 0), (0, 1, 0)),
    ("B-PER I-PER I-PER O B-LOC", "B-PER I-PER O O B-LOC", (1, 2, 2), (1, 2, 2)),
]


@pytest.mark.parametrize(("gold", "result", "loose", "required"), CASES)
def test_by_hand(
    gold: str, result: str, loose: tuple[int, int, int], required: tuple[int, int, int]
) -> None:
    pair = both([result.split()], [gold.split()], "iob2")
    assert counts(span_scores(*pair)) == loose
    assert counts(span_scores(*pair, strict="b-required")) == required


def test_spans_do_not_cross_sentences() -> None:
    pair = both([["O", "B-PER"], ["I-PER"]], [["O", "B-PER"], ["B-PER"]], "iob2")
    assert counts(span_scores(*pair)) == (2, 2, 2)
    assert counts(span_scores(*pair, strict="b-required")) == (1, 1, 2)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_agrees_with_the_conll_script(kind: str, data: st.DataObject) -> None:
    sentences = data.draw(columns(kind))
    result, gold = column(sentences, 0), column(sentences, 1)
    scores = span_scores(*both(result, gold, kind))
    expected = conlleval.counts(gold, result)
    assert {name: counts(score) for name, score in scores.per_type.items()} == expected
    assert counts(scores) == tuple(sum(row[i] for row in expected.values()) for i in range(3))


@pytest.mark.parametrize("kind", [*KINDS, "plain"])
@pytest.mark.parametrize("strict", READINGS)
@given(data=st.data())
def test_perfect_for_itself_and_symmetric(kind: str, strict: str, data: st.DataObject) -> None:
    sentences = data.draw(columns(kind))
    a, b = both(column(sentences, 0), column(sentences, 1), kind)
    itself = span_scores(a, a, strict=strict)
    assert itself.correct == itself.predicted == itself.gold
    assert itself.f1 == (1.0 if itself.gold else 0.0)
    there, back = span_scores(a, b, strict=strict), span_scores(b, a, strict=strict)
    assert (there.precision, there.recall, there.f1) == (back.recall, back.precision, back.f1)


@given(data=st.data())
def test_parts_add_up(data: st.DataObject) -> None:
    sentences = data.draw(columns("iob2"))
    pair = both(column(sentences, 0), column(sentences, 1), "iob2")
    mask = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(sentences), max_size=len(sentences))),
        np.bool_,
    )
    whole = counts(span_scores(*pair))
    parts = [counts(span_scores(*pair, sentences=m)) for m in (mask, ~mask)]
    assert tuple(a + b for a, b in zip(*parts, strict=True)) == whole


def test_plain_tags_give_accuracy() -> None:
    result, gold = both([["DET", "NOUN", "VERB"]], [["DET", "VERB", "VERB"]])
    scores = span_scores(result, gold)
    assert scores.f1 == scores.precision == pytest.approx(2 / 3)
    assert counts(scores.per_type["VERB"]) == (1, 1, 2)


def test_spans_on_tokens_without_gold_are_not_judged() -> None:
    result, gold = both([["B-PER", "I-PER", "B-LOC"]], [["B-PER", "O", "B-LOC"]])
    tags = gold.tags.copy()
    tags[1] = -1
    scores = span_scores(result, Labelling(gold.corpus, gold.scheme, tags))
    assert counts(scores) == (1, 1, 2)


def test_labellings_must_be_aligned() -> None:
    one, _ = both([["B-PER"]], [["O"]])
    two, _ = both([["B-LOC"]], [["O"]])
    with pytest.raises(DataError, match="align"):
        span_scores(one, two)
    pair = align(one, two)
    assert counts(span_scores(pair.result, pair.gold)) == (0, 1, 1)


def test_undefined_is_zero_and_dict_is_plain() -> None:
    scores = span_scores(*both([["O"]], [["O"]]))
    assert (scores.precision, scores.recall, scores.f1) == (0.0, 0.0, 0.0)
    assert scores.to_dict()["per_type"] == {} and scores.to_dict()["strict"] == "conlleval"
