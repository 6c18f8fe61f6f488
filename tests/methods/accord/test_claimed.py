"""Without a predictor no span is named that nobody marked."""

from __future__ import annotations

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.data.spans import extract
from seqtruth.kernels.chain import Chain
from seqtruth.methods.accord.span_choice import best_spans, claimed_in

pytestmark = pytest.mark.filterwarnings("ignore::seqtruth.errors.DataWarning")


def spans_of(tags: np.ndarray, offsets: np.ndarray, places: np.ndarray, crowd: Crowd) -> set:
    found = extract(tags, offsets, crowd.scheme, "conlleval")
    first = crowd.corpus.token_offsets[places[found.sequence]]
    borders = (first + found.start, first + found.end, found.type)
    return set(zip(*(one.tolist() for one in borders), strict=True))


@pytest.mark.parametrize(
    "cast", ["sloppy:3/boundary=0.6", "sloppy:5/boundary=0.5/miss=0.3", "careful,sloppy:2"]
)
def test_every_span_is_somebodys(cast: str) -> None:
    crowd = st.simulate(st.datasets.load("demo").gold, cast)
    marked = spans_of(crowd.tags, crowd.row_offsets, crowd.row_sentence, crowd)
    result = st.Accord(predictor=None).fit(crowd)
    offsets = crowd.corpus.token_offsets
    named = spans_of(result.tags, offsets, np.arange(crowd.n_sentences), crowd)
    assert named and named <= marked


def test_halves_of_two_annotators_make_no_third_span() -> None:
    """One marks the first two words, the other the last two; all are likely together, and nobody said so."""
    crowd = Crowd.of(
        {"a": [["B-X", "I-X", "O", "O"]], "b": [["O", "B-X", "I-X", "O"]]}, [list("uvwx")]
    )
    labels, chain = crowd.scheme.labels, Chain.legal(crowd.scheme.grammar)
    likely = ("B-X", "I-X", "I-X", "O")
    scores = np.array([[np.log(0.8 if one == best else 0.1) for one in labels] for best in likely])
    offsets = crowd.corpus.token_offsets
    free = best_spans(scores, offsets, chain, crowd.scheme, 0.2)
    assert [labels[tag] for tag in free.tags] == list(likely)
    bound = best_spans(scores, offsets, chain, crowd.scheme, 0.2, claimed_in(crowd))
    assert [labels[tag] for tag in bound.tags] != list(likely)
    known = np.array([labels.index(one) for one in likely], np.int8)
    told = best_spans(scores, offsets, chain, crowd.scheme, 0.2, claimed_in(crowd, known))
    assert [labels[tag] for tag in told.tags] == list(likely)


def test_where_nobody_marks_anything_any_span_may_be_named() -> None:
    crowd = Crowd.of({"a": [["O", "O", "B-X"]], "b": [["O", "O", "O"]]}, [list("uvw")])
    claimed = claimed_in(crowd)
    assert claimed.free.tolist() == [True, True, False]
    assert claimed.first.tolist() == [0, 0, 0, 1] and claimed.end.tolist() == [3]
