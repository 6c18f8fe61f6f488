"""Our own systems through the public API, and the kernels that targets speak of."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import seqtruth as st
from bench import peers_numpy
from seqtruth.kernels.chain import Chain, forward_backward

#: HMM-crowd without words: the files have none.
METHODS = {
    "mv": lambda rounds: st.MajorityVote(),
    # crowd-kit's labels come from its last E-step: ours, after the last M-step, from one more.
    "ds": lambda rounds: st.DawidSkene(smoothing=0, tol=0, max_iter=max(1, rounds - 1)),
    "mace": lambda rounds: st.MACE(restarts=5, tol=0, max_iter=rounds),
    "hmm-crowd": lambda rounds: st.HMMCrowd(text_features=False, tol=0, max_iter=rounds),
    "bsc-seq": lambda rounds: st.BSCSeq(tol=0, max_iter=rounds),
    "aggslc": lambda rounds: st.AggSLC(predictor=None, tol=0, max_iter=rounds),
}


@dataclass(frozen=True)
class Ours:
    """A method of ours: read, fit, write."""

    method: str
    writes: bool = True

    def read(self, path: str) -> Any:
        return st.read(path)

    def fit(self, data: Any, rounds: int) -> tuple[Any, list[float]]:
        result = METHODS[self.method](rounds).fit(data)
        return result, [step.seconds for step in result.history.steps]

    def write(self, result: Any, data: Any, path: str) -> None:
        result.write(path)


@dataclass(frozen=True)
class ForwardBackward:
    """Forward-backward over label scores as a round; scores are log shares of the votes."""

    whose: str = "ours"
    writes: bool = False

    def read(self, path: str) -> Any:
        crowd = st.read(path)
        chain = Chain.legal(crowd.scheme.grammar)
        vote = st.MajorityVote().fit(crowd).probabilities
        scores = np.log(np.maximum(vote, np.float32(1e-3)))
        return scores, crowd.corpus.token_offsets, chain

    def fit(self, data: Any, rounds: int) -> tuple[Any, list[float]]:
        scores, offsets, chain = data
        seconds = []
        for _ in range(rounds):
            began = time.perf_counter()
            if self.whose == "ours":
                found = forward_backward(scores, offsets, chain).marginals
            else:
                found = peers_numpy.forward_backward(scores, offsets, *chain)[0]
            seconds.append(time.perf_counter() - began)
        return found, seconds

    def labels(self, result: Any, data: Any) -> np.ndarray:
        return result.argmax(axis=1).astype(np.int8)


@dataclass(frozen=True)
class AddBytes:
    """The speed of memory: add up the bytes of all tags."""

    writes: bool = False

    def read(self, path: str) -> np.ndarray:
        tags = st.read(path).tags
        return np.resize(tags, len(tags) // 8 * 8).view(np.int64)

    def fit(self, data: np.ndarray, rounds: int) -> tuple[Any, list[float]]:
        seconds = []
        for _ in range(rounds):
            began = time.perf_counter()
            total = data.sum()
            seconds.append(time.perf_counter() - began)
        return total, seconds
