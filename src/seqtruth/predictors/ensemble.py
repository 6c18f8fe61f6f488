"""Several predictors as one: the weighted geometric mean of their opinions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np

from seqtruth.archive import Arrays, under, within
from seqtruth.data.scheme import Scheme
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F32, F64
from seqtruth.predictors.base import Predictor, Targets, Tokens
from seqtruth.predictors.registry import as_storable, stored_kind
from seqtruth.schema import Schema


class Ensemble:
    """p(l | x_i) ∝ Π_m p_m(l | x_i)^{v_m}, with Σ_m v_m = 1.

    Parameters
    ----------
    members : predictors; each is trained on all that the ensemble is trained on.
    weights : v, rescaled to sum to one (default: all the same).
    """

    name: ClassVar[str] = "ensemble"

    def __init__(
        self, members: Sequence[Predictor], weights: Sequence[float] | F64 | None = None
    ) -> None:
        self.members = tuple(members)
        if not self.members:
            raise ParameterError("an ensemble needs members")
        given = np.ones(len(self.members)) if weights is None else np.asarray(weights, np.float64)
        if (
            given.shape != (len(self.members),)
            or not (given >= 0).all()
            or not 0 < given.sum() < np.inf
        ):
            raise ParameterError(
                "an ensemble needs a weight for each member, none negative", got=repr(weights)
            )
        self.weights: F64 = given / given.sum()

    def __repr__(self) -> str:
        return f"Ensemble({list(self.members)!r}, weights={self.weights.round(3).tolist()})"

    def clone(self) -> Ensemble:
        return Ensemble([member.clone() for member in self.members], self.weights)

    def fit(
        self,
        tokens: Tokens,
        tags: Targets,
        *,
        scheme: Scheme | None = None,
        weights: F64 | None = None,
    ) -> Self:
        for member in self.members:
            member.fit(tokens, tags, scheme=scheme, weights=weights)
        return self

    def predict_proba(self, tokens: Tokens) -> F32:
        total = sum(
            weight * np.log(np.maximum(member.predict_proba(tokens), 1e-12).astype(np.float64))
            for weight, member in zip(self.weights, self.members, strict=True)
        )
        e = np.exp(total - np.max(total, axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True), np.float32)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Settings and parameters of all members."""
        kinds, settings, arrays = [], [], cast(Arrays, {})
        for number, member in enumerate(self.members):
            storable = as_storable(member, "this member of an ensemble")
            its_settings, parts = storable.state()
            kinds.append(storable.name)
            settings.append(its_settings)
            arrays |= under(parts, f"member{number}")
        return {"kinds": kinds, "settings": settings, "weights": self.weights.tolist()}, arrays

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Arrays, scheme: Scheme) -> Ensemble:
        folders = tuple(f"member{number}" for number in range(len(meta["kinds"])))
        Schema({}, folders=folders).check(arrays)
        members = [
            stored_kind(kind).from_state(settings, within(arrays, f"member{number}"), scheme)
            for number, (kind, settings) in enumerate(
                zip(meta["kinds"], meta["settings"], strict=True)
            )
        ]
        return cls(members, meta["weights"])
