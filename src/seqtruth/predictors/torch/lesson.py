"""What networks learn from, and how label scores are read: the same for the BiLSTM and for transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.scheme import Scheme
from seqtruth.kernels.arrays import F32, F64, I64, Bool
from seqtruth.kernels.chain import Chain, forward_backward
from seqtruth.predictors.base import Targets, Tokens, as_corpus, as_targets, own_order, rounded
from seqtruth.predictors.torch.lexicon import Schedule

if TYPE_CHECKING:
    from torch import Tensor

OUTPUTS = ("crf", "softmax")


class Lesson(NamedTuple):
    """Sentences in an order of their own (:func:`~seqtruth.predictors.base.own_order`), and their labels.

    place : int64[T], where each token was before.
    target : float32[T, L], soft tags; rows of zeros where a tag is missing.
    weight : float64[S], how much each sentence counts.
    used : bool[S], sentences in which there is something to learn.
    """

    corpus: Corpus
    place: I64
    scheme: Scheme
    target: F32
    weight: F64
    used: Bool

    @classmethod
    def of(
        cls, tokens: Tokens, tags: Targets, scheme: Scheme | None, weights: F64 | None
    ) -> Lesson:
        """Of what a predictor's ``fit`` was given."""
        corpus = as_corpus(tokens)
        target, scheme = as_targets(corpus, tags, scheme)
        weight = np.ones(corpus.n_sentences) if weights is None else np.asarray(weights, np.float64)
        order, flat = own_order(corpus)
        corpus, target, weight = corpus.take(order), target[flat], weight[order]
        tagged = np.concatenate([[0], np.cumsum(target.sum(axis=1) > 0)])
        used = (weight > 0) & (np.diff(tagged[corpus.token_offsets]) > 0)
        return cls(corpus, flat, scheme, rounded(target), weight, used)

    def share(self, schedule: Schedule) -> float:
        """What a batch's sum of losses is multiplied with: the same for every batch, so that a token
        counts the same in all of them."""
        tokens = np.where(self.used, np.diff(self.corpus.token_offsets), 0)
        return schedule.in_pass / max(float(self.weight @ tokens), 1e-9)

    def loss(self, output: str, chain: Tensor, batch: Any, scores: Tensor) -> Tensor:
        """Weighted sum over a batch's sentences.

        Parameters
        ----------
        output : ``"crf"`` or ``"softmax"``.
        chain : of the CRF.
        batch : has ``places`` of sentences, ``token`` places and ``mask``.
        scores : float[B, N, L].
        """
        import torch

        from seqtruth.predictors.torch.crf_layer import negative_log_likelihood

        goal = torch.from_numpy(self.target)[batch.token]
        counts = torch.from_numpy(self.weight[batch.places].astype(np.float32))
        if output == "crf":
            each = negative_log_likelihood(scores, batch.mask, chain, goal)
        else:
            each = -((goal * scores.log_softmax(dim=2)).sum(dim=2) * batch.mask).sum(dim=1)
        found: Tensor = counts @ each
        return found


def chain_of(output: str, chain: Tensor) -> Chain:
    """Weights of label pairs.

    Parameters
    ----------
    output : ``"crf"``, or ``"softmax"``: every token for itself.
    chain : of the CRF, [L+2, L] as :mod:`~seqtruth.predictors.torch.crf_layer` has it.
    """
    if output == "softmax":
        return Chain.free(chain.shape[1])
    return Chain.of_rows(np.exp(np.clip(chain.detach().numpy().astype(np.float64), -60, 60)))


def probabilities(output: str, chain: Tensor, scores: F32, offsets: I64) -> F32:
    """float32[T, L] from label scores.

    Parameters
    ----------
    output, chain : see :func:`chain_of`.
    scores : float32[T, L].
    offsets : int64[S+1], where sentences begin.
    """
    if output == "softmax":
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True), np.float32)
    return forward_backward(scores, offsets, chain_of(output, chain)).marginals
