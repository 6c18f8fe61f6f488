"""Crowds of several files as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np
import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataError, InputError
from seqtruth.io.formats.file_names import told_apart

#: So many sentences of a file are compared with those of others.
COMPARED = 200


def join_files(crowds: Sequence[Crowd], places: Sequence[PurePath]) -> Crowd:
    """The crowds of files as one.

    Where sentences have ids, these tell which are the same. Where they are only counted, files that begin
    with the same tokens are of one document, others of different ones, called after their files or folders.
    Files of one column of tags are by whom they, or their folders, are called after, where several are of
    one document.
    """
    if len(crowds) == 1:
        return crowds[0]
    group = _groups(crowds) if all(map(_is_counted, crowds)) else [0] * len(crowds)
    members = [[p for p, g in zip(places, group, strict=True) if g == one] for one in set(group)]
    alone = all(crowd.annotators == ("1",) for crowd in crowds)
    by_folder = _by_folder(members)
    if alone and len(members) < len(crowds) and share_sentences(crowds):
        owner = {place: place.stem for place in places}
        if by_folder:
            for one in members:
                owner |= told_apart(one) or {place: place.parent.name for place in one}
        named = zip(crowds, places, strict=True)
        crowds = [replace(crowd, annotators=(owner[place],)) for crowd, place in named]
    if len(members) > 1:
        several = alone and not by_folder and len(members) < len(crowds)
        names = [one[0].parent.name if several else one[0].stem for one in members]
        again = len(set(names)) < len(names)
        document = {
            place: f"{one[0].parent.name}/{one[0].stem}" if again else name
            for one, name in zip(members, names, strict=True) for place in one
        }  # fmt: skip
        crowds = [_in(document[place], one) for one, place in zip(crowds, places, strict=True)]
    return join_crowds(crowds)


def _is_counted(crowd: Crowd) -> bool:
    ids = crowd.corpus.sentence_ids
    return bool(ids.equals(pa.array(map(str, range(len(ids))), ids.type)))


def _groups(crowds: Sequence[Crowd]) -> list[int]:
    """For each crowd the number of its document: that with which it shares half of its first sentences."""
    first: dict[tuple[int, tuple[str, ...]], int] = {}
    group: list[int] = []
    for crowd in crowds:
        number = min(crowd.n_sentences, COMPARED)
        said = [(place, tuple(crowd.corpus.words(place))) for place in range(number)]
        votes = Counter(first[one] for one in said if one in first)
        best, count = max(votes.items(), key=lambda vote: vote[1], default=(0, 0))
        group.append(best if count and 2 * count >= number else len(set(group)))
        for one in said:
            first.setdefault(one, group[-1])
    return group


def _by_folder(members: list[list[PurePath]]) -> bool:
    """Whether the files of one document have one name, in folders of different annotators."""
    return any(len({place.stem for place in one}) < len(one) for one in members)


def _in(document: str, crowd: Crowd) -> Crowd:
    """The crowd with a document's name before its ids."""
    corpus = crowd.corpus
    ids = pa.array((f"{document}/{id_}" for id_ in corpus.sentence_ids.to_pylist()), pa.string())
    documents = tuple(f"{document}/{name}" if name else document for name in corpus.documents)
    return replace(crowd, corpus=replace(corpus, sentence_ids=ids, documents=documents))


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
