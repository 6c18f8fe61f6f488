"""From the words a user types to methods: ``aggslc:predictor=none,threshold=0.8``."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from seqtruth.aggregators import METHODS, Aggregator
from seqtruth.errors import ParameterError
from seqtruth.predictors import PREDICTORS


def parse_methods(text: str, seed: int, corpus_has_text: bool) -> dict[str, Aggregator]:
    """Several methods by their specs, as ``{spec: method}``; specs are separated by commas or spaces.

    Settings follow a colon and are separated by semicolons: ``mv:ties=entity;seed=3``.
    """
    return {spec: make_method(spec, seed, corpus_has_text) for spec in method_specs(text)}


def method_specs(text: str) -> list[str]:
    """The specs in a list of them, each once."""
    specs = list(dict.fromkeys(text.replace(",", " ").split()))
    if not specs:
        raise ParameterError("no method named", fix=f"known are {', '.join(METHODS)}")
    return specs


def make_method(spec: str, seed: int, corpus_has_text: bool) -> Aggregator:
    """One method by its spec.

    A method with a prediction module gets the default predictor, unless the spec says otherwise or
    there is no text to learn from.
    """
    name, _, rest = spec.partition(":")
    if name not in METHODS:
        raise ParameterError(
            "unknown method", got=repr(name), fix=f"known are {', '.join(METHODS)}"
        )
    kind = METHODS[name]
    known = {f.name: f for f in fields(kind) if f.init}
    settings: dict[str, Any] = {}
    for part in filter(None, rest.split(";")):
        key, equals, value = part.partition("=")
        if not equals or key not in known:
            raise ParameterError(
                f"method {name} has no setting {key!r}", fix=f"it has {', '.join(known)}"
            )
        settings[key] = _value(key, value, known[key].default)
    if "predictor" in settings or ("predictor" in known and known["predictor"].default is None):
        settings["predictor"] = _predictor(settings.get("predictor"), corpus_has_text)
    if "seed" in known:
        settings.setdefault("seed", seed)
    return kind(**settings)


def _predictor(asked: Any, corpus_has_text: bool) -> Any:
    if asked is None:
        asked = "crf" if corpus_has_text else "none"
    if asked == "none":
        return None
    if asked not in PREDICTORS:
        raise ParameterError(
            "unknown predictor", got=repr(asked), fix=f"known are none, {', '.join(PREDICTORS)}"
        )
    return PREDICTORS[asked]()


def _value(key: str, text: str, default: Any) -> Any:
    """A setting's text as the type of its default."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if isinstance(default, str) or default is MISSING:
        return text
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    if (
        isinstance(default, int | float)
        and not isinstance(default, bool)
        and key != "class_weights"
    ):
        raise ParameterError(f"{key} must be a number", got=repr(text))
    return text
