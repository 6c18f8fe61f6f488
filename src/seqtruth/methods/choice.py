"""From the words a user types to methods: ``aggslc``, ``aggslc:predictor=none;folds=3``.

The same words mean the same run from Python, on the command line and on every engine: a word that
depends on the data (``predictor=auto``) is resolved by ``fit``, not here.
"""

from __future__ import annotations

import importlib.util
import math
import re
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Union, get_args, get_origin

from seqtruth.errors import MissingExtraError, ParameterError
from seqtruth.methods.base import Aggregator
from seqtruth.methods.registry import METHODS
from seqtruth.predictors.base import Predictor
from seqtruth.predictors.choice import AUTO, choose_predictor
from seqtruth.predictors.registry import PREDICTORS

#: The method of those who name none.
DEFAULT = "accord"

#: A method as a user may name it: by spec, as a class or ready made.
MethodLike = str | type[Aggregator] | Aggregator


def make_method(
    method: MethodLike = DEFAULT,
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> Aggregator:
    """One method from what a user says.

    Parameters
    ----------
    method : a spec, such as ``"mv"`` or ``"aggslc:predictor=none;folds=3"``; a class; or a method.
    settings : further settings by name; they win over those of the spec. Texts are read as the type
        their setting has.
    seed : for methods that have one, unless a setting says otherwise.

    Examples
    --------
    >>> make_method("aggslc:predictor=none", {"folds": "3"}).folds
    3
    """
    if isinstance(method, Aggregator):
        kind, given = type(method), {f.name: getattr(method, f.name) for f in fields(method)}
        return method if not settings else kind(**(given | read_settings(kind, settings)))
    if isinstance(method, type):
        kind, given = method, {}
    else:
        name, given = parse_spec(method)
        if name not in METHODS:
            raise ParameterError(
                "unknown method", got=repr(name), fix=f"known are {', '.join(METHODS)}"
            )
        kind = METHODS[name]
    ready = read_settings(kind, {**given, **(settings or {})})
    _check_extra(kind)
    if seed is not None and "seed" in setting_types(kind):
        ready.setdefault("seed", seed)
    return kind(**ready)


def method_specs(text: str) -> list[str]:
    """The specs in a list of them, separated by commas or spaces, each once."""
    specs = list(dict.fromkeys(text.replace(",", " ").split()))
    if not specs:
        raise ParameterError("no method named", fix=f"known are {', '.join(METHODS)}")
    return specs


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Name and settings of a spec.

    >>> parse_spec("mv:ties=entity;seed=3")
    ('mv', {'ties': 'entity', 'seed': '3'})
    """
    name, _, rest = spec.partition(":")
    if re.search(r",\s*\w+=", rest) or "=" in name:
        raise ParameterError(
            "settings are separated by semicolons", got=repr(spec),
            fix="write 'method:one=1;two=2', without spaces",
        )  # fmt: skip
    return name, parse_pairs(filter(None, rest.split(";")))


def parse_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """Settings from texts such as ``folds=3``.

    >>> parse_pairs(["folds=3", "predictor=none"])
    {'folds': '3', 'predictor': 'none'}
    """
    found = {}
    for pair in pairs:
        key, _, value = pair.partition("=")
        if not value:
            raise ParameterError(f"{key} needs a value: {key}=…", got=repr(pair))
        found[key] = value
    return found


@cache
def setting_types(kind: type[Aggregator]) -> dict[str, Any]:
    """The settings of a method with their types."""
    hints = typing.get_type_hints(kind)
    return {f.name: hints[f.name] for f in fields(kind) if f.init}


def read_settings(kind: type[Aggregator], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as the types they have; unknown ones are refused."""
    known = setting_types(kind)
    for key in settings:
        if key not in known:
            raise ParameterError(
                f"method {kind.name} has no setting {key!r}", fix=f"it has {', '.join(known)}"
            )
    return {key: _read(kind, key, value, known[key]) for key, value in settings.items()}


def _read(kind: type[Aggregator], key: str, value: Any, wanted: Any) -> Any:
    """One setting: texts are read, other values must be of the type already."""
    union = get_origin(wanted) in (Union, types.UnionType)
    choices = get_args(wanted) if union else (wanted,)
    if Predictor in choices:
        return choose_predictor(value) if isinstance(value, str) and value != AUTO else value
    for name, predictor in PREDICTORS.items():
        if predictor in choices and isinstance(value, str):
            if value != name:
                raise ParameterError(
                    f"method {kind.name} works with predictor={name} only", got=repr(value)
                )
            return predictor()
    value = (
        _number(key, value, choices) if isinstance(value, str) else _checked(key, value, choices)
    )
    if key == "seed" and isinstance(value, int) and value < 0:
        raise ParameterError("seed must not be negative", got=str(value))
    return value


def _number(key: str, text: str, choices: tuple[Any, ...]) -> Any:
    """A text as the first of the types that it can be."""
    if bool in choices:
        if text.lower() not in ("true", "false"):
            raise ParameterError(f"{key} must be true or false", got=repr(text))
        return text.lower() == "true"
    if type(None) in choices and text.lower() == "none":
        return None
    if int in choices and re.fullmatch(r"[+-]?[0-9]+", text):
        return int(text)
    if float in choices:
        try:
            if math.isfinite(number := float(text)):
                return number
        except ValueError:
            pass
    if str in choices:
        return text
    if float in choices:
        raise ParameterError(f"{key} must be a number", got=repr(text))
    if int in choices:
        raise ParameterError(f"{key} must be a whole number", got=repr(text))
    raise ParameterError(
        f"{key} cannot be written as a text", got=repr(text), fix="set it in Python"
    )


def _checked(key: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """A value that is no text, where it is of one of these types (whole numbers are numbers too)."""
    plain = {bool, int, float, str, type(None)}
    if not set(choices) <= plain:
        return value  # mappings and the like are checked by the method
    if isinstance(value, bool) and bool not in choices:
        raise ParameterError(f"{key} must not be true or false", got=repr(value))
    if isinstance(value, int) and int not in choices and float in choices:
        return value if isinstance(value, bool) else float(value)
    return value


def _check_extra(kind: type[Aggregator]) -> None:
    """Raise before anything runs where the method needs a package that is not there."""
    extra = getattr(kind, "extra", None)
    if extra is not None and importlib.util.find_spec(extra) is None:
        raise MissingExtraError(extra, extra, f"method {kind.name}")
