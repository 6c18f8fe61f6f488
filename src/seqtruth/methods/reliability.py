"""Reliabilities that the user already knows, laid over a crowd's annotators."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.engine import Parts
from seqtruth.errors import DataWarning, ParameterError
from seqtruth.kernels.arrays import F64

#: A known accuracy stands for evidence, never for certainty: it is kept this far from 0 and 1.
MARGIN = 1e-3


def check_reliability(reliability: Mapping[str, float] | None, strength: float) -> None:
    """Raise for accuracies outside 0..1 and for a negative strength."""
    if not strength >= 0:
        raise ParameterError("reliability_strength must not be negative", got=str(strength))
    if reliability is not None and not isinstance(reliability, Mapping):
        raise ParameterError(
            "reliability must map annotators to accuracies", got=repr(reliability),
            fix="such as {'ann': 0.9} (in Python)",
        )  # fmt: skip
    for name, value in (reliability or {}).items():
        if not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ParameterError(
                f"the reliability of {name!r} must be an accuracy from 0 to 1", got=str(value)
            )


def known_accuracies(crowd: Crowd | Parts, reliability: Mapping[str, float] | None) -> F64:
    """float64[W]: the accuracy given for each annotator, inside 0..1; nan where none is.

    >>> crowd = Crowd.of({"ann": [["O"]], "bob": [["O"]]}, [["yes"]])
    >>> known_accuracies(crowd, {"bob": 0.9}).tolist()
    [nan, 0.9]
    """
    accuracies = np.full(crowd.n_annotators, np.nan)
    if not reliability:
        return accuracies
    strangers = [name for name in reliability if name not in crowd.annotators]
    if strangers:
        warnings.warn(
            f"a reliability is given for {strangers[0]!r}, who labelled nothing here",
            DataWarning,
            stacklevel=2,
        )
    for w, name in enumerate(crowd.annotators):
        if name in reliability:
            accuracies[w] = np.clip(reliability[name], MARGIN, 1.0 - MARGIN)
    return accuracies
