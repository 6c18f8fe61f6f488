"""Results and gold on different tokens are compared by their characters, on all layers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataError, DataWarning, InputError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.from_documents import Cutting, documents_to_crowd
from seqtruth.metrics.characters import need_characters, on_same_tokens

TEXT = "Dr. Smith-Jones met Zoë. They left Ames at once."
CROWD = [
    Opinion("a", (Mark(4, 15, "PER"), Mark(35, 39, "LOC"))),
    Opinion("b", (Mark(4, 9, "PER"), Mark(35, 39, "LOC"))),
    Opinion("c", (Mark(4, 15, "PER"),)),
]
GOLD = Opinion("g", (Mark(4, 15, "PER"), Mark(20, 22, "PER"), Mark(35, 39, "LOC")), "gold")


def crowd_of(text: str, *opinions: Opinion, **cutting: str) -> Crowd:
    return documents_to_crowd([Document("d", text, opinions)], "test", Notes(), Cutting(**cutting))


def test_gold_with_borders_inside_the_tokens() -> None:
    crowd, gold = crowd_of(TEXT, *CROWD), crowd_of(TEXT, GOLD)
    assert need_characters(crowd.corpus, gold.corpus)
    result = st.MajorityVote().fit(crowd)
    scores = st.evaluate(result, gold)
    assert (scores.precision, scores.recall) == (1.0, pytest.approx(2 / 3))
    assert scores.n_sentences == 2
    assert scores.calibration is not None and scores.calibration.span is not None
    only_first = st.evaluate(result, gold, sentences=["d#1"])
    assert (only_first.precision, only_first.recall, only_first.n_sentences) == (1.0, 0.5, 1)


def test_the_same_whether_split_or_not_and_whatever_the_blanks() -> None:
    result = st.MajorityVote().fit(crowd_of(TEXT, *CROWD))
    moved = Opinion(
        "g", tuple(m._replace(start=m.start + 1, end=m.end + 1) for m in GOLD.marks), "gold"
    )
    for gold in (crowd_of(TEXT, GOLD, split="none"), crowd_of("\n" + TEXT, moved)):
        assert st.evaluate(result, gold).f1 == pytest.approx(0.8)


def test_tokens_of_columns_beside_a_text() -> None:
    words = ["Dr.", "Smith-Jones", "met", "Zoë", ".", "They", "left", "Ames", "at", "once", "."]
    tags = ["O", "B-PER", "O", "O", "O", "O", "O", "B-LOC", "O", "O", "O"]
    gold = Crowd.of({"g": [tags]}, [words])
    result = st.MajorityVote().fit(crowd_of(TEXT, *CROWD))
    assert st.evaluate(result, gold).f1 == 1.0


def test_known_gold_may_cut_the_tokens_of_the_crowd() -> None:
    crowd, gold = crowd_of(TEXT, *CROWD), crowd_of(TEXT, GOLD)
    result = st.MajorityVote().fit(crowd, gold)
    assert [(s.char_start, s.char_end, s.label) for s in result.spans()] == [
        m[:3] for m in GOLD.marks
    ]
    assert [s.text for s in result.spans()] == ["Smith-Jones", "Zo", "Ames"]
    assert result.crowd is not None and result.crowd.corpus is result.corpus


def test_layers_of_both() -> None:
    nested = Opinion("a", (Mark(4, 15, "PER"), Mark(10, 15, "PER"), Mark(4, 15, "DR")))
    crowd = crowd_of(
        TEXT, nested, nested.__class__("b", nested.marks), Opinion("c", (Mark(4, 15, "PER"),))
    )
    assert len(crowd.corpus.layers) == 3
    wanted = {mark[:3] for mark in nested.marks}
    for method in ("mv", "ds", "bsc-seq"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = st.aggregate(crowd, method)
        found = {(s.char_start, s.char_end, s.label) for s in result.spans()}
        assert found == wanted if method == "mv" else found <= wanted
        assert {s.sentence for s in result.spans()} == {"d#1"}
        np.testing.assert_allclose(result.probabilities.sum(axis=1), 1, atol=1e-5)
        assert result.annotators.sentences.tolist() == [2, 2, 2]
    flat = crowd_of(TEXT, Opinion("g", (Mark(4, 15, "PER"),), "gold"))
    scores = st.evaluate(st.MajorityVote().fit(crowd), flat)
    assert (scores.precision, scores.recall) == (pytest.approx(1 / 3), 1.0)
    assert scores.n_sentences == 2
    gold = crowd_of(TEXT, Opinion("g", (Mark(10, 15, "PER"),), "gold"))
    known = st.MajorityVote().fit(crowd, gold)
    assert {(s.char_start, s.char_end, s.label) for s in known.spans()} >= {(10, 15, "PER")}


def test_other_texts_are_refused() -> None:
    result = st.MajorityVote().fit(crowd_of(TEXT, *CROWD))
    with pytest.raises(InputError, match="differs at character 0"):
        st.evaluate(
            result, crowd_of("Nothing of the kind, and much longer than that.", Opinion("g", ()))
        )
    other = documents_to_crowd(
        [Document("e", "Other words.", (Opinion("g"),))], "test", Notes(), Cutting()
    )
    with pytest.raises(DataError, match="no common texts"):
        st.evaluate(result, other)


def test_marks_that_an_edit_touches_are_said() -> None:
    crowd = crowd_of(TEXT, *CROWD)
    gold = crowd_of(TEXT.replace("Ames", "Amex"), GOLD)
    with pytest.warns(DataWarning, match="1 × mark on text that differs"):
        _, truth = on_same_tokens(crowd, gold.labelling())
    assert truth.corpus.tokens.to_pylist().count("Ames") == 1
