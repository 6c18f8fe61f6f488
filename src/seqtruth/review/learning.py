"""What decisions teach: the result updated with them, or fitted anew."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.decisions.update import check_updatable, method_of
from seqtruth.errors import DataError, ParameterError, SeqTruthWarning
from seqtruth.kernels.arrays import I64, Bool
from seqtruth.result import Result
from seqtruth.review.spreading import spread

#: Fewer documents than this with decisions are not divided: their sentences are.
FEWEST = 4


def relearn(
    result: Result, crowd: Crowd, known: Labelling, seed: int | None = None, refit: bool = True
) -> Result:
    """The labels with the decisions known.

    Decisions judge the annotators, correct the confidences, reach the rest of the document and (on a refit)
    teach the predictor; then they are carried over to like cases (:mod:`~seqtruth.review.spreading`).

    Parameters
    ----------
    result : the labels without any decision.
    crowd : what the annotators said.
    known : what was decided; -1 where nothing was.
    seed : of the method, on a refit.
    refit : fit everything anew, predictor included; else update, where the method can.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeqTruthWarning)
        learnt = _refitted(result, crowd, known, seed) if refit else _updated(result, known)
        return spread(result, learnt, crowd, known)


def _updated(result: Result, known: Labelling) -> Result:
    # all sentences, by the model that was chosen for the crowd: a few tricky ones must not choose another
    return result.update(known=known, reach="all") if can_update(result) else result


def _refitted(result: Result, crowd: Crowd, known: Labelling, seed: int | None) -> Result:
    if seed is not None and "seed" in result.provenance.get("parameters", {}):
        parameters = {**result.provenance["parameters"], "seed": seed}
        result = replace(result, provenance={**result.provenance, "parameters": parameters})
    return method_of(result).fit(crowd, known)


def can_update(result: Result) -> bool:
    """Whether a result can learn without a refit."""
    try:
        check_updatable(result)
    except (DataError, ParameterError):
        return False
    return True


class Trial(NamedTuple):
    """Sentences with decisions that were not learnt from: how many became right by learning, and wrong.

    ``how`` says what was tried: ``update`` or ``refit``.
    """

    better: int
    worse: int
    how: str = "update"

    @property
    def gain(self) -> int:
        """How many more became right than wrong."""
        return self.better - self.worse

    @property
    def helps(self) -> bool:
        """Whether more became right than wrong, by more than chance (two standard deviations) would do.

        Of an update, which keeps the model of the crowd, it is enough that nothing became wrong.
        """
        if self.how == "update" and self.worse == 0:
            return True
        return self.gain > 2 * math.sqrt(self.better + self.worse)


def tried(
    result: Result, crowd: Crowd, known: Labelling, seed: int | None = None, refit: bool = True
) -> tuple[Result, Trial]:
    """Learn in the way that decisions which were not learnt from confirm best; else the labels as they were.

    Decisions are taken where labels are doubtful, and can lead a model astray. So it learns from each half of
    them first, and is tried on the other half; halves are by document, so that it is tried on what is new.

    Parameters
    ----------
    result, crowd, known, seed : as for :func:`relearn`.
    refit : try to fit everything anew, beside an update.
    """
    ways = ("update", "refit") if refit else ("update",)
    trials = [_trial(result, crowd, known, seed, how) for how in ways]
    best = max(trials, key=lambda one: (one.helps, one.gain))
    if not best.helps:
        return result, best
    learnt = relearn(result, crowd, known, seed, best.how == "refit")
    if _same_model(result, learnt):
        return learnt, best
    return tried(result, crowd, known, seed, refit=False)


def _same_model(before: Result, after: Result) -> bool:
    """Whether a fit chose the same model of the crowd: doubtful sentences are no ground to choose another.

    A trial cannot tell, as it is held on doubtful sentences only.
    """
    return bool(before.provenance.get("chosen") == after.provenance.get("chosen"))


def _trial(
    result: Result, crowd: Crowd, known: Labelling, seed: int | None, how: str
) -> Trial:  # fmt: skip
    half, decided = _halves(known), known.labelled & (np.diff(known.corpus.token_offsets) > 0)
    of = np.repeat(half, np.diff(known.corpus.token_offsets))
    better = worse = 0
    for held_out in (0, 1):
        seen = np.where(of == held_out, known.tags.dtype.type(-1), known.tags)
        if not (seen >= 0).any():
            continue
        taught = Labelling(known.corpus, known.scheme, seen)
        learnt = relearn(result, crowd, taught, seed, how == "refit")
        if not _same_model(result, learnt):
            return Trial(0, 0, how)
        at = (of == held_out) & (known.tags >= 0)
        before, after = (_right(labels, known, at)[decided] for labels in (result, learnt))
        better += int((after & ~before).sum())
        worse += int((before & ~after).sum())
    return Trial(better, worse, how)


def _halves(known: Labelling) -> I64:
    """int64[S], 0 or 1: documents with decisions in turn, those with most first; else (few) sentences."""
    corpus = known.corpus
    decided = known.labelled & (np.diff(corpus.token_offsets) > 0)
    unit = corpus.sentence_document.astype(np.int64)
    if len(np.unique(unit[decided])) < FEWEST:
        unit = np.arange(corpus.n_sentences)
    found, count = np.unique(unit[decided], return_counts=True)
    half = np.zeros(int(unit.max(initial=0)) + 1, np.int64)
    half[found[np.argsort(-count, kind="stable")][1::2]] = 1
    return half[unit]


def _right(labels: Labelling, known: Labelling, at: Bool) -> Bool:
    """bool[S]: does a sentence have the decided labels on all of these tokens?"""
    wrong = np.concatenate([[0], np.cumsum(at & (labels.tags != known.tags))])
    return np.asarray(np.diff(wrong[known.corpus.token_offsets]) == 0)
