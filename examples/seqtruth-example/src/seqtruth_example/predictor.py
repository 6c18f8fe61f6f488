"""A predictor that remembers how each word was labelled, and nothing else."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from seqtruth.data.scheme import Scheme
from seqtruth.predictors.base import Targets, Tokens, as_corpus, as_targets


class WordMemory:
    """P(label | word) by counting.

    Parameters
    ----------
    smoothing : added to every count, so that unknown words get the labels' own shares.
    """

    name: ClassVar[str] = "memory"

    def __init__(self, smoothing: float = 0.1) -> None:
        self.smoothing = smoothing
        self.counts: dict[str, np.ndarray] = {}
        self.scheme: Scheme | None = None

    def __repr__(self) -> str:  # settings stand in the provenance of a result
        return f"WordMemory(smoothing={self.smoothing})"

    def clone(self) -> WordMemory:
        return WordMemory(self.smoothing)

    def fit(
        self,
        tokens: Tokens,
        tags: Targets,
        *,
        scheme: Scheme | None = None,
        weights: np.ndarray | None = None,
    ) -> Self:
        corpus = as_corpus(tokens)
        soft, self.scheme = as_targets(
            corpus, tags, scheme
        )  # float[T, L]; rows of 0 are not labelled
        if weights is not None:
            soft = soft * np.repeat(weights, np.diff(corpus.token_offsets))[:, None]
        new: dict[str, np.ndarray] = {}
        for word, row in zip(corpus.tokens.to_pylist(), soft, strict=True):
            new[word] = new.get(word, 0) + row
        # learning goes on from what was learnt: the newest labels count, older words are kept
        self.counts = self.counts | new
        return self

    def predict_proba(self, tokens: Tokens) -> np.ndarray:
        assert self.scheme is not None, "fit comes first"
        corpus, n_labels = as_corpus(tokens), len(self.scheme.labels)
        prior = self.smoothing + sum(self.counts.values(), np.zeros(n_labels))
        prior = prior / prior.sum()
        rows = np.empty((corpus.n_tokens, n_labels))
        for i, word in enumerate(corpus.tokens.to_pylist()):
            rows[i] = self.counts.get(word, 0) + self.smoothing * prior
        return np.asarray(rows / rows.sum(axis=1, keepdims=True), np.float32)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """For saving: JSON values and plain arrays."""
        words = sorted(self.counts)
        n_labels = len(self.scheme.labels) if self.scheme else 0
        table = np.array([self.counts[word] for word in words]).reshape(len(words), n_labels)
        return {"smoothing": self.smoothing, "words": words}, {"counts": table}

    @classmethod
    def from_state(
        cls, meta: dict[str, Any], arrays: dict[str, np.ndarray], scheme: Scheme
    ) -> WordMemory:
        model = cls(meta["smoothing"])
        model.scheme = scheme
        model.counts = dict(zip(meta["words"], arrays["counts"], strict=True))
        return model
