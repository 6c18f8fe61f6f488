"""What annotators cost and how much they have time for, as a user says it in a small file.

TOML, a table for each annotator; what stands outside the tables is for all others::

    cost = 1.0                  # for a sentence
    [ann]
    cost_per_token = 0.02       # instead, or besides
    labels = 200                # sentences they have time for
    [old-rule]
    available = false

or CSV with the columns ``annotator``, ``cost``, ``cost_per_token``, ``labels``, ``available``.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.errors import InputError, ParameterError
from seqtruth.kernels.arrays import F64, Bool


@dataclass(frozen=True)
class Price:
    """One annotator.

    Parameters
    ----------
    cost, cost_per_token : of a sentence, and of each of its tokens.
    labels : sentences that they have time for.
    available : whether they can be asked at all.
    """

    cost: float = 1.0
    cost_per_token: float = 0.0
    labels: float = float("inf")
    available: bool = True

    def __post_init__(self) -> None:
        for name in ("cost", "cost_per_token", "labels"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise ParameterError(f"{name} must be a number, 0 or more", got=repr(value))
        if not isinstance(self.available, bool):
            raise ParameterError("available must be true or false", got=repr(self.available))


@dataclass(frozen=True)
class Costs:
    """Prices by annotator.

    Parameters
    ----------
    usual : of all who are not named.
    named : of the others.
    """

    usual: Price = field(default_factory=Price)
    named: Mapping[str, Price] = field(default_factory=dict)

    def of(self, name: str) -> Price:
        """One annotator's price."""
        return self.named.get(name, self.usual)

    def of_sentences(self, crowd: Crowd) -> F64:
        """float64[S, W]: what each sentence costs from each annotator; never quite nothing."""
        prices = [self.of(name) for name in crowd.annotators]
        each = np.array([price.cost for price in prices])
        token = np.array([price.cost_per_token for price in prices])
        lengths = np.diff(crowd.corpus.token_offsets).astype(np.float64)
        return np.asarray(np.maximum(each + lengths[:, None] * token, 1e-9))

    def remaining(self, crowd: Crowd) -> F64:
        """float64[W]: labels that each annotator has time for."""
        return np.array([self.of(name).labels for name in crowd.annotators], np.float64)

    def available(self, names: tuple[str, ...]) -> Bool:
        """bool[W]: who can be asked."""
        return np.array([self.of(name).available for name in names], np.bool_)


def costs_of(given: Any, crowd: Crowd) -> Costs:
    """Costs from what a user gives; annotators who are not in the crowd are an error.

    Parameters
    ----------
    given : a path, a mapping as in the TOML file, costs, or None: everybody the same.
    crowd : whose annotators they are.
    """
    if given is None:
        return Costs()
    if isinstance(given, Costs):
        costs, where = given, None
    elif isinstance(given, str | Path):
        costs, where = _read(Path(given)), str(given)
    else:
        costs, where = _of_mapping(dict(given)), None
    strangers = [name for name in costs.named if name not in crowd.annotators]
    if strangers:
        raise InputError(
            "a price is given for somebody who labelled nothing here", where=where,
            got=repr(strangers[0]), fix=f"annotators are {', '.join(crowd.annotators[:8])}",
        )  # fmt: skip
    return costs


def _read(path: Path) -> Costs:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("cannot read the costs", where=str(path), got=str(error)) from None
    try:
        if path.suffix.lower() == ".csv":
            return _of_rows(list(csv.DictReader(text.splitlines())))
        return _of_mapping(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ParameterError, ValueError) as error:
        raise InputError(
            f"the costs cannot be read ({error})", where=str(path),
            fix='TOML with a table for each annotator, names in quotation marks (["ann@x.org"]), or CSV'
            " with a column annotator",
        ) from None  # fmt: skip


def _of_mapping(given: Mapping[str, Any]) -> Costs:
    tables = {name: value for name, value in given.items() if isinstance(value, Mapping)}
    usual = {name: value for name, value in given.items() if name not in tables}
    base = _price(usual, {})
    return Costs(base, {name: _price(value, usual) for name, value in tables.items()})


def _price(given: Mapping[str, Any], usual: Mapping[str, Any]) -> Price:
    known = {entry.name for entry in fields(Price)}
    strange = [name for name in given if name not in known]
    if strange:
        raise ParameterError(f"a price is one of {', '.join(sorted(known))}", got=repr(strange[0]))
    return Price(**{**usual, **given})


def _of_rows(rows: list[dict[str, str]]) -> Costs:
    named = {}
    for row in rows:
        name = (row.pop("annotator", None) or "").strip()
        if not name:
            raise ParameterError("every row needs an annotator", got=repr(row))
        given: dict[str, Any] = {}
        for key, text in row.items():
            if not (text or "").strip():
                continue
            given[key] = _truth(text) if key == "available" else float(text)
        named[name] = _price(given, {})
    return Costs(Price(), named)


def _truth(text: str) -> bool:
    word = text.strip().lower()
    if word not in ("true", "false", "yes", "no", "1", "0"):
        raise ParameterError("available must be true or false", got=repr(text))
    return word in ("true", "yes", "1")
