"""How far annotators agree with each other, before anybody knows the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.data.crowd import Crowd
from seqtruth.data.spans import extract
from seqtruth.kernels.agreement import RowPairs, alpha_sums, compare_rows, compare_spans
from seqtruth.metrics.score import ratio


@dataclass(frozen=True, eq=False)
class Pairs:
    """Every pair of annotators who labelled a token in common, in columns.

    Parameters
    ----------
    first, second : int64[P], numbers of the two annotators, first < second.
    tokens : int64[P], tokens both labelled.
    observed : float64[P], share of these on which they agree.
    kappa : float64[P], Cohen's kappa; nan where chance alone explains everything (both used one
        and the same label throughout).
    span_f1 : float64[P], F1 of one against the other; nan where neither marked a span.
    """

    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int64]
    observed: npt.NDArray[np.float64]
    kappa: npt.NDArray[np.float64]
    span_f1: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of a crowd.

    Parameters
    ----------
    annotators : the annotators' names.
    pairs : one row per pair of annotators.
    alpha : Krippendorff's alpha over tokens.
    strict : the reading of spans.
    """

    annotators: tuple[str, ...]
    pairs: Pairs
    alpha: float
    strict: str = "conlleval"

    @property
    def observed(self) -> float:
        """Share of agreeing token pairs among all pairs, tokens pooled."""
        total = float(self.pairs.tokens.sum())
        return float(self.pairs.observed @ self.pairs.tokens) / total if total else float("nan")

    @property
    def kappa(self) -> float:
        """Mean of Cohen's kappa over the pairs that have one."""
        return _mean(self.pairs.kappa)

    @property
    def span_f1(self) -> float:
        """Mean span F1 over the pairs that have one."""
        return _mean(self.pairs.span_f1)

    def of_annotator(self, name: str) -> dict[str, float]:
        """Mean agreement of one annotator with all others they share tokens with."""
        number = self.annotators.index(name)
        mine = (self.pairs.first == number) | (self.pairs.second == number)
        tokens = self.pairs.tokens[mine]
        observed = float(self.pairs.observed[mine] @ tokens)
        return {
            "observed": observed / float(tokens.sum()) if tokens.sum() else float("nan"),
            "kappa": _mean(self.pairs.kappa[mine]),
            "span_f1": _mean(self.pairs.span_f1[mine]),
        }

    def span_f1_of_each(self) -> npt.NDArray[np.float64]:
        """float64[W]: what :meth:`of_annotator` says of ``span_f1``, of all of them at once."""
        known = np.isfinite(self.pairs.span_f1)
        both = np.concatenate([self.pairs.first[known], self.pairs.second[known]]).astype(np.int64)
        values = np.tile(self.pairs.span_f1[known], 2)
        n = len(self.annotators)
        sums, counts = np.bincount(both, values, n), np.bincount(both, minlength=n)
        return np.where(counts > 0, ratio(sums, counts), np.nan)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON; None where a figure is not defined."""
        figures = {
            "observed": self.observed,
            "kappa": self.kappa,
            "alpha": self.alpha,
            "span_f1": self.span_f1,
        }
        known = {name: None if np.isnan(value) else value for name, value in figures.items()}
        return {**known, "strict": self.strict, "pairs": len(self.pairs)}


def agreement(crowd: Crowd, strict: str = "conlleval") -> Agreement:
    """Pairwise agreement, Cohen's kappa, span F1, and Krippendorff's alpha of a crowd.

    Only tokens that both (for alpha: at least two) annotators labelled count.

    Parameters
    ----------
    crowd : the annotators' labels.
    strict : how spans are read, ``conlleval`` or ``b-required``.

    References
    ----------
    Cohen (1960), "A coefficient of agreement for nominal scales".
    https://doi.org/10.1177/001316446002000104
    Hripcsak and Rothschild (2005), "Agreement, the F-measure, and reliability in information
    retrieval". https://doi.org/10.1197/jamia.M1733

    Examples
    --------
    >>> tokens = [["Ann", "met", "Bo"]]
    >>> tags = {"a": [["B-PER", "O", "B-PER"]], "b": [["B-PER", "O", "O"]]}
    >>> figures = agreement(Crowd.of(tags, tokens))
    >>> round(figures.observed, 3), round(figures.kappa, 3), round(figures.span_f1, 3)
    (0.667, 0.4, 0.667)
    """
    return Agreement(crowd.annotators, pairs(crowd, strict), krippendorff_alpha(crowd), strict)


def pairs(crowd: Crowd, strict: str = "conlleval") -> Pairs:
    """Agreement of every two annotators who share a token (see :class:`Pairs`).

    Parameters
    ----------
    crowd, strict : as for :func:`agreement`.
    """
    left, right = _row_pairs(crowd.sentence_rows)
    n_annotators = max(1, crowd.n_annotators)
    key = crowd.row_annotator[left].astype(np.int64) * n_annotators + crowd.row_annotator[right]
    names, pair = np.unique(key, return_inverse=True)
    both = RowPairs(left, right, pair)
    n_labels = max(1, crowd.n_labels)
    agree = np.zeros(len(names), np.int64)
    margins = np.zeros((len(names), 2, n_labels), np.int64)
    compare_rows(crowd.tags, crowd.row_offsets, both, agree, margins)
    tokens = margins[:, 0].sum(axis=1)

    spans = extract(crowd.tags, crowd.row_offsets, crowd.scheme, strict)
    row_spans = np.searchsorted(spans.sequence, np.arange(crowd.n_rows + 1))
    common, total = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
    compare_spans(spans, row_spans, both, common, total)

    observed = ratio(agree, tokens)
    expected = ratio((margins[:, 0] * margins[:, 1].astype(np.float64)).sum(axis=1), tokens**2.0)
    kappa = np.where(expected < 1, ratio(observed - expected, 1 - expected), np.nan)
    span_f1 = np.where(total > 0, ratio(2 * common, total), np.nan)
    met = tokens > 0
    columns = (names // n_annotators, names % n_annotators, tokens, observed, kappa, span_f1)
    return Pairs(*(column[met] for column in columns))


def krippendorff_alpha(crowd: Crowd) -> float:
    r"""Krippendorff's alpha for nominal data, over tokens, with missing values.

    With :math:`n_{uc}` the annotators who gave token :math:`u` the label :math:`c`,
    :math:`m_u = \sum_c n_{uc} \ge 2` and :math:`n = \sum_u m_u`,

    .. math:: \alpha = 1 - (n - 1)
        \frac{\sum_u (m_u^2 - \sum_c n_{uc}^2) / (m_u - 1)}{n^2 - \sum_c n_c^2}.

    Returns nan where no token was labelled twice, or only one label was ever used.

    Parameters
    ----------
    crowd : the annotators' labels.

    References
    ----------
    Krippendorff (2011), "Computing Krippendorff's alpha-reliability".
    https://repository.upenn.edu/asc_papers/43

    Examples
    --------
    >>> crowd = Crowd.of({"a": [["X", "Y"]], "b": [["X", "Y"]]}, tokens=[["1", "2"]])
    >>> krippendorff_alpha(crowd)
    1.0
    """
    totals = np.zeros(max(1, crowd.n_labels), np.int64)
    disagreement = alpha_sums(crowd.view, totals)
    values = totals.astype(np.float64)
    n = values.sum()
    expected = n**2 - (values**2).sum()
    if expected <= 0:
        return float("nan")
    return float(1 - (n - 1) * disagreement / expected)


def _row_pairs(
    sentence_rows: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Every two rows of one sentence, the earlier first."""
    rows = np.diff(sentence_rows)
    last = np.repeat(sentence_rows[1:], rows)
    row = np.arange(len(last))
    partners = last - row - 1
    left = np.repeat(row, partners)
    first = np.concatenate([[0], np.cumsum(partners)])[:-1]
    return left, left + 1 + np.arange(len(left)) - np.repeat(first, partners)


def _mean(values: npt.NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
