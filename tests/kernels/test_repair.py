"""The decoders against brute force and against plain restatements of their rules."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.paths import paths
from seqtruth.data.scheme import Scheme
from seqtruth.errors import ParameterError
from seqtruth.kernels.grammar import inconsistency
from seqtruth.kernels.random import draw, sentence_keys
from seqtruth.kernels.repair import DECODINGS, mode, repair_sentence
from seqtruth.kernels.ties import SCORE_TIE
from strategies import schemes

seeds = st.integers(0, 2**32 - 1)
#: Probability of a label nobody gave, inside a decoder (``LEAST_VOTE`` of ``cpp/repair.hpp``).
LEAST_PROBABILITY = 1e-12


def soft(scheme: Scheme, seed: int, levels: int = 0) -> np.ndarray:
    """y*[n, L] of a short sentence; with ``levels``, from few values, so that there are ties."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 5)), len(scheme.labels))
    y = rng.integers(0, levels, shape) + 0.0 if levels else rng.random(shape) ** 3
    y[y.sum(axis=1) == 0] = 1.0
    return y / y.sum(axis=1, keepdims=True)


def legal(path: list[int] | tuple[int, ...], scheme: Scheme) -> bool:
    inner = all(scheme.allowed[a, b] for a, b in itertools.pairwise(path))
    return bool(inner and scheme.start[path[0]] and scheme.end[path[-1]])


def repair(y: np.ndarray, scheme: Scheme, how: str, path: np.ndarray, key: int = 0) -> None:
    repair_sentence(y, scheme.grammar, how, np.uint64(key), path)


def log_of(path, y) -> float:
    return sum(float(np.log(max(y[i, k], LEAST_PROBABILITY))) for i, k in enumerate(path))


@given(schemes(), seeds)
def test_exact_decoding_is_the_best_of_all_legal_paths(scheme: Scheme, seed: int) -> None:
    y = soft(scheme, seed)
    path = np.empty(len(y), np.int8)
    repair(y, scheme, "exact", path)
    assert legal(path.tolist(), scheme)
    best = max(log_of(p, y) for p in paths(*y.shape) if legal(p, scheme))
    assert log_of(path, y) == pytest.approx(best, abs=1e-6)


def plain_bidirectional(y: np.ndarray, path: list[int], scheme: Scheme, key: np.uint64):
    """Eq Y-2 and Y-3 in words: emissions, best legal path each way, more entity labels win."""
    n, found = len(path), []
    for forward in (True, False):
        emission = np.log(np.maximum(y, LEAST_PROBABILITY))
        for i, label in enumerate(path):
            if forward:
                fine = scheme.end[label] if i == n - 1 else scheme.allowed[label, path[i + 1]]
            else:
                fine = scheme.start[label] if i == 0 else scheme.allowed[path[i - 1], label]
            if fine:
                emission[i, label] = 0.0
        scores = {
            p: sum(emission[i, k] for i, k in enumerate(p))
            for p in paths(*y.shape)
            if legal(p, scheme)
        }
        top = max(scores.values())
        found.append([p for p, score in scores.items() if score > top - 1e-7])
    return found


@given(schemes(("iob2", "bioes", "iob1", "io")), seeds)
def test_bidirectional_decoding_is_as_the_paper_says(scheme: Scheme, seed: int) -> None:
    y, key = soft(scheme, seed), np.uint64(seed)
    start = y.argmax(axis=1).astype(np.int8)
    path = start.copy()
    repair(y, scheme, "bidirectional", path, seed)
    forward, backward = plain_bidirectional(y, start.tolist(), scheme, key)
    if len(forward) > 1 or len(backward) > 1:  # equal scores: either will do
        assert tuple(path.tolist()) in {*forward, *backward}
        return
    names = [int(scheme.is_entity[list(p)].sum()) for p in (forward[0], backward[0])]
    first = names[0] > names[1] or (names[0] == names[1] and draw(key, len(y), 2) == 0)
    assert tuple(path.tolist()) == (forward[0] if first else backward[0])


def plain_unidirectional(y: np.ndarray, path: list[int], scheme: Scheme) -> list[int]:
    """OptSLA's repair in words."""

    def second(i: int) -> int:
        others = [k for k in range(y.shape[1]) if k != path[i]]
        top = max(y[i, k] for k in others)
        return next(k for k in others if y[i, k] >= top - SCORE_TIE)

    path = list(path)
    for i in range(len(path)):
        here, last = (path[i], second(i)), i == len(path) - 1
        ahead = (None,) if last else (path[i + 1], second(i + 1))
        for now, then in [(now, then) for now in here for then in ahead]:
            before = scheme.start[now] if i == 0 else scheme.allowed[path[i - 1], now]
            after = scheme.end[now] if last else scheme.allowed[now, then]
            if before and after:
                path[i] = now
                break
    return path


@given(schemes(("iob2", "bioes", "iob1", "io")), seeds, st.sampled_from([0, 3]))
def test_unidirectional_decoding_is_as_optsla_says(scheme: Scheme, seed: int, levels: int) -> None:
    y = soft(scheme, seed, levels)
    path = y.argmax(axis=1).astype(np.int8)
    expected = plain_unidirectional(y, path.tolist(), scheme)
    repair(y, scheme, "unidirectional", path)
    assert path.tolist() == expected


def test_unidirectional_decoding_looks_one_token_ahead() -> None:
    scheme = Scheme.of("iob2", ["B-X"])  # B-X, I-X, O
    y = np.array([[0.4, 0.0, 0.6], [0.1, 0.6, 0.3]])
    path = y.argmax(axis=1).astype(np.int8)  # O I-X
    repair(y, scheme, "unidirectional", path)
    # (O, I) is forbidden, (O, O) is fine: O stays, and then the second token must follow
    assert [scheme.labels[t] for t in path] == ["O", "O"]


def test_unidirectional_decoding_does_not_promise_legal_labels() -> None:
    scheme = Scheme.of("iob2", ["B-X", "B-Y"])  # B-X, B-Y, I-X, I-Y, O
    y = np.array([[0.0, 0.0, 0.6, 0.4, 0.0]])
    path = y.argmax(axis=1).astype(np.int8)
    repair(y, scheme, "unidirectional", path)
    assert not scheme.start[path[0]]


@given(schemes(), seeds)
def test_inconsistency_counts_forbidden_steps(scheme: Scheme, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = rng.integers(0, len(scheme.labels), rng.integers(0, 6)).astype(np.int8)
    found = inconsistency(path, scheme.grammar)
    if not len(path):
        assert found == 0
    else:
        wrong = [not scheme.start[path[0]], not scheme.end[path[-1]]]
        wrong += [not scheme.allowed[a, b] for a, b in itertools.pairwise(path)]
        assert found == sum(wrong)


def test_unknown_decoding_is_named() -> None:
    assert [mode(name) for name in DECODINGS] == [0, 1, 2, 3]
    with pytest.raises(ParameterError, match="bidirectional"):
        mode("sideways")


def test_draws_are_even_and_belong_to_the_sentence() -> None:
    import pyarrow as pa

    names = pa.array([f"s{i}" for i in range(4000)])
    keys = sentence_keys(names, 0)
    heads = np.array([draw(key, 0, 2) for key in keys])
    assert 0.46 < heads.mean() < 0.54
    np.testing.assert_array_equal(sentence_keys(names[10:20], 0), keys[10:20])
    assert (sentence_keys(names, 1) != keys).all()
