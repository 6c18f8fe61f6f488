"""Lay a result and a gold standard side by side: same sentences, same order, same labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seqtruth import archive
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError, InputError
from seqtruth.io import read, read_gold
from seqtruth.metrics.sentences import Sentences, choose, match_sentences
from seqtruth.result import Result

#: What can be scored or serve as gold: a labelling or a result, a crowd of one, the path of a saved
#: result or of anything that :func:`seqtruth.io.read` reads, or a frame.
Source = Labelling | Crowd | str | Path | Any


class Aligned(NamedTuple):
    """Two labellings of the same sentences under one scheme.

    Parameters
    ----------
    result, gold : the two labellings.
    places : int64[S], the numbers of these sentences in the result as it was handed in.
    without_gold : how many sentences that were asked for have no gold.
    without_result : how many gold sentences the result does not contain (only where all sentences
        were asked for).
    """

    result: Labelling
    gold: Labelling
    places: npt.NDArray[np.int64]
    without_gold: int
    without_result: int


def as_labelling(source: Source) -> Labelling:
    """One tag per token, from a labelling, a result, a crowd of one, or a file with one of these.

    Parameters
    ----------
    source : any of these.

    Examples
    --------
    >>> crowd = Crowd.of({"gold": [["B-PER", "O"]]}, tokens=[["Ann", "ran"]])
    >>> as_labelling(crowd).tags.tolist()
    [0, 2]
    """
    if isinstance(source, Labelling):
        return source
    if isinstance(source, Crowd):
        return source.labelling()
    if isinstance(source, str | Path):
        if archive.is_archive(source):
            return Result.load(source)
        crowd = read_gold(source)
        if crowd.n_annotators != 1:
            raise InputError(
                "a file to score must hold one label per token",
                where=str(source),
                got=f"{crowd.n_annotators} annotators",
                fix="name a file with one label column, or aggregate first",
            )
        return crowd.labelling()
    return read(source).labelling()


def align(result: Source, gold: Source, sentences: Sentences | None = None) -> Aligned:
    """Bring two labellings onto the same sentences and one scheme.

    Sentences are matched by id where all ids of one side are found on the other (or all those
    asked for are found in the gold), otherwise by position where both have the same number of
    sentences with the same lengths. Sentences without any gold label are left out and counted.

    Where the schemes differ, the gold is respelled in the result's scheme; only a result in IO,
    which cannot hold the border between touching spans, is respelled in that of the gold. Labels
    that one side does not know are legal, and simply never right.

    Parameters
    ----------
    result, gold : labellings, results, crowds of one, or paths.
    sentences : the sentences to keep: a mask or numbers over the result's sentences, or ids.

    Examples
    --------
    >>> result = Crowd.of({"r": [["O"], ["B-PER"]]}, tokens=[["a"], ["b"]], ids=["x", "y"])
    >>> gold = Crowd.of({"g": [["B-LOC"]]}, tokens=[["b"]], ids=["y"])
    >>> pair = align(result, gold)
    >>> pair.places.tolist(), pair.result.scheme.types, pair.without_gold
    ([1], ('LOC', 'PER'), 1)
    """
    ours, theirs = as_labelling(result), as_labelling(gold)
    chosen = choose(ours.corpus, sentences)
    partner = match_sentences(ours.corpus, theirs.corpus, chosen, asked=sentences is not None)
    labelled = theirs.labelled
    keep = np.zeros(len(chosen), np.bool_)
    keep[partner >= 0] = labelled[partner[partner >= 0]]
    places = chosen[keep]
    ours, theirs = one_scheme(ours.take(places), theirs.take(partner[keep]))
    missing = int(labelled.sum()) - len(places) if sentences is None else 0
    return Aligned(ours, theirs, places, len(chosen) - len(places), missing)


def check_aligned(result: Labelling, gold: Labelling) -> None:
    """Raise where two labellings are not on the same sentences under one scheme."""
    same = np.array_equal(result.corpus.token_offsets, gold.corpus.token_offsets)
    if not same or result.scheme != gold.scheme:
        raise DataError(
            "the two labellings do not lie side by side",
            got="different sentence lengths" if not same else "different labels",
            fix="bring them together with seqtruth.metrics.align",
        )


def one_scheme(ours: Labelling, theirs: Labelling) -> tuple[Labelling, Labelling]:
    """Both labellings under one scheme that knows the labels of both."""
    a, b = ours.scheme.kind, theirs.scheme.kind
    if a != b:
        if "plain" in (a, b):
            raise DataError(
                "plain tags cannot be compared with spans",
                got=f"{a.upper()} in the result, {b.upper()} in the gold",
                fix="read both with the same scheme=",
            )
        if a == "io":
            ours = ours.respell(b)
        else:
            theirs = theirs.respell(a)
    kind = ours.scheme.kind
    union = Scheme.of(kind, {*ours.scheme.labels, *theirs.scheme.labels})
    return ours.recode(union), theirs.recode(union)
