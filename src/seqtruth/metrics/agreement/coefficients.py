r"""The coefficients, each a function of sums: leading axes (documents, draws, types) stay as they are.

Of a token :math:`u`, :math:`n_{uc}` annotators gave the label :math:`c` and :math:`m_u = \sum_c n_{uc}` any.
Tokens with :math:`m_u < 2` compare nobody. A coefficient is nan where nothing can be compared, or where
chance alone explains everything (one and the same label throughout).

References
----------
Krippendorff (2011), "Computing Krippendorff's alpha-reliability". https://repository.upenn.edu/asc_papers/43
Krippendorff (1995), "On the reliability of unitizing continuous data". https://doi.org/10.2307/271061
Fleiss (1971), "Measuring nominal scale agreement among many raters". https://doi.org/10.1037/h0031619
Gwet (2008), "Computing inter-rater reliability and its variance in the presence of high agreement".
https://doi.org/10.1348/000711006X126600
Cohen (1960), "A coefficient of agreement for nominal scales". https://doi.org/10.1177/001316446002000104
Hripcsak and Rothschild (2005), "Agreement, the F-measure, and reliability in information retrieval".
https://doi.org/10.1197/jamia.M1733
Johansson and Moschitti (2010), "Syntactic and semantic structure for opinion expression detection" (coverage
of spans). https://aclanthology.org/W10-2910
"""

from __future__ import annotations

import numpy as np

from seqtruth.kernels.agreement import Lengths, PairSums, SpanSums, TokenSums
from seqtruth.kernels.arrays import F64


def divided(above: F64, below: F64) -> F64:
    """The quotient, nan where the divisor is not above 0."""
    above, below = np.broadcast_arrays(above, below)
    out = np.full(below.shape, np.nan)
    np.divide(above, below, out=out, where=below > 1e-12)
    return out


def _beyond_chance(seen: F64, chance: F64) -> F64:
    return divided(seen - chance, 1 - chance)


def observed_agreement(sums: TokenSums) -> F64:
    r"""Share of agreeing pairs, :math:`\frac{1}{U}\sum_u \sum_c \frac{n_{uc}(n_{uc}-1)}{m_u(m_u-1)}`."""
    return divided(sums.agreement, sums.tokens[..., 1])


def krippendorff(sums: TokenSums) -> F64:
    r"""Krippendorff's alpha for nominal data with missing values.

    .. math:: \alpha = 1 - (n - 1) \frac{\sum_u (m_u^2 - \sum_c n_{uc}^2) / (m_u - 1)}{n^2 - \sum_c n_c^2}
    """
    n: F64 = sums.pairable.sum(axis=-1)
    apart = divided(sums.disagreement, n**2 - (sums.pairable**2).sum(axis=-1))
    return np.asarray(1 - (n - 1) * apart)


def fleiss(sums: TokenSums) -> F64:
    """Fleiss' kappa; with missing values as Gwet has it (each token's labels count as one)."""
    share = divided(sums.share, sums.tokens[..., :1])
    return _beyond_chance(observed_agreement(sums), (share**2).sum(axis=-1))


def gwet(sums: TokenSums, categories: int) -> F64:
    """Gwet's AC1, with as many ``categories`` as labels are in use."""
    if categories < 2:
        return np.full(sums.agreement.shape, np.nan)
    share = divided(sums.share, sums.tokens[..., :1])
    chance = (share * (1 - share)).sum(axis=-1) / (categories - 1)
    return _beyond_chance(observed_agreement(sums), chance)


def cohen(sums: PairSums) -> F64:
    """Cohen's kappa of each pair."""
    n = sums.tokens
    chance = divided((sums.margins[..., 0, :] * sums.margins[..., 1, :]).sum(axis=-1), n**2)
    return _beyond_chance(divided(sums.agree, n), chance)


def cohen_by_type(sums: PairSums) -> F64:
    """Cohen's kappa of each pair for each type against the rest, [..., K]."""
    n, (first, second) = sums.typed_tokens, (sums.typed[..., 0, :], sums.typed[..., 1, :])
    seen = divided(n - first - second + 2 * sums.typed_agree, n)
    chance = divided(first * second + (n - first) * (n - second), n**2)
    return _beyond_chance(seen, chance)


def span_f1(sums: SpanSums, by_type: bool = False) -> F64:
    """F1 of one's spans against the other's: 2 · same / all."""
    same, found = sums.same, sums.found.sum(axis=-2)
    return divided(2 * same, found) if by_type else divided(2 * same.sum(-1), found.sum(-1))


def overlap_f1(sums: SpanSums, by_type: bool = False) -> F64:
    """The same where a span counts by the share of it that spans of the other, of its type, cover."""
    covered, found = sums.covered.sum(axis=-2), sums.found.sum(axis=-2)
    return divided(covered, found) if by_type else divided(covered.sum(-1), found.sum(-1))


def untyped_f1(sums: SpanSums) -> F64:
    """The same where the ends must be right and the type need not."""
    return divided(2 * sums.same_ends, sums.found.sum(axis=(-2, -1)))


def unitising_disagreements(
    lengths: Lengths, differences: F64, length: F64, observed: F64
) -> tuple[F64, F64]:
    r"""Observed and expected disagreement of each type, [..., K], whose ratio makes α_U.

    With :math:`N = \sum m L` the labels on texts of length :math:`L` in all, :math:`n` units of lengths
    :math:`l` and gaps of lengths :math:`g`,

    .. math:: D_o = \frac{\sum \delta^2 / (m - 1)}{N L}, \qquad
        D_e = \frac{2}{L}
        \frac{\sum_l \left[\frac{n-1}{3}(2l^3 - 3l^2 + l) + l^2 \sum_{g \ge l} (g - l + 1)\right]}
        {N (N - 1) - \sum_l l (l - 1)}.

    For one text that all have labelled this is Krippendorff's (1995; 2004, p. 254); where annotators differ
    from text to text, :math:`m - 1` and :math:`N` take care of it as in his alpha.
    """
    size = np.arange(lengths.units.shape[-1], dtype=np.float64)
    gaps, total = (
        np.flip(np.cumsum(np.flip(column, -1), -1), -1)
        for column in (lengths.gaps, lengths.gap_sum)
    )
    room = total - (size - 1) * gaps
    units = lengths.units[..., 1:]
    others = units.sum(axis=-1, keepdims=True) - 1
    met = others / 3 * (2 * size**3 - 3 * size**2 + size)[1:]
    chances = (units * (met + (size**2 * room)[..., 1:])).sum(axis=-1)
    ways = observed * (observed - 1) - (units * (size * (size - 1))[1:]).sum(axis=-1)
    return divided(differences, observed * length), 2 * divided(chances, ways * length)


def alpha_u(seen: F64, expected: F64, by_type: bool = False) -> F64:
    """Krippendorff's unitising alpha from the two disagreements; over all types their sums."""
    if by_type:
        return 1 - divided(seen, expected)
    return 1 - divided(np.nansum(seen, axis=-1), np.nansum(expected, axis=-1))
