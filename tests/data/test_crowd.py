"""Slicing and concatenation of crowds, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import corpora, crowds, document_names, same_corpus, spelled

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.errors import DataError

quick = settings(max_examples=100, deadline=None)


@quick
@given(crowds(), st.data())
def test_slices_masks_and_numbers_agree(crowd: Crowd, data: st.DataObject) -> None:
    a, b = sorted(data.draw(st.integers(0, crowd.n_sentences)) for _ in range(2))
    mask = np.zeros(crowd.n_sentences, bool)
    mask[a:b] = True
    parts = [crowd[a:b], crowd[mask], crowd[np.arange(a, b)], crowd[list(range(a, b))]]
    assert len({part.digest() for part in parts}) == 1
    assert all(same_corpus(part.corpus, crowd.corpus[a:b]) for part in parts)


@quick
@given(crowds(), st.data())
def test_selection_says_what_the_whole_says(crowd: Crowd, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, crowd.n_sentences - 1), unique=True))
    part = crowd[places]
    ids = crowd.corpus.sentence_ids.to_pylist()
    assert part.corpus.sentence_ids.to_pylist() == [ids[p] for p in places]
    names = document_names(crowd.corpus)
    assert document_names(part.corpus) == [names[p] for p in places]
    assert [part.corpus.words(i) for i in range(len(places))] == [
        crowd.corpus.words(p) for p in places
    ]
    whole, kept = spelled(crowd), {ids[p] for p in places}
    assert spelled(part) == {pair: tags for pair, tags in whole.items() if pair[0] in kept}
    assert part.annotators == crowd.annotators
    assert part.covered.tolist() == crowd.covered[places].tolist()


@quick
@given(crowds(), st.integers(0, 5))
def test_cut_and_concatenated_is_the_same(crowd: Crowd, cut: int) -> None:
    whole = Crowd.concat([crowd[:cut], crowd[cut:]])
    assert whole.digest() == crowd.digest()
    assert same_corpus(whole.corpus, crowd.corpus)


@quick
@given(crowds(("iob2",)), crowds(("iob2",)))
def test_concatenation_of_strangers(one: Crowd, two: Crowd) -> None:
    clash = set(one.corpus.sentence_ids.to_pylist()) & set(two.corpus.sentence_ids.to_pylist())
    if clash:
        with pytest.raises(DataError, match="sentence ids must be unique"):
            Crowd.concat([one, two])
        return
    both = Crowd.concat([one, two])
    assert spelled(both) == spelled(one) | spelled(two)
    assert both.n_tokens == one.n_tokens + two.n_tokens
    assert set(both.scheme.labels) == set(one.scheme.labels) | set(two.scheme.labels)
    assert both.annotator_tokens.sum() == one.annotator_tokens.sum() + two.annotator_tokens.sum()


@quick
@given(crowds(), st.data())
def test_selected_annotators_keep_their_words(crowd: Crowd, data: st.DataObject) -> None:
    names = data.draw(st.permutations(crowd.annotators))[: data.draw(st.integers(1, 4))]
    part = crowd.select_annotators(names)
    assert part.annotators == tuple(names)
    expected = {pair: tags for pair, tags in spelled(crowd).items() if pair[1] in names}
    assert spelled(part) == expected


@quick
@given(crowds(), st.data())
def test_row_and_labelling_agree(crowd: Crowd, data: st.DataObject) -> None:
    annotator = data.draw(st.integers(0, crowd.n_annotators - 1))
    laid = crowd.labelling(annotator).tags
    for s in range(crowd.n_sentences):
        a, b = crowd.corpus.token_offsets[s : s + 2]
        row = crowd.row(s, annotator)
        assert laid[a:b].tolist() == ([-1] * (b - a) if row is None else row.tolist())


@quick
@given(crowds(missing=False, corpus=corpora()), st.data())
def test_build_does_not_mind_the_order(crowd: Crowd, data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(crowd.n_rows))), np.int64)
    again = Crowd.build(
        crowd.corpus,
        crowd.scheme.labels,
        crowd.annotators,
        crowd.row_sentence[order],
        crowd.row_annotator[order],
        crowd.tags[gather(crowd.row_offsets, order)[1]],
        crowd.scheme.kind,
    )
    assert spelled(again) == spelled(crowd)


@given(st.lists(st.integers(0, 4), max_size=6), st.data())
def test_gather(lengths: list[int], data: st.DataObject) -> None:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = data.draw(st.lists(st.integers(0, len(lengths) - 1))) if lengths else []
    out, flat = gather(offsets, np.array(places, np.int64))
    pieces = [list(range(offsets[p], offsets[p + 1])) for p in places]
    assert flat.tolist() == [x for piece in pieces for x in piece]
    assert np.diff(out).tolist() == [len(piece) for piece in pieces]
