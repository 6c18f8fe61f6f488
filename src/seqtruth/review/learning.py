"""What decisions teach: the result updated with them, or fitted anew."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.spans import extract
from seqtruth.decisions.update import check_updatable, method_of
from seqtruth.errors import DataError, ParameterError, SeqTruthWarning
from seqtruth.kernels.arrays import F64, Bool, Tags
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
    """F1 on decisions that were not learnt from: of the labels as they were, and of those that learnt."""

    before: float
    after: float

    @property
    def helps(self) -> bool:
        """Whether learning is no worse than leaving the labels as they are."""
        return self.after >= self.before


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
    right = np.zeros((2, 3))
    for held_out in (0, 1):
        tags = np.where(half[sentence] == held_out, known.tags.dtype.type(-1), known.tags)
        seen = Labelling(known.corpus, known.scheme, tags)
        learnt = relearn(result, crowd, seen, seed, refit=False)
        at = (half[sentence] == held_out) & (known.tags >= 0)
        for row, labels in enumerate((result, learnt)):
            right[row] += _counts(labels.tags, known, at)
    trial = Trial(*(2 * both / max(ours + true, 1.0) for both, ours, true in right))
    if not trial.helps:
        return result, trial
    return relearn(result, crowd, known, seed, refit), trial


def _counts(tags: Tags, known: Labelling, at: Bool) -> F64:
    """Spans on some tokens: those of both, those of ``tags``, those decided."""
    offsets = known.corpus.token_offsets
    found = []
    for column in (tags, known.tags):
        spans = extract(np.where(at, column, column.dtype.type(-1)), offsets, known.scheme)
        rows = zip(*(one.tolist() for one in spans), strict=True)
        found.append(set(rows))
    return np.array([len(found[0] & found[1]), len(found[0]), len(found[1])], np.float64)
