"""From the words a user types to methods: ``aggslc:predictor=none;threshold=0.8``."""

from __future__ import annotations

import importlib.util
import math
import re
from dataclasses import fields
from typing import Any

from seqtruth.errors import MissingExtraError, ParameterError
from seqtruth.methods import METHODS, Aggregator
from seqtruth.predictors import PREDICTORS, choose_predictor


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
    if re.search(r",\s*\w+=", rest) or "=" in name:
        raise ParameterError(
            "settings are separated by semicolons", got=repr(spec),
            fix="write -m 'method:one=1;two=2', without spaces",
        )  # fmt: skip
    if name not in METHODS:
        raise ParameterError(
            "unknown method", got=repr(name), fix=f"known are {', '.join(METHODS)}"
        )
    kind = METHODS[name]
    known = {f.name: f for f in fields(kind) if f.init}
    settings: dict[str, Any] = {}
    for part in filter(None, rest.split(";")):
        key, equals, value = part.partition("=")
        if key not in known:
            raise ParameterError(
                f"method {name} has no setting {key!r}", fix=f"it has {', '.join(known)}"
            )
        if not equals or not value:
            raise ParameterError(f"{key} needs a value: {key}=…", got=repr(part))
        settings[key] = _value(key, value, str(known[key].type))
    if "predictor" in settings:
        _check_kind(name, settings["predictor"], str(known["predictor"].type))
    if "predictor" in settings or ("predictor" in known and known["predictor"].default is None):
        usual = kind.usual_predictor if corpus_has_text else "none"
        settings["predictor"] = choose_predictor(settings.get("predictor", usual))
    _check_extra(kind)
    if "seed" in known:
        settings.setdefault("seed", seed)
    return kind(**settings)


def _check_kind(method: str, asked: str, wanted: str) -> None:
    """Raise where a method is made for one kind of predictor and another is asked for."""
    fixed = [name for name, kind in PREDICTORS.items() if getattr(kind, "__name__", "") == wanted]
    if fixed and asked not in fixed:
        raise ParameterError(
            f"method {method} works with predictor={fixed[0]} only", got=repr(asked)
        )


def _check_extra(kind: type[Aggregator]) -> None:
    """Raise before anything runs where the method needs a package that is not there."""
    extra = getattr(kind, "extra", None)
    if extra is not None and importlib.util.find_spec(extra) is None:
        raise MissingExtraError(extra, extra, f"method {kind.name}")


def _value(key: str, text: str, wanted: str) -> Any:
    """A setting's text as the type its field is annotated with."""
    kinds = [kind.strip() for kind in wanted.split("|")]
    if "bool" in kinds:
        if text.lower() not in ("true", "false"):
            raise ParameterError(f"{key} must be true or false", got=repr(text))
        return text.lower() == "true"
    if "int" in kinds:
        if not re.fullmatch(r"[+-]?[0-9]+", text):
            raise ParameterError(f"{key} must be a whole number", got=repr(text))
        if key == "seed" and int(text) < 0:
            raise ParameterError("seed must not be negative", got=text)
        return int(text)
    if "float" in kinds:
        try:
            if math.isfinite(number := float(text)):
                return number
        except ValueError:
            pass
        if "None" in kinds and text.lower() == "none":
            return None
        if "str" not in kinds:
            raise ParameterError(f"{key} must be a number", got=repr(text))
    if wanted.startswith(("Mapping", "dict")):
        raise ParameterError(f"{key} can be set in Python only", got=repr(text))
    return text
