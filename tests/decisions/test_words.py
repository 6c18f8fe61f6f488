"""What is told in words: agreement, questions, habits, reasons."""

from __future__ import annotations

import numpy as np
import pytest

import seqtruth as st
from seqtruth.decisions import queue, sample, triage
from seqtruth.decisions.mistakes import Compared
from tests.decisions.material import demo, fitted

pytestmark = pytest.mark.filterwarnings("ignore::seqtruth.errors.SeqTruthWarning")


def test_agreement_says_where_to_look() -> None:
    told = st.agreement(demo().crowd).words()
    assert told[0].startswith("Agreement is moderate: alpha 0.4")
    assert any(line.startswith("spammer agrees least with the others") for line in told)
    alone = st.Crowd.of({"a": [["B-X"]]}, [["u"]])
    assert st.agreement(alone).words() == [
        "No two annotators labelled the same tokens: nothing can be said of agreement."
    ]


def test_a_type_that_is_agreed_on_least_is_named() -> None:
    draw = np.random.default_rng(0)
    rows = {
        name: [["B-X", "O", "B-Y" if draw.random() < 0.5 else "O", "B-Z"] for _ in range(60)]
        for name in "abc"
    }
    told = st.agreement(st.Crowd.of(rows, [list("uvwx")] * 60), "none").words()
    assert any(line.startswith("Y is agreed on least (alpha ") for line in told)


def test_types_that_are_missed_alike_are_told_once() -> None:
    tokens = [["u", "v", "w"]] * 40
    truth = [["B-X", "O", "B-Y"]] * 40
    half = [row if k % 2 else ["O", "O", "O"] for k, row in enumerate(truth)]
    one = [["B-X", "O", "O"]] * 40
    crowd = st.Crowd.of({"half": half, "one": one, "all": truth}, tokens)
    tags = crowd.scheme.encode([label for row in truth for label in row])
    told = [[one.words for one in found] for found in Compared(crowd, tags).habits()]
    assert told[0] == ["misses 50% of all types alike"]
    assert told[1] == ["misses 100% of Y"]
    assert told[2] == []


def test_a_sample_is_drawn_at_random_and_leaves_out_what_is_known() -> None:
    result = fitted("bsc-seq")
    known = demo().gold.take(slice(100))
    found = triage(result, 0.8, known)
    drawn = sample(found, 30, seed=1)
    ids = result.corpus.sentence_ids.to_pylist()
    assert len({item.sentence for item in drawn}) == 30
    assert all(ids.index(item.sentence) >= 100 for item in drawn)
    assert [item.sentence for item in sample(found, 30, seed=1)] == [one.sentence for one in drawn]
    assert [item.sentence for item in sample(found, 30, seed=2)] != [one.sentence for one in drawn]
    assert len(sample(found, 10_000)) == 50
    assert all(ids.index(item.sentence) >= 100 for item in queue(found))  # nor is it in the queue


def test_runs_of_words_are_told_once() -> None:
    rows = {
        name: [["B-X", "I-X", "I-X", "I-X", "O"], ["O", "B-X", "O", "O", "O"]] * 20
        for name in "abc"
    }
    result = st.aggregate(st.Crowd.of(rows, [list("uvwxy")] * 40), "ds")
    found = result.explain(0)
    told = found.runs()
    assert [(one.token, more) for one, more in told] == [("u", 0), ("v", 2)]
    assert sum(1 + more for _, more in told) == len(found.tokens)


def test_next_hears_an_o_where_silence_is_no_vote() -> None:
    """A lone claim is taken for granted by the model, and still the first thing to ask about."""
    names = [f"rule{k}" for k in range(6)]
    draw = np.random.default_rng(0)
    rows: dict[str, list[list[str]]] = {name: [] for name in names}
    for _ in range(120):
        for k, name in enumerate(names):
            tags = ["O"] * 6
            if draw.random() < 0.8:
                tags[k % 3] = "B-X"
            rows[name].append(tags)
    crowd = st.Crowd.of(rows, [list("abcdef")] * 120)
    keep = np.ones(crowd.n_rows, np.bool_)
    keep[(crowd.row_sentence % 2 == 0) & (crowd.row_annotator >= 3)] = False
    from tests.decisions.material import some_rows

    result = st.aggregate(some_rows(crowd, keep), "bsc-seq")
    assert result.provenance.get("silence")
    assert result.next_labels(5).suggestions
