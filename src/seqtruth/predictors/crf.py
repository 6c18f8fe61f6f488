"""A linear-chain conditional random field that takes weights and soft labels and can go on learning."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from seqtruth.archive import Arrays
from seqtruth.compiled import F32, F64, I32, I64, chunk_bounds, kernel, map_chunks, threads
from seqtruth.errors import DataError, ParameterError
from seqtruth.inference import Chain, forward_backward
from seqtruth.predictors.base import Targets, Tokens, as_corpus, as_targets
from seqtruth.predictors.features import Channel, Encoder
from seqtruth.predictors.lbfgs import minimise
from seqtruth.scheme import Scheme


@dataclass
class CRF:
    """Linear-chain CRF over hand-made features (see :mod:`seqtruth.predictors.features`).

    p(y | x) ∝ exp( Σ_i Σ_f θ[f, y_i] + a[y_1] + Σ_i A[y_i, y_{i+1}] + b[y_n] )

    Training maximises  Σ_s weight_s · E_{y~target}[log p(y | x_s)] - l2/2 · ‖θ, A, a, b‖²  by L-BFGS.
    Soft targets give each token a distribution; neighbouring tokens are then taken as independent
    (exact for hard labels). Calling :meth:`fit` again starts from the present parameters.

    Parameters
    ----------
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
    max_iter: int = 60
    further_iter: int = 25
    tol: float = 1e-4
    scheme: Scheme | None = field(default=None, init=False, repr=False)
    _encoder: Encoder = field(default_factory=Encoder, init=False, repr=False)
    _theta: list[F64] = field(default_factory=list, init=False, repr=False)
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
    ) -> Self:
        corpus = as_corpus(tokens)
        target, scheme = as_targets(corpus, tags, scheme)
        if self.scheme is not None and scheme != self.scheme:
            raise DataError("further training must keep the labels of the first")
        n_labels, further = len(scheme.labels), self._chain is not None
        self.scheme = scheme
        channels = self._encoder.encode(corpus, grow=True)
        theta = [np.zeros((len(v), n_labels)) for v in self._encoder.vocabularies]
        for new, old in zip(theta, self._theta, strict=False):
            new[: len(old)] = old
        chain = self._chain if self._chain is not None else np.zeros((n_labels + 2, n_labels))
        problem = _Problem(
            channels,
            corpus.token_offsets,
            target,
            np.ones(corpus.n_sentences) if weights is None else np.asarray(weights, np.float64),
            [part.shape for part in theta],
            n_labels,
            self.l2,
        )
        start = np.concatenate([part.ravel() for part in (*theta, chain)])
        solution = minimise(
            problem.loss,
            start,
            max_iter=self.further_iter if further else self.max_iter,
            tol=self.tol,
        )
        # as exact as a saved tagger, so that going on from a file is going on from memory
        self._theta, self._chain = problem.unpack(solution.astype(np.float32).astype(np.float64))
        return self

    def predict_proba(self, tokens: Tokens) -> F32:
        if self._chain is None:
            raise DataError("the predictor has not been trained", fix="call fit first")
        corpus = as_corpus(tokens)
        channels = self._encoder.encode(corpus, grow=False)
        scores = _scores(channels, self._theta, corpus.token_offsets)
        return forward_backward(scores, corpus.token_offsets, _as_chain(self._chain)).marginals

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Settings and parameters for :mod:`seqtruth.archive`."""
        meta = {
            name: getattr(self, name) for name in ("l2", "max_iter", "further_iter", "tol")
        }
        arrays: Arrays = {}
        if self._chain is not None:
            arrays["chain"] = self._chain.astype(np.float32)
            for i, (part, vocabulary) in enumerate(
                zip(self._theta, self._encoder.vocabularies, strict=True)
            ):
                arrays[f"theta{i}"] = part.astype(np.float32)
                arrays[f"features{i}"] = np.frombuffer(
                    json.dumps(list(vocabulary), ensure_ascii=False).encode(), np.uint8
                )
        return meta, arrays

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Arrays, scheme: Scheme) -> Self:
        crf = cls(**{name: meta[name] for name in ("l2", "max_iter", "further_iter", "tol")})
        if "chain" in arrays:
            crf.scheme = scheme
            crf._chain = arrays["chain"].astype(np.float64)
            i = 0
            while f"theta{i}" in arrays:
                crf._theta.append(arrays[f"theta{i}"].astype(np.float64))
                texts = json.loads(arrays[f"features{i}"].tobytes())
                crf._encoder.vocabularies.append({text: n for n, text in enumerate(texts)})
                i += 1
        return crf


@dataclass
class _Problem:
    """The training loss as a function of one flat parameter array."""

    channels: list[Channel]
    offsets: I64
    target: F64
    weights: F64
    shapes: list[tuple[int, ...]]
    n_labels: int
    l2: float

    def __post_init__(self) -> None:
        offsets, target = self.offsets, self.target
        inner = np.ones(len(target), np.bool_)
        inner[offsets[1:][np.diff(offsets) > 0] - 1] = False
        pairs = np.flatnonzero(inner)
        filled = np.flatnonzero(np.diff(offsets) > 0)
        per_token = np.repeat(self.weights, np.diff(offsets))
        self.token_weights = per_token
        weighted = target * per_token[:, None]
        self.chain_target = np.vstack(
            [
                weighted[pairs].T @ target[pairs + 1] if len(pairs) else 0 * target[:0].T @ target[:0],
                weighted[offsets[:-1][filled]].sum(axis=0),
                weighted[offsets[1:][filled] - 1].sum(axis=0),
            ]
        )

    def unpack(self, x: F64) -> tuple[list[F64], F64]:
        parts, at = [], 0
        for shape in (*self.shapes, (self.n_labels + 2, self.n_labels)):
            size = int(np.prod(shape))
            parts.append(x[at : at + size].reshape(shape))
            at += size
        return parts[:-1], parts[-1]

    def loss(self, x: F64) -> tuple[float, F64]:
        theta, chain = self.unpack(x)
        scores = _scores(self.channels, theta, self.offsets)
        found = forward_backward(scores, self.offsets, _as_chain(chain), self.weights)
        residual = (found.marginals - self.target) * self.token_weights[:, None]
        value = float(self.weights @ found.log_normaliser)
        value -= float(np.einsum("tl,tl,t->", self.target, scores, self.token_weights))
        value -= float((self.chain_target * chain).sum())
        expected = np.vstack([found.transition, found.start, found.end])
        parts = _gradient(self.channels, residual, self.shapes)
        gradient = np.concatenate([part.ravel() for part in (*parts, expected - self.chain_target)])
        gradient += self.l2 * x
        return value + 0.5 * self.l2 * float(x @ x), gradient


def _as_chain(chain: F64) -> Chain:
    weights = np.exp(np.clip(chain, -60, 60))
    return Chain(weights[-2].copy(), weights[:-2].copy(), weights[-1].copy())


def _scores(channels: list[Channel], theta: list[F64], offsets: I64) -> F64:
    """float64[T, L]: sum of the weights of each token's features."""
    n_labels = theta[0].shape[1]
    scores = np.zeros((int(offsets[-1]), n_labels))
    for channel, part in zip(channels, theta, strict=True):
        atoms = np.zeros((len(channel.start) - 1, n_labels))
        _sum_features(channel.start, channel.feature, part, atoms)

        def run(a: int, b: int, atom: I32 = channel.atom, table: F64 = atoms) -> None:
            _add_atoms(atom, table, int(offsets[a]), int(offsets[b]), scores)

        map_chunks(run, chunk_bounds(offsets))
    return scores


def _gradient(channels: list[Channel], residual: F64, shapes: list[tuple[int, ...]]) -> list[F64]:
    """Residuals summed per feature, one thread a channel (each sum has a fixed order)."""

    def run(job: tuple[Channel, tuple[int, ...]]) -> F64:
        channel, shape = job
        atoms = np.zeros((len(channel.start) - 1, shape[1]))
        _sum_residuals(channel.atom, residual, atoms)
        out = np.zeros(shape)
        _spread_atoms(channel.start, channel.feature, atoms, out)
        return out

    jobs = list(zip(channels, shapes, strict=True))
    if threads() == 1:
        return [run(job) for job in jobs]
    with ThreadPoolExecutor(threads()) as pool:
        return list(pool.map(run, jobs))


@kernel
def _sum_features(start: I64, feature: I32, theta: F64, atoms: F64) -> None:
    for a in range(len(start) - 1):
        for f in range(start[a], start[a + 1]):
            for k in range(theta.shape[1]):
                atoms[a, k] += theta[feature[f], k]


@kernel
def _add_atoms(atom: I32, table: F64, first: int, last: int, scores: F64) -> None:
    for i in range(first, last):
        for k in range(table.shape[1]):
            scores[i, k] += table[atom[i], k]


@kernel
def _sum_residuals(atom: I32, residual: F64, atoms: F64) -> None:
    for i in range(len(atom)):
        for k in range(residual.shape[1]):
            atoms[atom[i], k] += residual[i, k]


@kernel
def _spread_atoms(start: I64, feature: I32, atoms: F64, out: F64) -> None:
    for a in range(len(start) - 1):
        for f in range(start[a], start[a + 1]):
            for k in range(out.shape[1]):
                out[feature[f], k] += atoms[a, k]
