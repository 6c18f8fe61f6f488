"""What decisions teach: the result updated with them, or fitted anew."""

from __future__ import annotations

import warnings
from dataclasses import replace

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.decisions.update import check_updatable, method_of
from seqtruth.errors import DataError, ParameterError, SeqTruthWarning
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
