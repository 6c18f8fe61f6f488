"""Several predictors as one: the weighted geometric mean of their opinions on whole sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np

from seqtruth.archive import Arrays, under, within
from seqtruth.data.scheme import Scheme
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F32, F64
from seqtruth.kernels.chain import Chain, forward_backward
from seqtruth.predictors.base import (
    Potentials,
    Predictor,
    Targets,
    Tokens,
    as_corpus,
    potentials_of,
)
from seqtruth.predictors.registry import as_storable, stored_kind
from seqtruth.schema import Schema


def pooled(said: Sequence[Potentials], weights: F64) -> tuple[F64, Chain]:
    """Label scores float64[T, L] and label chain of several opinions together.

    Parameters
    ----------
    said : the opinions.
    weights : float64[M], of each.
    """
    n_tokens, n_labels = said[0].scores.shape
    scores, chain = np.zeros((n_tokens, n_labels)), Chain.free(n_labels)
    for weight, one in zip(weights, said, strict=True):
        scores += weight * one.scores
        chain = chain.times(one.chain.power(float(weight)))
    return scores, chain


class Ensemble:
    """p(y | x) ∝ Π_m p_m(y | x)^{v_m} of whole sequences y, with Σ_m v_m = 1.

    Of a member that says nothing of pairs of labels, p_m(y | x) is the product over tokens.

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
        corpus = as_corpus(tokens)
        scores, chain = self.potentials(corpus)
        return forward_backward(scores, corpus.token_offsets, chain).marginals

    def potentials(self, tokens: Tokens) -> tuple[F64, Chain]:
        """Label scores float64[T, L] and the label chain: the weighted sums of all members' logarithms."""
        return pooled([potentials_of(member, tokens) for member in self.members], self.weights)

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
