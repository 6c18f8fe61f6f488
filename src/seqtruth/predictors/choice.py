"""From a user's words to predictors: ``crf``, ``crf+bilstm``, ``transformer(FOLDER)``, ``bilstm(FILE)``."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

from seqtruth.errors import MissingExtraError, ParameterError
from seqtruth.predictors.base import Predictor
from seqtruth.predictors.crf.crf import CRF
from seqtruth.predictors.ensemble import Ensemble
from seqtruth.predictors.registry import PREDICTORS
from seqtruth.predictors.torch.bilstm import BiLSTM
from seqtruth.predictors.transformer.transformer import Transformer

#: Packages without which a predictor cannot run: by its name, the package and the extra that has it.
NEEDS = {BiLSTM.name: ("torch", "torch"), Transformer.name: ("transformers", "transformers")}
#: What stands in brackets behind a predictor's name: which of its settings.
PLACES = {Transformer.name: "checkpoint", BiLSTM.name: "reader"}
#: Fewer sentences than this teach a network little.
LEARNABLE = 2000
#: More than this take a network hours.
MANY = 20_000
#: Half the time of batches of 16, a rate of 0.005 and eight epochs, for the same F1 on ``nguyen_val``
#: (``python -m bench.bilstm``: 79.8 and 79.7, means of two seeds).
FAST: dict[str, Any] = {"epochs": 6, "batch_size": 32, "learning_rate": 0.008}
#: The word for a method's usual predictor where there is text to learn from, and none where there is not.
AUTO = "auto"


def choose_predictor(text: str) -> Predictor | None:
    """A predictor by its name; ``none`` is None, ``a+b`` an ensemble, ``best`` the best installed.

    Parameters
    ----------
    text : what a user typed.

    Examples
    --------
    >>> choose_predictor("crf").name, choose_predictor("none")
    ('crf', None)
    """
    if text == "none":
        return None
    if text == "best":
        return best_predictor()
    members = [_one(part) for part in re.split(r"\+(?![^(]*\))", text)]
    return members[0] if len(members) == 1 else Ensemble(members)


def best_predictor(n_sentences: int | None = None) -> Predictor:
    """The best that is installed: CRF and BiLSTM where torch is, else the CRF alone.

    Parameters
    ----------
    n_sentences : how much there is to learn from, where that is known. Below :data:`LEARNABLE` a
        network learns less than the CRF, and takes minutes where that takes seconds; above :data:`MANY`
        it takes hours.
    """
    unfit = n_sentences is not None and not LEARNABLE <= n_sentences <= MANY
    if unfit or importlib.util.find_spec("torch") is None:
        return CRF()
    return Ensemble([CRF(), BiLSTM(**FAST)])


def _one(text: str) -> Predictor:
    found = re.fullmatch(rf"({'|'.join(PLACES)})\((.+)\)", text)
    name, settings = (found[1], {PLACES[found[1]]: found[2]}) if found else (text, {})
    if name not in PREDICTORS:
        raise ParameterError(
            "unknown predictor", got=repr(text),
            fix=f"known are none, best, {', '.join(PREDICTORS)}, and several joined by +",
        )  # fmt: skip
    package, extra = NEEDS.get(name, (None, ""))
    if package is not None and importlib.util.find_spec(package) is None:
        raise MissingExtraError(package, extra, f"predictor={name}")
    return PREDICTORS[name](**settings)
