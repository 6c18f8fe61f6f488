"""Token and label-set scores against loops over strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.generate import KINDS, both, column, columns
from seqtruth.data.labelling import Labelling
from seqtruth.errors import ParameterError
from seqtruth.metrics import label_set_scores, token_scores


def f1(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r else 0.0


def by_loop(
    result: list[str], gold: list[str], outside: str | None
) -> dict[str, tuple[int, int, int]]:
    rows = {}
    for label in sorted({*result, *gold} - {outside}):
        hits = sum(a == b == label for a, b in zip(result, gold, strict=True))
        rows[label] = (hits, result.count(label), gold.count(label))
    return rows


@pytest.mark.parametrize("by", ["label", "type"])
@pytest.mark.parametrize("kind", [*KINDS, "plain"])
@given(data=st.data())
def test_token_scores_by_loop(kind: str, by: str, data: st.DataObject) -> None:
    sentences = data.draw(columns(kind))
    pair = both(column(sentences, 0), column(sentences, 1), kind)
    scores = token_scores(*pair, by=by)
    flat = [[t[i] for s in sentences for t in s] for i in (0, 1)]
    if by == "type" and kind != "plain":
        flat = [[tag[2:] if tag != "O" else "O" for tag in tags] for tags in flat]
    rows = by_loop(*flat, None if kind == "plain" else "O")
    found = {n: (s.correct, s.predicted, s.gold) for n, s in scores.per_label.items()}
    assert found == rows
    precision = [c / p if p else 0.0 for c, p, _ in rows.values()]
    recall = [c / g if g else 0.0 for c, _, g in rows.values()]
    means = [float(np.mean(v)) if rows else 0.0 for v in (precision, recall)]
    assert [scores.macro.precision, scores.macro.recall] == pytest.approx(means)
    each = [f1(p, r) for p, r in zip(precision, recall, strict=True)]
    assert scores.macro.f1 == pytest.approx(np.mean(each) if rows else 0.0)
    assert scores.micro.correct == sum(c for c, _, _ in rows.values())


def test_tokens_without_gold_do_not_count_but_unlabelled_results_are_misses() -> None:
    result, gold = both([["B-PER", "B-PER", "O"]], [["B-PER", "B-PER", "B-PER"]])
    holes = np.array([0, -1, 0], np.int8)
    scores = token_scores(result, Labelling(gold.corpus, gold.scheme, holes))
    assert (scores.micro.correct, scores.micro.predicted, scores.micro.gold) == (1, 1, 2)
    scores = token_scores(Labelling(gold.corpus, gold.scheme, holes), gold)
    assert (scores.micro.correct, scores.micro.predicted, scores.micro.gold) == (2, 2, 3)


def test_by_must_be_known() -> None:
    with pytest.raises(ParameterError, match="'tag'"):
        token_scores(*both([["O"]], [["O"]]), by="tag")


@pytest.mark.parametrize("kind", [*KINDS, "plain"])
@given(data=st.data())
def test_label_sets_by_loop(kind: str, data: st.DataObject) -> None:
    sentences = data.draw(columns(kind))
    pair = both(column(sentences, 0), column(sentences, 1), kind)
    rows = []
    for sentence in sentences:
        if not sentence:
            continue  # no token, no gold
        a, b = {t[0] for t in sentence}, {t[1] for t in sentence}
        p, r = len(a & b) / len(a), len(a & b) / len(b)
        rows.append((p, r, f1(p, r)))
    scores = label_set_scores(*pair)
    expected = np.mean(rows, axis=0) if rows else np.zeros(3)
    assert [scores.precision, scores.recall, scores.f1] == pytest.approx(expected.tolist())


def test_label_set_leaves_out_sentences_without_gold() -> None:
    result, gold = both([["B-PER"], ["O"]], [["B-PER"], ["B-PER"]])
    scores = label_set_scores(result, Labelling(gold.corpus, gold.scheme, gold.tags - [0, 1]))
    assert scores.f1 == 1.0
