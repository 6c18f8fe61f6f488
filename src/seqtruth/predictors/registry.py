"""Predictors by name: which there are, and which can be written to a file and come back from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from seqtruth.archive import Arrays
from seqtruth.data.scheme import Scheme
from seqtruth.errors import ParameterError
from seqtruth.plugins import Registry
from seqtruth.predictors.base import Predictor, Storable
from seqtruth.predictors.crf.crf import CRF
from seqtruth.predictors.torch.bilstm import BiLSTM
from seqtruth.predictors.transformer.transformer import Transformer
from seqtruth.schema import Column, check

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


def settings_array(settings: dict[str, Any]) -> np.ndarray:
    """A predictor's settings as an array, for a state of arrays only."""
    return np.frombuffer(json.dumps(settings).encode(), np.uint8)


def restored(fresh: Predictor, arrays: Arrays, scheme: Scheme) -> Predictor:
    """A trained copy of ``fresh`` out of a checkpoint; ValueError where the file holds another one.

    Parameters
    ----------
    fresh : untrained, with the settings that the file must have.
    arrays : the model's own, and ``settings`` (:func:`settings_array`).
    scheme : the labels.
    """
    check(arrays, {"settings": Column("bytes", ("bytes",))}, {})
    settings = json.loads(arrays["settings"].tobytes())
    storable = cast(Storable, fresh)
    if not _says(settings, json.loads(json.dumps(storable.state()[0]))):
        raise ValueError("the settings of a model are not those of this run")
    own = {name: array for name, array in arrays.items() if name != "settings"}
    return cast(Predictor, stored_kind(storable.name).from_state(settings, own, scheme))


def _says(found: Any, wanted: Any) -> bool:
    """Whether JSON values say all that is wanted, and perhaps more."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and _says(found[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list) and len(found) == len(wanted) and all(map(_says, found, wanted))
        )
    return type(found) is type(wanted) and found == wanted
