"""What is told in words: agreement, questions, habits, reasons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.corpus import Corpus
from seqtruth.decisions import queue, sample, triage
from seqtruth.decisions.mistakes import Compared
from seqtruth.decisions.model import expected_f1
from seqtruth.decisions.queue import half_of_errors
from tests.decisions.material import demo, fitted, some_rows

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
    found = st.agreement(st.Crowd.of(rows, [list("uvwx")] * 60), "none")
    told = found.words()
    assert any(
        line.startswith(f"Y ({found.marks['Y']} marks) is agreed on least, alpha ") for line in told
    )


def test_a_type_of_a_few_marks_is_not_blamed() -> None:
    """Z is marked in two of 60 sentences, where it is agreed on once: that may be luck."""
    a = [["B-X", "O", "B-Y", "O"] for _ in range(60)]
    b = [list(row) for row in a]
    a[0][1] = b[0][1] = a[1][1] = "B-Z"
    found = st.agreement(st.Crowd.of({"a": a, "b": b}, [list("uvwx")] * 60), "none")
    assert found.per_type["Z"]["alpha"].value < 0.7 and found.marks["Z"] == 3
    assert not any("agreed on least" in line for line in found.words())
    table = found.tables().split("by type")[1]
    assert table.splitlines()[1].split() == [
        "type", "marks", "observed", "alpha", "from", "to", "alpha_U", "Fleiss", "Cohen", "AC1", "span",
        "F1", "partial", "F1",
    ]  # fmt: skip


def test_agreement_tells_other_ends_and_other_types() -> None:
    tokens = [list("uvwxyz")] * 20
    whole = [["B-X", "I-X", "I-X", "O", "B-Y", "O"]] * 20
    short = [["B-X", "I-X", "O", "O", "B-Y", "O"]] * 20
    other = [["B-Y", "I-Y", "I-Y", "O", "B-X", "O"]] * 20
    ends = st.agreement(st.Crowd.of({"a": whole, "b": short}, tokens), "none").words()
    assert any(
        "span F1 is 0.50 strictly and 0.92 by overlap, furthest apart for X (0.00 and 0.83)" in line
        for line in ends
    )
    types = st.agreement(st.Crowd.of({"a": whole, "b": other}, tokens), "none").words()
    assert any("span F1 is 0.00 with types and 1.00 without" in line for line in types)
    assert not any("same types" in line for line in ends) and not any(
        "same ends" in line for line in types
    )


def test_agreement_by_annotator_and_the_two_ends_of_many_pairs() -> None:
    found = st.agreement(st.datasets.load("demo").crowd)
    text = found.tables()
    assert "by annotator, each with all others" in text
    first = text.split("by annotator")[1].splitlines()[2].split()
    assert first[0] == "spammer" and int(first[1]) == 9
    assert "by pair, of 45 the 10 who agree most and the 10 who agree least" in text
    told = {row["annotator"]: row for row in found.to_dict()["annotators"]}
    assert told["spammer"]["span_f1"] == found.of_annotator("spammer")["span_f1"]


def test_one_label_throughout_is_said() -> None:
    crowd = st.Crowd.of({name: [["O", "O"]] * 9 for name in "ab"}, [["u", "v"]] * 9, "iob2")
    assert st.agreement(crowd).words() == [
        "Everybody gave one and the same label: agreement is not defined. It rests on 18 tokens that two or"
        " more labelled."
    ]


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


def test_agreement_of_one_annotator_is_a_sentence_and_no_table() -> None:
    alone = st.agreement(st.Crowd.of({"a": [["B-X", "O"]]}, [["u", "v"]]))
    for form in ("text", "markdown", "latex"):
        assert alone.tables(form) == (
            "No two annotators labelled the same tokens: nothing can be said of agreement.\n"
        )


def test_what_the_tagger_alone_labelled_has_no_other_reasons() -> None:
    """A sentence that nobody labelled: the model knows nothing of it, the label is the tagger's."""
    crowd = demo().crowd
    kept = some_rows(crowd, crowd.row_sentence != 5)
    result = st.aggregate(kept, "accord:predictor=crf")
    assert result.labelled[5]
    found = result.explain(5)
    assert found.by_tagger and found.tokens == () and found.to_dict()["by_tagger"]
    assert not result.explain(6).by_tagger
    told = result.update(known=demo().gold.take([5])).explain(5)
    assert not told.by_tagger


def test_annotators_of_few_documents_have_no_interval() -> None:
    """Five documents or more are drawn again; sentences, where there are no documents."""
    rows = {name: [["B-X", "O"]] * 4 + [["O", "O"]] * 4 for name in "abc"}
    rows["c"] = [["O", "B-X"]] * 2 + rows["a"][2:]
    crowd = st.Crowd.of(rows, [["u", "v"]] * 8, "iob2")
    few = replace(crowd, corpus=Corpus.of([["u", "v"]] * 8, documents=list("aabbccdd")))
    assert all(np.isnan(row.low) for row in st.aggregate(few, "ds").annotator_report().rows)
    many = st.Crowd.of({k: v * 9 for k, v in rows.items()}, [["u", "v"]] * 72, "iob2")
    for row in st.aggregate(many, "ds").annotator_report().rows:
        assert row.low <= row.f1 <= row.high
    assert st.aggregate(many, "ds").annotator_report().rows[0].low < 1


def test_plain_tags_are_no_spans() -> None:
    draw = np.random.default_rng(0)
    rows = {
        name: [
            [str(draw.choice(["N", "V"])) if draw.random() < noise else "N" for _ in "uvw"]
            for _ in range(40)
        ]
        for name, noise in (("a", 0.1), ("b", 0.1), ("c", 0.9))
    }
    found = st.agreement(st.Crowd.of(rows, [list("uvw")] * 40, "plain"))
    assert "span F1" not in found.tables() and "partial F1" not in found.tables()
    assert found.marks["N"] + found.marks["V"] == 360


def test_half_of_the_errors_are_in_a_part_of_the_queue() -> None:
    found = triage(fitted("accord:predictor=none"), 0.9)
    items = [one.expected_errors for one in queue(found)]
    half = half_of_errors(found)
    assert sum(items[:half]) >= sum(items) / 2 > sum(items[: half - 1])


def test_what_labels_are_expected_to_buy_is_a_share_of_what_there_is_to_gain() -> None:
    """The gains take away a part of the risk that they were counted from, and never all of it."""
    for method in ("bsc-seq", "accord:predictor=none"):
        plan = fitted(method).next_labels(200)
        curve = plan.curve()
        gained = sum(one.gain for one in plan.suggestions)
        assert 0 < gained < plan.risk
        assert curve[-1]["expected_errors"] == pytest.approx(plan.risk - gained)
        assert curve[0]["expected_f1"] < curve[-1]["expected_f1"] < 1


def test_few_spans_are_too_few_for_annotators_to_confirm() -> None:
    result = fitted("accord:predictor=none")
    people = replace(result, provenance={**result.provenance, "copies": []})
    assert triage(people, 0.8).spans.promised
    few = replace(
        people, tags=np.where(np.arange(len(result.tags)) < 200, result.tags, result.scheme.outside)
    )
    found = triage(few, 0.8).spans
    assert not found.promised
    assert found.why.endswith(
        "spans are too few for held-out annotators to confirm (50 are needed)"
    )


def test_expected_f1_is_never_above_one() -> None:
    """Confidences may add up to more spans than the model's beginnings: those should be there, too."""
    result = fitted("accord:predictor=none")
    assert result.of_span is not None
    sure = replace(result, of_span=np.where(result.of_span > 0, 1.0, 0.0).astype(np.float32))
    assert expected_f1(result) < expected_f1(sure) <= 1
    shy = replace(sure, fitted=None, probabilities=np.full_like(result.probabilities, 0.01))
    assert expected_f1(shy) <= 1
