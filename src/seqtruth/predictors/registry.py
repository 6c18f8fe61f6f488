"""Predictors by name: which there are, and which can be written to a file and come back from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from seqtruth.errors import ParameterError
from seqtruth.plugins import Registry
from seqtruth.predictors.base import Predictor, Storable
from seqtruth.predictors.crf.crf import CRF
from seqtruth.predictors.torch.bilstm import BiLSTM
from seqtruth.predictors.transformer.transformer import Transformer

#: Predictors by the word a user types; other packages add theirs as entry points ``seqtruth.predictors``.
PREDICTORS: Registry[Callable[..., Predictor]] = Registry(
    "seqtruth.predictors",
    "predictor",
    {CRF.name: CRF, BiLSTM.name: BiLSTM, Transformer.name: Transformer},
    ("fit", "predict_proba", "clone"),
)


def stored_kind(name: str) -> Any:
    """The class of a predictor that a file names: a registered one, or an ensemble of them.

    Nothing else is ever imported on a file's word.
    """
    if name == "ensemble":
        from seqtruth.predictors.ensemble import Ensemble  # which is made of the others

        return Ensemble
    return PREDICTORS[name]


def as_storable(predictor: Predictor, what: str) -> Storable:
    """The predictor, which a file can hold; ``what`` begins the error where it cannot."""
    name = getattr(predictor, "name", None)
    named = isinstance(name, str) and (name == "ensemble" or name in PREDICTORS)
    if named and hasattr(predictor, "state") and hasattr(type(predictor), "from_state"):
        if stored_kind(cast(str, name)) is type(predictor):
            return cast(Storable, predictor)
    raise ParameterError(
        f"{what} cannot be saved", got=type(predictor).__name__,
        fix=f"savable are {', '.join(PREDICTORS)}, and your own with state, from_state and a registered"
        " name (docs/extending.md)",
    )  # fmt: skip
