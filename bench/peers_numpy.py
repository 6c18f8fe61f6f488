"""The same maths in plain NumPy: what one would write in an afternoon, without loops per token.

``token``, ``annotator`` and ``tag`` are flat columns, one entry per annotation.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import seqtruth as st
from seqtruth.kernels.random import sentence_keys

SMALLEST = 1e-10
#: As in AggSLC: y* is clipped here inside logarithms of losses, and here inside the decoder.
CLIP, FLOOR = 1e-4, 1e-12
FORBIDDEN = -1e9


class Columns(NamedTuple):
    """A crowd as flat columns: who (``annotator``) gave which ``tag`` to which ``token``."""

    token: np.ndarray
    annotator: np.ndarray
    tag: np.ndarray
    offsets: np.ndarray
    n_annotators: int
    scheme: Any
    ids: Any

    @property
    def n_tokens(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_labels(self) -> int:
        return len(self.scheme.labels)


def columns(crowd: Any) -> Columns:
    """Flat columns of a crowd in which everybody labels whole sentences."""
    offsets = crowd.corpus.token_offsets
    lengths = np.diff(offsets)[crowd.row_sentence]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    index = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    token = np.repeat(offsets[crowd.row_sentence], lengths) + index
    annotator = np.repeat(crowd.row_annotator.astype(np.int64), lengths)
    return Columns(
        token, annotator, crowd.tags.astype(np.int64), offsets, crowd.n_annotators, crowd.scheme,
        crowd.corpus.sentence_ids,
    )  # fmt: skip


def shares(c: Columns) -> np.ndarray:
    """[T, L]: shares of the votes."""
    n = c.n_labels
    votes = np.bincount(c.token * n + c.tag, minlength=c.n_tokens * n).reshape(-1, n)
    return votes / votes.sum(axis=1, keepdims=True)


def dawid_skene_m_step(
    c: Columns, q: np.ndarray, smoothing: float
) -> tuple[np.ndarray, np.ndarray]:
    """Class prior [L] and confusion matrices [W, given, true] of posteriors."""
    n = c.n_labels
    cell = c.annotator * n + c.tag
    counts = np.stack(
        [np.bincount(cell, q[c.token, k], c.n_annotators * n) for k in range(n)], axis=1
    ).reshape(c.n_annotators, n, n)
    counts += smoothing
    return q.mean(axis=0), counts / counts.sum(axis=1, keepdims=True)


def dawid_skene_e_step(c: Columns, prior: np.ndarray, confusion: np.ndarray) -> np.ndarray:
    """[T, L]: posteriors."""
    logs = np.log(np.maximum(confusion, SMALLEST))[c.annotator, c.tag]
    scores = np.log(np.maximum(prior, SMALLEST)) + np.stack(
        [np.bincount(c.token, logs[:, k], c.n_tokens) for k in range(c.n_labels)], axis=1
    )
    scores -= scores.max(axis=1, keepdims=True)
    q = np.exp(scores)
    return q / q.sum(axis=1, keepdims=True)


def dawid_skene(
    c: Columns, rounds: int, smoothing: float = SMALLEST
) -> tuple[np.ndarray, list[float]]:
    """Posteriors after so many E-steps from the vote, and the seconds of each round."""
    q, seconds = shares(c), []
    for _ in range(rounds):
        began = time.perf_counter()
        q = dawid_skene_e_step(c, *dawid_skene_m_step(c, q, smoothing))
        seconds.append(time.perf_counter() - began)
    return q, seconds


class Rules(NamedTuple):
    """A scheme's logarithms: 0 for what is allowed, :data:`FORBIDDEN` for what is not."""

    start: np.ndarray
    transition: np.ndarray
    end: np.ndarray

    @staticmethod
    def of(scheme: Any) -> Rules:
        given = (scheme.start, scheme.allowed, scheme.end)
        return Rules(*(np.where(x, 0.0, FORBIDDEN) for x in given))


def padded(offsets: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places [n, longest] of some sentences' tokens, and which of them are there."""
    lengths = np.diff(offsets)[which]
    index = np.arange(lengths.max(initial=0))
    there = index < lengths[:, None]
    return np.where(there, offsets[which][:, None] + index, 0), there


def viterbi(scores: np.ndarray, there: np.ndarray, rules: Rules) -> np.ndarray:
    """Best paths [n, longest] of padded scores [n, longest, L]; the first label wins ties."""
    n, longest, n_labels = scores.shape
    best = rules.start + scores[:, 0]
    back = np.zeros((n, longest, n_labels), np.int64)
    last = there.sum(axis=1) - 1
    final = np.where((last == 0)[:, None], best + rules.end, 0.0)
    for i in range(1, longest):
        reach = best[:, :, None] + rules.transition
        top = reach.max(axis=1, keepdims=True)
        back[:, i] = (reach >= top - 1e-9).argmax(axis=1)
        best = top[:, 0] + scores[:, i]
        final = np.where((last == i)[:, None], best + rules.end, final)
    choice = (final >= final.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1)
    paths = np.zeros((n, longest), np.int64)
    rows = np.arange(n)
    for i in range(longest - 1, -1, -1):
        paths[:, i] = choice
        choice = np.where(i <= last, back[rows, i, choice], choice)
    return paths


def bidirectional(y: np.ndarray, tags: np.ndarray, c: Columns, keys: np.ndarray) -> np.ndarray:
    """Legal tags: sentences with a forbidden transition get the paper's two traversals."""
    scheme, offsets = c.scheme, c.offsets
    first, last = offsets[:-1], offsets[1:] - 1
    to_next = np.empty(len(tags), np.bool_)  # may what follows follow?
    to_next[:-1] = scheme.allowed[tags[:-1], tags[1:]]
    to_next[last] = scheme.end[tags[last]]
    from_before = np.empty(len(tags), np.bool_)
    from_before[1:] = to_next[:-1]
    from_before[first] = scheme.start[tags[first]]
    wrong = np.flatnonzero(~(np.logical_and.reduceat(to_next, first) & from_before[first]))
    if not len(wrong):
        return tags
    place, there = padded(offsets, wrong)
    paths = []
    for fine in (to_next, from_before):
        scores = np.log(np.maximum(y[place], FLOOR))
        rows, columns_ = np.nonzero(there & fine[place])
        scores[rows, columns_, tags[place[rows, columns_]]] = 0.0
        paths.append(viterbi(scores, there, Rules.of(scheme)))
    entities = [(scheme.is_entity[path] & there).sum(axis=1) for path in paths]
    coin = _draw(keys[wrong], there.sum(axis=1)) == 0
    forward = (entities[0] > entities[1]) | ((entities[0] == entities[1]) & coin)
    chosen = np.where(forward[:, None], *paths)
    out = tags.copy()
    out[place[there]] = chosen[there]
    return out


def _draw(key: np.ndarray, place: np.ndarray) -> np.ndarray:
    """SplitMix64's coin for a place of a sentence."""
    with np.errstate(over="ignore"):
        z = key + (place + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) % np.uint64(2)


def aggslc_vote(
    c: Columns, weights: np.ndarray, units: np.ndarray, keys: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The Y* step: labels and mean loss of every annotator over the tokens at stake."""
    n = c.n_labels
    flat = c.token * n + c.tag
    y = np.bincount(flat, np.maximum(weights, 1e-12)[c.annotator], c.n_tokens * n).reshape(-1, n)
    y = y * units
    y /= y.sum(axis=1, keepdims=True)
    choice = (y >= y.max(axis=1, keepdims=True) * (1 - 1e-9)).argmax(axis=1)
    tags = choice if keys is None else bidirectional(y, choice, c, keys)
    moved = np.flatnonzero(tags != choice)
    y[moved, tags[moved]], y[moved, choice[moved]] = y[moved, choice[moved]], y[moved, tags[moved]]
    top = np.partition(y, n - 2, axis=1)
    margin = np.add.reduceat(top[:, -1] - top[:, -2], c.offsets[:-1])
    xi = np.repeat(margin / np.diff(c.offsets), np.diff(c.offsets))
    entity = c.scheme.is_entity
    stake = entity[c.tag] | entity[tags][c.token]
    loss = -np.log(np.maximum(y.reshape(-1)[flat], CLIP)) * xi[c.token] * stake
    stakes = np.bincount(c.annotator, stake, c.n_annotators)
    losses = np.bincount(c.annotator, loss, c.n_annotators)
    return tags, np.divide(losses, stakes, out=np.zeros(c.n_annotators), where=stakes > 0)


def aggslc(c: Columns, rounds: int) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """AggSLC without a predictor, our defaults: labels, weights, and the seconds of each round."""
    units = np.where(c.scheme.is_entity, 2.0, 1.0)
    keys = sentence_keys(c.ids, 0)
    tags, losses = aggslc_vote(c, np.ones(c.n_annotators), np.ones(c.n_labels), None)
    weights, seconds = np.ones(c.n_annotators), []
    for _ in range(rounds):
        began = time.perf_counter()
        losses = np.maximum(losses, 1e-9)
        weights = np.log(losses.max() / losses)
        tags, losses = aggslc_vote(c, weights, units, keys)
        seconds.append(time.perf_counter() - began)
    return tags, weights, seconds


def forward_backward(
    scores: np.ndarray, offsets: np.ndarray, start: np.ndarray, transition: np.ndarray,
    end: np.ndarray, batch: int = 10_000,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Marginals [T, L] and expected transitions [L, L], so many sentences at a time."""
    marginals = np.empty(scores.shape, np.float32)
    pairs = np.zeros(transition.shape)
    for first in range(0, len(offsets) - 1, batch):
        which = np.arange(first, min(first + batch, len(offsets) - 1))
        place, there = padded(offsets, which)
        q, found = _padded_forward_backward(scores[place], there, start, transition, end)
        marginals[place[there]] = q[there]
        pairs += found
    return marginals, pairs


def _padded_forward_backward(
    scores: np.ndarray,
    there: np.ndarray,
    start: np.ndarray,
    transition: np.ndarray,
    end: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    n, longest, n_labels = scores.shape
    e = np.exp(scores - scores.max(axis=2, keepdims=True), dtype=np.float64)
    last = there.sum(axis=1) - 1
    alpha, scale = np.zeros((n, longest, n_labels)), np.ones((n, longest, 1))
    for i in range(longest):
        step = start * e[:, 0] if i == 0 else (alpha[:, i - 1] @ transition) * e[:, i]
        scale[:, i] = step.sum(axis=1, keepdims=True)
        alpha[:, i] = step / scale[:, i]
    beta, pairs = np.zeros((n, n_labels)), np.zeros((n_labels, n_labels))
    q = np.zeros((n, longest, n_labels))
    for i in range(longest - 1, -1, -1):
        closing = end / (alpha[:, i] @ end)[:, None]
        beta = np.where((last == i)[:, None], closing, beta)
        q[:, i] = alpha[:, i] * beta
        if i:
            ahead = np.where((i <= last)[:, None], e[:, i] * beta / scale[:, i], 0.0)
            pairs += transition * (alpha[:, i - 1].T @ ahead)
            beta = ahead @ transition.T
    return q, pairs


@dataclass(frozen=True)
class NumpyJob:
    """A method of this file on a crowd's columns; reading and writing are not its own."""

    method: str
    writes: bool = False

    def read(self, path: str) -> Columns:
        return columns(st.read(path))

    def fit(self, data: Columns, rounds: int) -> tuple[Any, list[float]]:
        if self.method == "ds":
            q, seconds = dawid_skene(data, rounds)
            return q.argmax(axis=1), seconds
        tags, _, seconds = aggslc(data, rounds)
        return tags, seconds

    def labels(self, result: Any, data: Columns) -> np.ndarray:
        return result.astype(np.int8)
