"""How far to trust each source of opinion besides the annotators, learnt without gold.

Before annotators are heard, the labels t of a sentence follow a log-linear model of the sources (the
label chain, predictors, the rest of the document), each with a trust θ:

    p_θ(t | x) ∝ exp( θ_0 · log chain(t) + Σ_m θ_m ( Σ_i f_m[i, t_i] + log chain_m(t) ) )

Trusts maximise the likelihood of what the annotators said, Σ_s log Σ_t p_θ(t | x_s) exp(W_s(t)), with
W the annotators' evidence. A source that foretells the annotators is trusted, one that does not is
not: on news a tagger counts for much, on a few hundred abstracts for little. A weak prior
(log θ normal, variance 1, around where a search begins) keeps θ near its first value where data are few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.ragged import gather
from seqtruth.kernels.arrays import F64, I64
from seqtruth.kernels.chain import Chain, forward_backward
from seqtruth.kernels.random import sentence_keys
from seqtruth.predictors.crf.lbfgs import minimise

#: Log evidence of a source is kept above this.
LEAST = float(np.log(1e-6))
#: Trusts are learnt from at most about so many tokens.
ENOUGH_TOKENS = 400_000
#: Trusts are searched up to so many powers of e from 1.
FARTHEST = 10.0


class Beliefs(NamedTuple):
    """The sources of a corpus and how each is trusted.

    chain : weights of the label chain.
    features : one float64[T, L] of log evidence per source.
    trust : float64[1 + len(features)], that of the chain first.
    chains : what the first sources say of pairs of labels; the others say nothing of them.
    """

    chain: Chain
    features: tuple[F64, ...]
    trust: F64
    chains: tuple[Chain, ...] = ()

    def tempered_chain(self) -> Chain:
        """All chains together, each to the power of its trust."""
        found = self.chain.power(float(self.trust[0]))
        for own, trust in zip(self.chains, self.trust[1:], strict=False):
            found = found.times(own.power(float(trust)))
        return found

    def scores(self, evidence: F64) -> F64:
        """[T, L]: log evidence of all sources together with the annotators'."""
        total = evidence.copy()
        for weight, feature in zip(self.trust[1:], self.features, strict=True):
            total += weight * feature
        return total


class Learnt(NamedTuple):
    """Trusts, and the log likelihood of the annotators' evidence under them."""

    trust: F64
    log_evidence: float


def learn_trust(
    beliefs: Beliefs, evidence: F64, corpus: Corpus, seed: int = 0, known: F64 | None = None
) -> Learnt:
    """Trusts under which the sources foretell the annotators best, searched from ``beliefs.trust``.

    Parameters
    ----------
    evidence : [T, L], the annotators', and what is known besides.
    known : [T, L], what is known besides them, which it is no merit to foretell (default: nothing).
    """
    chosen = _sample(corpus, seed)
    offsets, at = gather(corpus.token_offsets, chosen)
    features = tuple(feature[at] for feature in beliefs.features)
    heard, given = evidence[at], None if known is None else known[at]
    first = np.log(beliefs.trust)
    part = corpus.n_tokens / max(len(at), 1)
    values: dict[bytes, float] = {}  # at the last place, where the search mostly ends

    def loss(x: F64) -> tuple[float, F64]:
        if not (np.abs(x) < FARTHEST).all():  # the line search turns back
            return float("inf"), np.zeros_like(x)
        trust = np.exp(x)
        here = beliefs._replace(features=features, trust=trust)
        value, slope = log_evidence(here, heard, offsets, given)
        values.clear()
        values[x.tobytes()] = value
        away = x - first
        return (
            (0.5 * float(away @ away) - value) / len(offsets),
            (away - trust * slope) / len(offsets),
        )

    found = minimise(loss, first.copy(), max_iter=30, tol=1e-6)
    if found.tobytes() not in values:
        loss(found)
    return Learnt(np.exp(found), values[found.tobytes()] * part)


def log_evidence(
    beliefs: Beliefs, evidence: F64, offsets: I64, known: F64 | None = None
) -> tuple[float, F64]:
    """Log likelihood of the annotators' evidence, and its slope in each trust."""
    before = np.zeros_like(evidence) if known is None else known
    together = beliefs.tempered_chain()
    told = forward_backward(beliefs.scores(evidence), offsets, together)
    alone = forward_backward(beliefs.scores(before), offsets, together)
    pairs = Chain(*(getattr(told, x) - getattr(alone, x) for x in Chain._fields))
    moved = told.marginals.astype(np.float64) - alone.marginals
    slope = [0.0, *(float((moved * feature).sum()) for feature in beliefs.features)]
    for m, chain in enumerate((beliefs.chain, *beliefs.chains)):
        slope[m] += sum(float((a * _logs(b)).sum()) for a, b in zip(pairs, chain, strict=True))
    return float((told.log_normaliser - alone.log_normaliser).sum()), np.array(slope)


def _logs(weights: F64) -> F64:
    """Nothing where there is no weight: what is forbidden does not happen."""
    return np.log(weights, out=np.zeros_like(weights), where=weights > 0)


def _sample(corpus: Corpus, seed: int) -> I64:
    """All sentences, or so many of them, whatever their order, that they hold enough tokens."""
    if corpus.n_tokens <= ENOUGH_TOKENS:
        return np.arange(corpus.n_sentences)
    order = np.argsort(sentence_keys(corpus.sentence_ids, seed), kind="stable")
    tokens = np.cumsum(np.diff(corpus.token_offsets)[order])
    return np.sort(order[: int(np.searchsorted(tokens, ENOUGH_TOKENS)) + 1])
