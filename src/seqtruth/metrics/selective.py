"""Selective accuracy: how good are the sentences one is most sure of?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seqtruth.errors import ParameterError

#: The shares of sentences usually kept.
SHARES = (0.5, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Selective:
    """Span scores of the most confident share of the sentences.

    Where sentences are tied at the border, each of them counts for a fraction, so that the order
    of the sentences does not matter.

    Parameters
    ----------
    share : of the sentences.
    sentences : how many these are.
    threshold : the smallest confidence among them.
    precision, recall, f1 : strict span scores of these sentences.
    """

    share: float
    sentences: int
    threshold: float
    precision: float
    recall: float
    f1: float


def selective_scores(
    confidence: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
    shares: tuple[float, ...] = SHARES,
) -> tuple[Selective, ...]:
    """Span scores of the most confident sentences.

    Parameters
    ----------
    confidence : one per sentence.
    counts : int64[S, 3] from :func:`~seqtruth.metrics.span.sentence_counts`.
    shares : shares of the sentences to keep, above 0 and at most 1.
    """
    for share in shares:
        if not 0 < share <= 1:
            raise ParameterError("shares must be above 0 and at most 1", got=str(share))
    if not len(confidence):
        return ()
    order = np.argsort(-confidence, kind="stable")
    ranked, sums = confidence[order], np.zeros((len(order) + 1, 3), np.int64)
    np.cumsum(counts[order], axis=0, out=sums[1:])
    rows = []
    for share in shares:
        keep = max(1, round(share * len(order)))
        threshold = ranked[keep - 1]
        first = int(np.searchsorted(-ranked, -threshold, "left"))
        last = int(np.searchsorted(-ranked, -threshold, "right"))
        tied = (keep - first) / (last - first)
        correct, predicted, gold = sums[first] + tied * (sums[last] - sums[first])
        rows.append(
            Selective(
                share,
                keep,
                float(threshold),
                float(correct / predicted) if predicted else 0.0,
                float(correct / gold) if gold else 0.0,
                float(2 * correct / (predicted + gold)) if predicted + gold else 0.0,
            )
        )
    return tuple(rows)
