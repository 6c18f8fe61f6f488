"""A linear-chain conditional random field that takes weights and soft labels and can go on learning."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from seqtruth.archive import Arrays
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError, ParameterError
from seqtruth.kernels.arrays import F32, F64, I64, Tags, tag_dtype
from seqtruth.kernels.chain import FORBIDDEN, Chain, forward_backward
from seqtruth.kernels.native import call
from seqtruth.predictors.base import Targets, Tokens, as_corpus, as_targets
from seqtruth.predictors.crf.features import CHANNELS, Encoder, Views
from seqtruth.predictors.crf.lbfgs import add, dot, minimise
from seqtruth.schema import Column, Schema


@dataclass
class CRF:
    """Linear-chain CRF over hand-made features (see :mod:`seqtruth.predictors.crf.features`).

    p(y | x) ∝ exp( Σ_i Σ_f θ[f, y_i] + a[y_1] + Σ_i A[y_i, y_{i+1}] + b[y_n] )

    Training maximises  Σ_s weight_s · E_{y~target}[log p(y | x_s)] - l2/2 · ‖θ, A, a, b‖²  by L-BFGS.
    Soft targets give each token a distribution; neighbouring tokens are then taken as independent
    (exact for hard labels). Where hard labels are missing, log p of those given is maximised, the
    missing ones summed over. Calling :meth:`fit` again starts from the present parameters.

    Parameters
    ----------
    further_iter : L-BFGS steps of each later training.
    l2 : strength of the penalty.
    max_iter : L-BFGS steps of the first training; later ones make at most ``further_iter``.
    tol : relative fall of the loss below which training stops.

    References
    ----------
    Lafferty, McCallum & Pereira (2001), Conditional random fields, ICML.

    Examples
    --------
    >>> crf = CRF().fit([["Ann", "ran"], ["Bob", "sat"]], [["B-PER", "O"], ["B-PER", "O"]])
    >>> crf.predict_proba([["Eve", "ran"]]).argmax(axis=1).tolist()
    [0, 2]
    """

    name: ClassVar[str] = "crf"

    l2: float = 0.5
    max_iter: int = 50
    further_iter: int = 15
    tol: float = 1e-4
    scheme: Scheme | None = field(default=None, init=False, repr=False)
    _encoder: Encoder = field(default_factory=Encoder, init=False, repr=False)
    _theta: list[F32] = field(default_factory=list, init=False, repr=False)
    _chain: F64 | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.l2 > 0:
            raise ParameterError("l2 must be positive", got=str(self.l2))

    def clone(self) -> CRF:
        return CRF(self.l2, self.max_iter, self.further_iter, self.tol)

    def fit(
        self,
        tokens: Tokens,
        tags: Targets,
        *,
        scheme: Scheme | None = None,
        weights: F64 | None = None,
        transitions: F64 | None = None,
    ) -> Self:
        """Learn, see :class:`~seqtruth.predictors.base.Predictor`.

        Parameters
        ----------
        tokens, tags, scheme, weights : as every predictor's.
        transitions : float64[L, L], expected numbers of neighbouring label pairs under the targets,
            weights included; with them soft targets that are a mixture of whole sequences are exact.
        """
        corpus = as_corpus(tokens)
        target, scheme = as_targets(corpus, tags, scheme)
        if self.scheme is not None and scheme != self.scheme:
            raise DataError("further training must keep the labels of the first")
        n_labels, further = len(scheme.labels), self._chain is not None
        self.scheme = scheme
        channels = self._encoder.encode(corpus, grow=True)
        sizes = [len(vocabulary) for vocabulary in self._encoder.vocabularies]
        theta = [np.zeros((size, n_labels)) for size in sizes]
        for new, old in zip(theta, self._theta, strict=False):
            new[: len(old)] = old
        chain = self._chain if self._chain is not None else np.zeros((n_labels + 2, n_labels))
        problem = _Problem(
            Views.of(channels, sizes),
            corpus.token_offsets,
            target,
            np.ones(corpus.n_sentences) if weights is None else np.asarray(weights, np.float64),
            n_labels,
            self.l2,
            transitions,
        )
        start = np.vstack([*theta, chain]).ravel()
        solution = minimise(
            problem.loss,
            start,
            max_iter=self.further_iter if further else self.max_iter,
            tol=self.tol,
            single=True,
        )
        # as exact as a saved tagger, so that going on from a file is going on from memory
        found, chain = problem.unpack(solution)
        self._theta = np.split(found.astype(np.float32), np.cumsum(sizes)[:-1])
        self._chain = chain.astype(np.float32).astype(np.float64)
        return self

    def predict_proba(self, tokens: Tokens) -> F32:
        corpus = as_corpus(tokens)
        scores, chain = self.potentials(corpus)
        return forward_backward(scores, corpus.token_offsets, chain).marginals

    def potentials(self, tokens: Tokens) -> tuple[F64, Chain]:
        """Label scores float64[T, L] and the label chain: all that p(y | x) is made of."""
        if self._chain is None:
            raise DataError("the predictor has not been trained", fix="call fit first")
        corpus = as_corpus(tokens)
        sizes = [len(part) for part in self._theta]
        views = Views.of(self._encoder.encode(corpus, grow=False), sizes)
        scores = views.scores(np.vstack(self._theta, dtype=np.float64))
        return scores, _as_chain(self._chain)

    def log_likelihood(self, tokens: Tokens, tags: Tags) -> F64:
        """float64[S]: log p(tags | tokens) of every sentence; tags of -1 are summed over.

        Parameters
        ----------
        tokens : the sentences.
        tags : tag[T].
        """
        corpus = as_corpus(tokens)
        scores, chain = self.potentials(corpus)
        whole = forward_backward(scores, corpus.token_offsets, chain).log_normaliser
        given = forward_backward(clamp(scores, tags), corpus.token_offsets, chain).log_normaliser
        return given - whole

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Settings and parameters for :mod:`seqtruth.archive`."""
        meta = {name: getattr(self, name) for name in ("l2", "max_iter", "further_iter", "tol")}
        arrays: Arrays = {}
        if self._chain is not None:
            arrays["chain"] = self._chain.astype(np.float32)
            for i, (part, vocabulary) in enumerate(
                zip(self._theta, self._encoder.vocabularies, strict=True)
            ):
                arrays[f"theta{i}"] = part
                arrays[f"features{i}"] = np.frombuffer(
                    json.dumps(list(vocabulary), ensure_ascii=False).encode(), np.uint8
                )
        return meta, arrays

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Arrays, scheme: Scheme) -> Self:
        crf = cls(**{name: meta[name] for name in ("l2", "max_iter", "further_iter", "tol")})
        if not arrays:  # saved before it was trained
            return crf
        sizes = _SAVED.check(arrays, {"labels": len(scheme.labels)})
        for i in range(CHANNELS):
            texts = _feature_texts(arrays, i)
            if len(texts) != sizes[f"features {i}"]:
                raise ValueError(f"theta{i} must have a row for each of {len(texts)} features")
            crf._theta.append(arrays[f"theta{i}"].astype(np.float32))
            crf._encoder.vocabularies.append({text: n for n, text in enumerate(texts)})
        crf.scheme = scheme
        crf._chain = arrays["chain"].astype(np.float64)
        return crf


#: What a saved CRF holds: chain, and for each channel weights and names of features.
_SAVED = Schema(
    {"chain": Column("float", ("labels+2", "labels"))}
    | {f"theta{i}": Column("float", (f"features {i}", "labels")) for i in range(CHANNELS)}
    | {f"features{i}": Column("bytes", (f"bytes {i}",)) for i in range(CHANNELS)}
)


def _feature_texts(arrays: Arrays, channel: int) -> list[str]:
    """Names of a channel's features out of a file: different strings."""
    name = f"features{channel}"
    texts = json.loads(arrays[name].tobytes())
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{name} must be a list of strings")
    if len(set(texts)) != len(texts):
        raise ValueError(f"{name} must be different strings")
    return texts


@dataclass
class _Problem:
    """The training loss as a function of one flat parameter array."""

    views: Views
    offsets: I64
    target: F64
    weights: F64
    n_labels: int
    l2: float
    transitions: F64 | None = None

    def __post_init__(self) -> None:
        offsets, target = self.offsets, self.target
        inner = np.ones(len(target), np.bool_)
        inner[offsets[1:][np.diff(offsets) > 0] - 1] = False
        pairs = np.flatnonzero(inner)
        filled = np.flatnonzero(np.diff(offsets) > 0)
        per_token = np.repeat(self.weights, np.diff(offsets))
        self.token_weights = per_token
        self.weighted = weighted = target * per_token[:, None]
        self.chain_target = np.vstack(
            [
                weighted[pairs].T @ target[pairs + 1]
                if len(pairs)
                else 0 * target[:0].T @ target[:0],
                weighted[offsets[:-1][filled]].sum(axis=0),
                weighted[offsets[1:][filled] - 1].sum(axis=0),
            ]
        )
        if self.transitions is not None:
            self.chain_target[:-2] = self.transitions
        n_atoms, n_features = (
            len(self.views.of_atom.start) - 1,
            len(self.views.of_feature.start) - 1,
        )
        self.table = np.empty((n_atoms, self.n_labels))
        self.scores, self.residual = np.empty_like(target), np.empty_like(target)
        self.gradient = np.empty((n_features + self.n_labels + 2) * self.n_labels)
        silent = ~target.any(axis=1)
        self.given: Tags | None = None
        if silent.any():
            if not np.isin(target, (0.0, 1.0)).all():
                raise DataError(
                    "soft tags must say something of every token",
                    got=f"nothing of {int(silent.sum())} tokens",
                    fix="leave these sentences out, or give hard tags",
                )
            given = np.where(silent, -1, target.argmax(axis=1))
            self.given = given.astype(tag_dtype(self.n_labels))

    def unpack(self, x: F64) -> tuple[F64, F64]:
        """Feature weights [F, L] and chain [L+2, L] (transitions, start, end)."""
        rows = x.reshape(-1, self.n_labels)
        return rows[: -self.n_labels - 2], rows[-self.n_labels - 2 :]

    def loss(self, x: F64) -> tuple[float, F64]:
        """Value and gradient; the gradient's array is used again by the next call."""
        theta, chain = self.unpack(x)
        scores = self.views.scores(theta, self.table, self.scores)
        found = forward_backward(scores, self.offsets, _as_chain(chain), self.weights)
        value = float(self.weights @ found.log_normaliser)
        target, chain_target = self.target, self.chain_target
        if self.given is None:
            value -= dot(self.weighted.ravel(), scores.ravel())
            value -= float((chain_target * chain).sum())
        else:  # what is expected of all tokens, given the labels that are
            given = forward_backward(
                clamp(scores, self.given), self.offsets, _as_chain(chain), self.weights
            )
            value -= float(self.weights @ given.log_normaliser)
            target = given.marginals.astype(np.float64)
            chain_target = np.vstack([given.transition, given.start, given.end])
        call("residuals", found.marginals, target, self.token_weights, self.residual)
        expected = np.vstack([found.transition, found.start, found.end])
        to_theta, to_chain = self.unpack(self.gradient)
        self.views.gradient(self.residual, to_theta, self.table)
        to_chain[:] = expected - chain_target
        add(self.gradient, self.l2, x, self.gradient)
        return value + 0.5 * self.l2 * dot(x, x), self.gradient


def clamp(scores: F64, tags: Tags) -> F64:
    """Scores that leave only paths with these tags; -1 leaves a token free."""
    forbidden = tags[:, None] != np.arange(scores.shape[1])
    return np.where(forbidden & (tags >= 0)[:, None], FORBIDDEN, scores)


def _as_chain(chain: F64) -> Chain:
    return Chain.of_rows(np.exp(np.clip(chain, -60, 60)))
