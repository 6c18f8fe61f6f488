"""Crowds of several files as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataError, InputError


def join_crowds(crowds: Sequence[Crowd]) -> Crowd:
    """Crowds on different sentences one after the other; a sentence that several have is one.

    Raises
    ------
    InputError
        where a sentence has other tokens in another file, or an annotator labels it twice.
    """
    if len(crowds) == 1:
        return crowds[0]
    kinds = {crowd.scheme.kind for crowd in crowds if crowd.n_rows}
    try:
        if len(kinds) > 1 and "plain" not in kinds:
            crowds = [crowd.respell("iob2") for crowd in crowds]
        return _one_corpus(crowds) if share_sentences(crowds) else Crowd.concat(crowds)
    except DataError as error:
        raise InputError(error.what, where=error.where, got=error.got, fix=error.fix) from None


def share_sentences(crowds: Sequence[Crowd]) -> bool:
    """Whether a sentence's id is in two of them."""
    ids = pa.concat_arrays([crowd.corpus.sentence_ids for crowd in crowds])
    return len(ids.unique()) < len(ids)


def _one_corpus(crowds: Sequence[Crowd]) -> Crowd:
    known = crowds[0]
    for crowd in crowds[1:]:
        places = known.corpus.find(crowd.corpus.sentence_ids)
        _check_same(known.corpus, crowd.corpus, places)
        new = np.flatnonzero(places < 0)
        whole = Crowd.concat([known, crowd[new]]) if len(new) else known
        old = np.flatnonzero(places >= 0)
        known = _with_rows(whole, crowd[old])
    return known


def _check_same(ours: Corpus, theirs: Corpus, places: np.ndarray) -> None:
    for s in np.flatnonzero(places >= 0).tolist():
        if ours.words(int(places[s])) != theirs.words(s):
            raise DataError(
                "a sentence has other tokens in another file",
                where=f"sentence {theirs.sentence_ids[s].as_py()!r}",
                fix="give different sentences different ids",
            )


def _with_rows(crowd: Crowd, more: Crowd) -> Crowd:
    """The crowd with rows of another one, all of whose sentences it has."""
    places = crowd.corpus.find(more.corpus.sentence_ids)
    annotators = list(dict.fromkeys([*crowd.annotators, *more.annotators]))
    labels = [*crowd.scheme.labels, *more.scheme.labels]
    number = np.array([annotators.index(name) for name in more.annotators] or [0], np.int64)
    shift = len(crowd.scheme.labels)
    tags = more.tags.astype(np.int64)
    return Crowd.build(
        crowd.corpus,
        labels,
        annotators,
        np.concatenate([crowd.row_sentence, places[more.row_sentence]]),
        np.concatenate([crowd.row_annotator, number[more.row_annotator]]),
        np.concatenate([crowd.tags.astype(np.int64), np.where(tags < 0, -1, tags + shift)]),
        crowd.scheme.kind,
    )
