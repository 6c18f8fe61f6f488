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
from seqtruth.kernels.arrays import Bool
from seqtruth.result import Result


def relearn(
    result: Result, crowd: Crowd, known: Labelling, seed: int | None = None, refit: bool = True
) -> Result:
    """The labels with the decisions known.

    Decisions are kept, judge the annotators, correct the confidences, and reach like cases through the
    document, the label chain and (on a refit) the predictor.

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
        if not refit and can_update(result):
            return result.update(known=known, reach="settle")
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
    """Sentences with decisions that were not learnt from: how many became right by learning, and wrong."""

    better: int
    worse: int

    @property
    def helps(self) -> bool:
        """Whether more became right than wrong, by more than chance (one standard deviation) would do."""
        return self.better - self.worse > math.sqrt(self.better + self.worse)


def tried(
    result: Result, crowd: Crowd, known: Labelling, seed: int | None = None, refit: bool = True
) -> tuple[Result, Trial]:
    """Learn, where decisions that were not learnt from confirm it; else the labels as they were.

    Decisions are taken where labels are doubtful, and can lead a model astray. So it learns from each half of
    them first, and is tried on the other half; halves are by sentence.

    Parameters
    ----------
    result, crowd, known, seed, refit : as for :func:`relearn`.
    """
    offsets = known.corpus.token_offsets
    sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    decided = np.flatnonzero(known.labelled & (np.diff(offsets) > 0))
    half = np.zeros(len(offsets) - 1, np.int64)
    half[decided[1::2]] = 1
    better = worse = 0
    for held_out in (0, 1):
        tags = np.where(half[sentence] == held_out, known.tags.dtype.type(-1), known.tags)
        seen = Labelling(known.corpus, known.scheme, tags)
        learnt = relearn(result, crowd, seen, seed, refit=False)
        at = (half[sentence] == held_out) & (known.tags >= 0)
        before, after = (_right(labels, known, at)[decided] for labels in (result, learnt))
        better += int((after & ~before).sum())
        worse += int((before & ~after).sum())
    trial = Trial(better, worse)
    if not trial.helps:
        return result, trial
    return relearn(result, crowd, known, seed, refit), trial


def _right(labels: Labelling, known: Labelling, at: Bool) -> Bool:
    """bool[S]: does a sentence have the decided labels on all of these tokens?"""
    wrong = np.concatenate([[0], np.cumsum(at & (labels.tags != known.tags))])
    return np.asarray(np.diff(wrong[known.corpus.token_offsets]) == 0)
