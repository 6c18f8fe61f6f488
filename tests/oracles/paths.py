"""Every path of a short sentence, one by one: the slow truth about chains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product

import numpy as np

Path = tuple[int, ...]


def paths(n: int, n_labels: int) -> Iterator[Path]:
    """All label sequences of length n."""
    return product(range(n_labels), repeat=n)


def log(value: float) -> float:
    return float(np.log(value)) if value > 0 else float("-inf")


def path_score(path: Path, scores: np.ndarray, chain: Sequence[np.ndarray]) -> float:
    """Σ score[i, y_i] + log start + Σ log transition + log end."""
    start, transition, end = chain
    if not path:
        return 0.0
    total = log(start[path[0]]) + log(end[path[-1]])
    total += sum(float(scores[i, label]) for i, label in enumerate(path))
    return total + sum(log(transition[a, b]) for a, b in pairwise(path))


def log_sum(values: Sequence[float]) -> float:
    """log Σ exp."""
    top = max(values)
    return top + float(np.log(sum(np.exp(value - top) for value in values)))


class Enumeration:
    """Posterior over all paths of one sentence, from a log weight per path."""

    def __init__(self, n: int, n_labels: int, weight: Callable[[Path], float]) -> None:
        self.paths = list(paths(n, n_labels))
        logs = [weight(path) for path in self.paths]
        self.log_normaliser = log_sum(logs)
        self.p = np.exp(np.array(logs) - self.log_normaliser)
        self.marginals = np.zeros((n, n_labels))
        self.pairs = np.zeros((n_labels, n_labels))
        for path, p in zip(self.paths, self.p, strict=True):
            for i, label in enumerate(path):
                self.marginals[i, label] += p
            for a, b in pairwise(path):
                self.pairs[a, b] += p
