"""Worker models: what an annotator says, given the truth.

A worker model is one small idea: how many numbers describe an annotator, and which table
p(c | l, t) they spell out (c their tag, t the true one, l their own previous tag). Together with a
sequence model over the true tags it makes a method; all of these run in the same loop
(:mod:`seqtruth.methods.bayes.sequence_model`).

========  ===================================================================  ====================
name      p(c | l, t)                                                          parameters
========  ===================================================================  ====================
acc       π if c = t, else (1 - π) / (L - 1)                                   right[W, 2]
spam      θ [c = t] + (1 - θ) ξ[c]: honest, or answering from a habit          honest[W, 2], habit[W, L]
cv        π[t] if c = t, else (1 - π[t]) / (L - 1)                             right[W, L, 2]
cm        π[t, c]                                                              confusion[W, 1, L, L]
seq       A[l, t, c]                                                           confusion[W, L, L, L]
========  ===================================================================  ====================

Every parameter is a Dirichlet (:mod:`seqtruth.methods.bayes.dirichlet`) along its last axis; "right"
is (right, wrong), "honest" is (honest, spamming). The prior gives each outcome ``base``
pseudo-counts and ``diagonal`` more to being right.

References
----------
Simpson & Gurevych (2019), A Bayesian approach for sequence tagging with crowds, EMNLP.
doi:10.18653/v1/D19-1101
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from seqtruth.data.scheme import Scheme
from seqtruth.kernels.arrays import F64, Bool
from seqtruth.kernels.spans import BEGIN, SINGLE
from seqtruth.methods.bayes.dirichlet import SMALLEST, blocks, means
from seqtruth.methods.loop import State


@dataclass(frozen=True)
class WorkerModel(ABC):
    """How an annotator's tags depend on the truth.

    Parameters
    ----------
    base : prior pseudo-counts of every outcome.
    diagonal : further pseudo-counts of the right one.
    strength : pseudo-counts behind an annotator's reliability where it is known beforehand: an
        annotator said to be right with probability a gets ``strength * a`` more on being right and
        ``strength * (1 - a)`` more on the rest, for each of their distributions.
    """

    name: ClassVar[str]
    #: Whether the annotator's own previous tag matters.
    previous: ClassVar[bool] = False
    #: Whether :meth:`counts` looks at the logarithms of the parameters.
    counts_by_logs: ClassVar[bool] = False

    base: float = 1.0
    diagonal: float = 1.0
    strength: float = 100.0

    @abstractmethod
    def prior(self, scheme: Scheme, accuracy: F64) -> State:
        """Pseudo-counts for every annotator; ``accuracy[W]`` is nan where nothing is known."""

    def expecting_silence(self, prior: State, scheme: Scheme, silent: Bool) -> State:
        """The prior where sources are known to be silent on types (bool[W, K])."""
        return prior

    @abstractmethod
    def counts(self, tags: F64, logs: State) -> State:
        """Expected counts shaped like the parameters, from those of tags [W, P, C, L]."""

    @abstractmethod
    def table(self, logs: State, n_labels: int) -> F64:
        """[W, P, C, L]: logarithm of p(c | l, t) for the E-step."""

    @abstractmethod
    def confusion(self, n: State, prior: State, n_labels: int) -> F64:
        """[W, L, L]: expected p(c | t), to show and to weigh annotators by."""

    def _right_wrong(self, accuracy: F64) -> F64:
        """[W, 2] prior of being right and wrong."""
        pair = np.array([self.base + self.diagonal, self.base])
        known = ~np.isnan(accuracy)
        a = np.where(known, accuracy, 0.0)
        more = self.strength * np.stack([a, np.where(known, 1.0 - a, 0.0)], axis=-1)
        return np.asarray(pair + more)


@dataclass(frozen=True)
class Accuracy(WorkerModel):
    """One accuracy for all tags."""

    name: ClassVar[str] = "acc"

    def prior(self, scheme: Scheme, accuracy: F64) -> State:
        return {"right": self._right_wrong(accuracy)}

    def counts(self, tags: F64, logs: State) -> State:
        return {"right": _right_counts(tags).sum(axis=1)}

    def table(self, logs: State, n_labels: int) -> F64:
        return _spread(np.repeat(logs["right"][:, None], n_labels, axis=1))

    def confusion(self, n: State, prior: State, n_labels: int) -> F64:
        return _spread_means(np.repeat(means(n["right"])[:, None], n_labels, axis=1))


@dataclass(frozen=True)
class ConfusionVector(WorkerModel):
    """An accuracy for each true tag; whatever is wrong is equally likely."""

    name: ClassVar[str] = "cv"

    def prior(self, scheme: Scheme, accuracy: F64) -> State:
        pair = self._right_wrong(accuracy)
        return {"right": np.repeat(pair[:, None], len(scheme.labels), axis=1)}

    def counts(self, tags: F64, logs: State) -> State:
        return {"right": _right_counts(tags)}

    def table(self, logs: State, n_labels: int) -> F64:
        return _spread(logs["right"])

    def confusion(self, n: State, prior: State, n_labels: int) -> F64:
        return _spread_means(means(n["right"]))


@dataclass(frozen=True)
class Spammer(WorkerModel):
    """Honest with probability θ, else answering from a habit ξ that ignores the truth (MACE).

    Whether a tag was given honestly is a hidden variable beside the true tag; both are summed over
    in the E-step, so the bound stays exact:
    table = log(exp E[log θ] · [c = t] + exp(E[log(1 - θ)] + E[log ξ[c]])).
    """

    name: ClassVar[str] = "spam"
    counts_by_logs: ClassVar[bool] = True

    habit: float = 1.0

    def prior(self, scheme: Scheme, accuracy: F64) -> State:
        honest = self._right_wrong(accuracy)
        return {"honest": honest, "habit": np.full((len(honest), len(scheme.labels)), self.habit)}

    def counts(self, tags: F64, logs: State) -> State:
        given = tags.sum(axis=1)
        right = np.diagonal(given, axis1=1, axis2=2)
        honest = logs["honest"][:, :1]
        habit = logs["honest"][:, 1:] + logs["habit"]
        knew = right * np.exp(honest - np.logaddexp(honest, habit))
        guessed = given.sum(axis=2) - knew
        return {
            "honest": np.stack([knew.sum(axis=1), guessed.sum(axis=1)], axis=1),
            "habit": np.maximum(guessed, 0.0),
        }

    def table(self, logs: State, n_labels: int) -> F64:
        habit = logs["honest"][:, 1:] + logs["habit"]
        table = np.repeat(habit[:, :, None], n_labels, axis=2)
        on = np.arange(n_labels)
        table[:, on, on] = np.logaddexp(logs["honest"][:, :1], habit)
        return np.ascontiguousarray(table[:, None])

    def confusion(self, n: State, prior: State, n_labels: int) -> F64:
        theta = means(n["honest"])[:, :1, None]
        return np.asarray(theta * np.eye(n_labels) + (1 - theta) * means(n["habit"])[:, None])


@dataclass(frozen=True)
class ConfusionMatrix(WorkerModel):
    """A distribution over tags for each true tag (Dawid & Skene; IBCC when Bayesian)."""

    name: ClassVar[str] = "cm"

    def prior(self, scheme: Scheme, accuracy: F64) -> State:
        usual, right = self._usual(scheme), self._right(scheme)
        trust = self.diagonal * self._trust(scheme)[None, :, None]
        if np.isnan(accuracy).all():  # the same for all, kept once
            alike = self.base * usual + trust * right
            return {"confusion": np.broadcast_to(alike, (len(accuracy), *alike.shape))}
        wrong = means(np.where(right > 0, 0.0, usual))
        a = np.where(np.isnan(accuracy), 0.0, accuracy)[:, None, None, None]
        b = np.where(np.isnan(accuracy), 0.0, 1.0 - accuracy)[:, None, None, None]
        known = self.strength * (a * right + b * wrong)
        return {"confusion": self.base * usual + trust * right + known}

    def expecting_silence(self, prior: State, scheme: Scheme, silent: Bool) -> State:
        """Where a source is silent on a type, ``O`` is what it is trusted to say of it.

        Were it trusted to name the type, the ``O`` of a dozen rules that know other types would
        outweigh the claim of one that knows this one, wherever there is too little to learn
        otherwise.
        """
        confusion = prior["confusion"].copy()
        for source, kind in np.argwhere(silent):
            tags = np.flatnonzero(scheme.type_of == kind)
            named = confusion[source][:, tags, tags]
            confusion[source][:, tags, tags] = confusion[source][:, tags, scheme.outside]
            confusion[source][:, tags, scheme.outside] = named
        return {**prior, "confusion": confusion}

    def _usual(self, scheme: Scheme) -> F64:
        """[P, L, C]: 1 for a tag that may be given at all, next to nothing for one that may not."""
        return np.ones((1, len(scheme.labels), len(scheme.labels)))

    def _right(self, scheme: Scheme) -> F64:
        """[P, L, C]: the tags that are right, as a distribution."""
        return np.eye(len(scheme.labels))[None]

    def _trust(self, scheme: Scheme) -> F64:
        """[L]: factor of ``diagonal`` for each true tag."""
        return np.ones(len(scheme.labels))

    def counts(self, tags: F64, logs: State) -> State:
        return {"confusion": tags.transpose(0, 1, 3, 2)}

    def table(self, logs: State, n_labels: int) -> F64:
        return logs["confusion"].transpose(0, 1, 3, 2)  # the E-step copies what it needs of it

    def confusion(self, n: State, prior: State, n_labels: int) -> F64:
        found = np.empty((len(n["confusion"]), n_labels, n_labels))
        for some in blocks(n["confusion"]):
            found[some] = _over_previous(n["confusion"][some], prior["confusion"][some])
        return found


@dataclass(frozen=True)
class Sequential(ConfusionMatrix):
    """A confusion matrix for each previous tag of the annotator's own (BSC-seq).

    Tags that the scheme forbids after l get next to no prior mass. Where the true tag itself is
    forbidden after l (they missed the beginning, and the truth is I-), they cannot be right: no tag gets
    ``diagonal``, or all that may follow share it.

    Parameters
    ----------
    rare : share of ``base`` that a forbidden tag gets.
    stray : share of ``diagonal`` that is spread over all legal tags where none can be right.
    begin : factor of ``diagonal`` for true tags that begin a span (B, S): that a span is there at
        all is what annotators are trusted with most when they say so.
    """

    name: ClassVar[str] = "seq"
    previous: ClassVar[bool] = True

    rare: float = 0.1
    begin: float = 1.0
    stray: float = 1.0

    def expecting_silence(self, prior: State, scheme: Scheme, silent: Bool) -> State:
        """As it was: what follows a source's own ``O`` is mostly ``O`` already (tried: simulated rules
        lose 4 to 18 points)."""
        return prior

    def _usual(self, scheme: Scheme) -> F64:
        may = np.where(scheme.allowed, 1.0, self.rare)
        return np.repeat(may[:, None, :], len(scheme.labels), axis=1)

    def _right(self, scheme: Scheme) -> F64:
        any_legal = self.stray * means(scheme.allowed.astype(np.float64))[:, None, :]
        exact = np.eye(len(scheme.labels))[None]
        return np.where(scheme.allowed[:, :, None], exact, any_legal)

    def _trust(self, scheme: Scheme) -> F64:
        return np.where(np.isin(scheme.roles, (BEGIN, SINGLE)), self.begin, 1.0)


ANNOTATOR_MODELS: dict[str, type[WorkerModel]] = {
    model.name: model for model in (Accuracy, Spammer, ConfusionVector, ConfusionMatrix, Sequential)
}


def information(confusion: F64, prior: F64) -> F64:
    """float64[W]: mutual information, in nats a token, between an annotator's tag and the truth.

    A spammer has 0 whatever they answer; with O on most tokens, plain accuracy would flatter them.

    >>> good, spam = np.eye(2), np.full((2, 2), 0.5)
    >>> information(np.array([good, spam]), np.array([0.5, 0.5])).round(3).tolist()
    [0.693, 0.0]
    """
    p = prior / max(prior.sum(), SMALLEST)
    joint = confusion * p[None, :, None]
    joint = joint / np.maximum(joint.sum(axis=(1, 2), keepdims=True), SMALLEST)
    product = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    ratio = np.divide(joint, product, out=np.ones_like(joint), where=(joint > 0) & (product > 0))
    return np.asarray(np.maximum((joint * np.log(ratio)).sum(axis=(1, 2)), 0.0))


def _over_previous(n: F64, prior: F64) -> F64:
    """[W, L, C] from [W, P, L, C]: each previous tag counts as often as the annotator was seen after it."""
    seen = np.maximum((n - prior).sum(axis=-1, keepdims=True), 0.0) + SMALLEST
    share = seen / seen.sum(axis=1, keepdims=True)
    return np.asarray((share * means(n)).sum(axis=1))


def _right_counts(tags: F64) -> F64:
    """[W, L, 2]: how often right and wrong at each true tag."""
    given = tags.sum(axis=1)
    right = np.diagonal(given, axis1=1, axis2=2)
    return np.stack([right, np.maximum(given.sum(axis=1) - right, 0.0)], axis=-1)


def _spread(logs: F64) -> F64:
    """[W, 1, C, L] from log (right, wrong) [W, L, 2]: wrong spread evenly over the other tags."""
    n = logs.shape[1]
    wrong = logs[:, None, None, :, 1] - np.log(max(n - 1, 1))
    on = np.eye(n, dtype=np.bool_)
    return np.ascontiguousarray(np.where(on, logs[:, None, None, :, 0], wrong))


def _spread_means(pairs: F64) -> F64:
    """[W, L, C] from (right, wrong) [W, L, 2]."""
    n = pairs.shape[1]
    return np.where(np.eye(n, dtype=np.bool_), pairs[:, :, :1], pairs[:, :, 1:] / max(n - 1, 1))
