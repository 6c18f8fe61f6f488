"""Bringing result and gold together: by id, by position, across schemes and label sets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataError, DataWarning
from seqtruth.metrics import align, as_labelling, evaluate
from seqtruth.metrics.sentences import choose

TOKENS = [["Ann", "ran"], ["in", "Ames", "Iowa"], ["Yes"]]
TAGS = [["B-PER", "O"], ["O", "B-LOC", "B-LOC"], ["O"]]


def one(
    tags: list[list[str] | None],
    tokens: list[list[str]] = TOKENS,
    ids: list[str] | None = None,
    scheme: str | None = None,
) -> Crowd:
    return Crowd.of({"x": tags}, tokens, scheme=scheme, ids=ids)


def text(labelling: object) -> list[str | None]:
    return [labelling.scheme.labels[t] if t >= 0 else None for t in labelling.tags]


def test_by_id_whatever_the_order() -> None:
    result = one(TAGS, ids=["a", "b", "c"])
    gold = one(TAGS[::-1], TOKENS[::-1], ids=["c", "b", "a"])
    pair = align(result, gold)
    assert text(pair.result) == text(pair.gold) == [t for tags in TAGS for t in tags]
    assert pair.places.tolist() == [0, 1, 2]


def test_gold_for_some_and_result_for_some() -> None:
    result, gold = one(TAGS, ids=["a", "b", "c"]), one(TAGS[1:2], TOKENS[1:2], ids=["b"])
    pair = align(result, gold)
    assert (pair.places.tolist(), pair.without_gold, pair.without_result) == ([1], 2, 0)
    pair = align(gold, result)
    assert (pair.places.tolist(), pair.without_gold, pair.without_result) == ([0], 0, 2)


def test_by_position_where_ids_mean_nothing() -> None:
    pair = align(one(TAGS, ids=["a", "b", "c"]), one(TAGS, ids=["1", "2", "3"]))
    assert text(pair.result) == text(pair.gold)
    assert pair.gold.corpus.sentence_ids.to_pylist() == ["1", "2", "3"]


def test_words_that_differ_are_pointed_out() -> None:
    other = [["Ann", "ran"], ["in", "Paris", "Iowa"], ["Yes"]]
    with pytest.warns(DataWarning, match=r"1 of 6 tokens.*'b'.*'Ames' against 'Paris'"):
        align(one(TAGS, ids=["a", "b", "c"]), one(TAGS, other, ids=["1", "2", "3"]))


def test_faults_say_where_and_what_to_do() -> None:
    result = one(TAGS, ids=["a", "b", "c"])
    with pytest.raises(DataError, match=r"sentence 'b': lengths differ; got 3 tokens .* 1 in"):
        align(result, one([["O"]], [["in"]], ids=["b"]))
    with pytest.raises(DataError, match=r"no common sentences.*3 sentences.*1 in the gold"):
        align(result, one([["O"]], [["in"]], ids=["z"]))
    with pytest.raises(DataError, match=r"sentence 'b'.*3 tokens.*1 in the gold"):
        align(result, one([["O"] * 2, ["O"], ["O"]], [["x"] * 2, ["x"], ["x"]], list("xyz")))
    with pytest.raises(DataError, match=r"'a' is not in the gold.*sentences="):
        align(result, one([*TAGS[1:], ["O"]], [*TOKENS[1:], ["No"]], ids=["b", "c", "d"]))


def test_a_partial_overlap_is_fine_for_the_sentences_asked_for() -> None:
    result = one(TAGS, ids=["a", "b", "c"])
    gold = one([*TAGS[1:], ["O"]], [*TOKENS[1:], ["No"]], ids=["b", "c", "d"])
    assert align(result, gold, ["c", "b"]).places.tolist() == [1, 2]


def test_sentences_without_gold_are_left_out_and_counted() -> None:
    gold = one([TAGS[0], None, TAGS[2]])
    pair = align(one(TAGS), gold)
    assert (pair.places.tolist(), pair.without_gold) == ([0, 2], 1)
    assert evaluate(one(TAGS), gold).n_sentences == 2
    assert evaluate(one(TAGS), gold).without_gold == 1
    with pytest.raises(DataError, match="no sentence to score"):
        evaluate(one(TAGS), gold, sentences=[1])


@pytest.mark.parametrize("kind", ["iob1", "iob2", "bioes", "bilou"])
def test_gold_is_respelled_in_the_scheme_of_the_result(kind: str) -> None:
    result = one(TAGS, scheme="iob2").respell(kind)
    pair = align(result, one(TAGS))
    assert pair.gold.scheme.kind == kind and text(pair.gold) == text(pair.result)


def test_a_result_in_io_is_not_credited_with_borders_it_cannot_hold() -> None:
    result = one(TAGS).respell("io")
    pair = align(result, one(TAGS))
    assert pair.result.scheme.kind == "iob2"
    scores = evaluate(result, one(TAGS))
    assert (scores.span.correct, scores.span.predicted, scores.span.gold) == (1, 2, 3)


def test_labels_unknown_to_one_side_are_misses() -> None:
    scores = evaluate(one([["B-PER", "O"], ["O"] * 3, ["B-MISC"]]), one(TAGS))
    assert (scores.span.correct, scores.span.predicted, scores.span.gold) == (1, 2, 3)
    assert set(scores.per_type) == {"LOC", "MISC", "PER"}


def test_plain_tags_and_spans_do_not_mix() -> None:
    with pytest.raises(DataError, match="PLAIN in the result, IOB2 in the gold"):
        align(one([["N", "V"], ["P", "N", "N"], ["X"]]), one(TAGS))


def test_a_crowd_of_many_is_not_a_labelling() -> None:
    with pytest.raises(DataError, match="2 annotators"):
        as_labelling(Crowd.of({"a": TAGS, "b": TAGS}, TOKENS))


SELECTIONS = {
    "mask": np.array([True, False, True]),
    "list mask": [True, False, True],
    "numbers": [2, 0, 0],
    "negative": np.array([-1, 0]),
    "ids": ["c", "a"],
    "array of ids": np.array(["c", "a"]),
    "arrow": pa.array(["c", "a"]),
    "chunks": pa.chunked_array([["c"], ["a"]]),
    "arrow mask": pa.array([True, False, True]),
    "set": {"c", "a"},
    "generator": (name for name in ("a", "c")),
    "slice": slice(None, None, 2),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_sentences_can_be_named_in_many_ways(name: str) -> None:
    corpus = Corpus.of(TOKENS, ids=["a", "b", "c"])
    assert choose(corpus, SELECTIONS[name]).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([True], "mask"),
        ([3], "below 3"),
        (["z", "a"], "'z'"),
        (np.zeros((1, 3), np.bool_), "shape"),
    ],
)
def test_wrong_selections(wrong: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        choose(Corpus.of(TOKENS, ids=["a", "b", "c"]), wrong)


def test_empty_selection_chooses_nothing() -> None:
    assert choose(Corpus.of(TOKENS), []).tolist() == []


@given(order=st.permutations(range(3)))
def test_the_order_of_the_gold_does_not_matter(order: list[int]) -> None:
    tags = [["B-PER", "O"], ["O", "B-LOC", "O"], ["B-PER"]]
    ids = ["a", "b", "c"]
    gold = one([TAGS[i] for i in order], [TOKENS[i] for i in order], [ids[i] for i in order])
    scores = evaluate(one(tags, ids=ids), gold)
    assert (scores.span.correct, scores.span.predicted, scores.span.gold) == (2, 3, 3)
