"""The Y* step of AggSLC in one compiled pass: weighted vote, legal path, confidence, losses.

Every sum in it adds up over sentences, so that parts can be worked on apart. The pass itself is
``cpp/vote.hpp``; most of its time goes to ``cpp/contested.hpp``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F32, F64, U64, Bool, Tags, tag_dtype
from seqtruth.kernels.chain import Chain, PaddedChain
from seqtruth.kernels.grammar import Grammar
from seqtruth.kernels.native import Packed, call
from seqtruth.kernels.repair import mode
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.kernels.ties import order
from seqtruth.kernels.views import CrowdView

#: H(y, y*) diverges where y* gives an annotator's label no probability: y* is clipped here.
LEAST_PROBABILITY = 1e-4
#: The worst annotator has weight 0 (Eq 10, "max"); where they are the only one, their vote still counts.
LEAST_WEIGHT = 1e-12


class Prediction(NamedTuple):
    """A predictor's say.

    probabilities : float32[T, L].
    given : bool[S], the sentences on which it speaks.
    weight : how much it counts, beside the annotators' weights.
    """

    probabilities: F32
    given: Bool
    weight: float


class Ballot(NamedTuple):
    """How votes are counted and made a path.

    weights : float64[W], of the annotators.
    class_weights : float64[L], U.
    prediction : the predictor as one more annotator; of length 0 where there is none.
    known : tag[T], labels given as true (-1: none), which stay as they are; of length 0 where none is.
    how : number of the decoding (:mod:`seqtruth.kernels.repair`).
    legal : logarithms of the chain that the grammar allows.
    preference, rank : tag[L], labels in the order in which ties prefer them, and each one's place in it.
    random : whether ties are drawn instead.
    keys : uint64[S], of the sentences, for draws; of length 1 where nothing is drawn.
    least_probability : where y* is clipped.
    """

    weights: F64
    class_weights: F64
    prediction: Prediction
    known: Tags
    how: int
    legal: PaddedChain
    preference: Tags
    rank: Tags
    random: bool
    keys: U64
    least_probability: float


class Vote(NamedTuple):
    """Outcome of one pass.

    tags : tag[T], the labels after the consistency module; -1 where nobody voted.
    probabilities : float32[T, L], the soft aggregate y*; [0, L] where not to be kept.
    confidence : float64[S], ξ of every sentence (Eq 4).
    losses : float64[W], Σ_k ξ_k Σ_i H(y^j, y*) of each annotator, as in L_agg.
    stake_losses, stakes : float64[W], the same sum over the tokens at stake, and their number: those
        where the annotator or the aggregate names an entity (every token for plain tags).
    prediction_loss : as ``losses``, of the predictor.
    illegal : number of forbidden transitions left (each counts twice in L_inc, Eq 6).
    """

    tags: Tags
    probabilities: F32
    confidence: F64
    losses: F64
    stake_losses: F64
    stakes: F64
    prediction_loss: float
    illegal: int

    @property
    def sums(self) -> F64:
        """float64[3, W]: all that the weight step needs, and all that parts need to add up."""
        return np.stack([self.losses, self.stake_losses, self.stakes])


def ballot(
    grammar: Grammar,
    weights: F64,
    class_weights: F64,
    *,
    decoding: str,
    ties: str,
    keys: U64 | None,
    prediction: Prediction | None,
    known: Tags | None,
) -> Ballot:
    """Names of decodings and rules become numbers, and what is absent becomes arrays of length 0."""
    n_labels = len(class_weights)
    preference = order(ties, grammar.is_entity)
    rank = np.empty_like(preference)
    rank[preference] = np.arange(n_labels)
    silent = Prediction(np.zeros((0, n_labels), np.float32), np.zeros(0, np.bool_), 0.0)
    return Ballot(
        np.maximum(weights, LEAST_WEIGHT),
        class_weights,
        prediction or silent,
        np.zeros(0, preference.dtype) if known is None else known,
        mode(decoding),
        Chain.legal(grammar).logs().rows(),
        preference,
        rank,
        ties == "random",
        np.zeros(1, np.uint64) if keys is None else keys,
        LEAST_PROBABILITY,
    )


def count_votes(crowd: CrowdView, by: Ballot, probabilities: bool = True) -> Vote:
    """The Y* step (Eq 12) and everything measured on its outcome, in one pass.

    ``probabilities`` says whether to keep y*, the only thing here that takes 4 L bytes a token.
    """
    n_tokens, n_annotators = int(crowd.token_offsets[-1]), len(by.weights)
    n_labels = len(by.class_weights)
    tags = np.empty(n_tokens, tag_dtype(n_labels))
    soft = np.empty((n_tokens if probabilities else 0, n_labels), np.float32)
    confidence = np.empty(len(crowd.token_offsets) - 1)
    view, rules = Packed(crowd), Packed(by)

    def run(a: int, b: int) -> tuple[F64, F64]:
        losses, sums = np.zeros((3, n_annotators)), np.zeros(2)
        call("vote", view, a, b, rules, tags, soft, confidence, losses, sums)
        return losses, sums

    losses, sums = np.zeros((3, n_annotators)), np.zeros(2)
    for part, more in map_chunks(run, chunk_bounds(crowd.token_offsets)):
        losses += part
        sums += more
    return Vote(
        tags, soft, confidence, losses[0], losses[1], losses[2], float(sums[0]), int(sums[1])
    )
