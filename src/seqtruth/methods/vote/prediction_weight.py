"""The predictor's weight learnt from what it foretells, in place of AggSLC's loss (Eq 10).

Eq 10 weighs a predictor by its distance from labels it has itself helped to make. Here, as in
:mod:`seqtruth.methods.accord.trust`, it is trusted as far as it foretells the annotators: each
annotator's label is compared with the vote of all *others* and the predictor, by Brier's score (which
is proper, and needs no floor under a probability), and the weight is the one with the least loss.
"""

from __future__ import annotations

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.engine import Sums
from seqtruth.kernels.arrays import F64
from seqtruth.methods.vote.labeller import Predicts

LEARNT = "learnt"
PREDICTION_WEIGHTS = ("loss", LEARNT)
#: Weights that are tried, as multiples of the mean annotator's.
MULTIPLES = np.append(0.0, 2.0 ** np.arange(-3, 6))


def foretelling_losses(part: Crowd, predictions: Predicts, weights: F64, units: F64) -> Sums:
    """A part's share: for each weight tried, Σ w_j |vote of the others and the predictor − y_j|²."""
    predicted, given = predictions.on(part)
    sentence = part.row_sentence.astype(np.int64)
    rows = np.flatnonzero(given[sentence])
    flat = gather(part.row_offsets, rows)[1]
    tokens = gather(part.corpus.token_offsets, sentence[rows])[1]
    judge = np.repeat(weights[part.row_annotator[rows]], np.diff(part.row_offsets)[rows])
    tags = part.tags[flat].astype(np.int64)
    said = tags >= 0
    tokens, judge, tags = tokens[said], judge[said], tags[said]
    own = judge * units[tags]
    shape = part.n_tokens, part.n_labels
    votes = np.bincount(tokens * shape[1] + tags, own, shape[0] * shape[1]).reshape(shape)
    hint = predicted * units
    total, hints = votes.sum(axis=1), hint.sum(axis=1)
    squares, products = (votes * votes).sum(axis=1), (votes * hint).sum(axis=1)
    hint_squares = (hint * hint).sum(axis=1)
    found = np.zeros(len(MULTIPLES))
    for k, weight in enumerate(MULTIPLES * _mean(weights)):
        left = total[tokens] - own + weight * hints[tokens]
        here = votes[tokens, tags] + weight * hint[tokens, tags]
        norm = (squares + 2 * weight * products + weight**2 * hint_squares)[tokens]
        norm += own * own - 2 * own * here
        knows = left > 1e-9 * (own + 1e-300)
        safe = np.where(knows, left, 1.0)
        brier = norm / safe**2 - 2 * (here - own) / safe + 1.0
        found[k] = judge @ np.where(knows, brier, 1.0 - 1.0 / shape[1])
    return {"foretelling": found}


def weight_of(losses: F64, weights: F64) -> float:
    """The weight with the least loss; of equals the smallest.

    Examples
    --------
    >>> weight_of(np.array([3.0, 2.0, 2.0] + [4.0] * 7), np.array([1.0, 3.0]))
    0.25
    """
    return float(MULTIPLES[int(np.argmin(losses))] * _mean(weights))


def _mean(weights: F64) -> float:
    heard = weights[weights > 0]
    return float(heard.mean()) if len(heard) else 1.0
