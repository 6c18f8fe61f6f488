"""A linear-chain CRF over batches of label scores, in torch.

score(y) = a[y_1] + Σ_i s_i[y_i] + Σ_i A[y_i, y_{i+1}] + b[y_n],   p(y | x) = exp score(y) / Z

``chain`` [L+2, L] holds A, then a, then b. ``scores`` are [B, N, L], ``mask`` [B, N] is True on the
tokens of each sentence, which stand first.

References
----------
Lafferty, McCallum & Pereira (2001), Conditional random fields, ICML.
Lample et al. (2016), Neural architectures for named entity recognition, NAACL.
doi:10.18653/v1/N16-1030
"""

from __future__ import annotations

from seqtruth.errors import MissingExtraError

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtraError("torch", "torch", "a neural tagger") from error

#: A soft tag below this counts as this much, where tags of its sentence are missing.
SMALLEST = 1e-6


def log_normaliser(scores: Tensor, mask: Tensor, chain: Tensor) -> Tensor:
    """float[B]: log Z by the forward algorithm."""
    transition = chain[:-2][None]
    first, *later = scores.unbind(dim=1)
    alpha = chain[-2] + first
    for here, inside in zip(later, mask[:, 1:, None].unbind(dim=1), strict=True):
        ahead = torch.logsumexp(alpha[:, :, None] + transition, dim=1) + here
        alpha = torch.where(inside, ahead, alpha)
    return torch.logsumexp(alpha + chain[-1], dim=1)


def expected_score(scores: Tensor, mask: Tensor, chain: Tensor, target: Tensor) -> Tensor:
    """float[B]: E[score(y)] for y_i ~ target_i independently; exact for hard labels."""
    inside = target * mask[..., None]
    value = (inside * scores).sum(dim=(1, 2)) + inside[:, 0] @ chain[-2]
    value = value + ((inside[:, :-1] @ chain[:-2]) * inside[:, 1:]).sum(dim=(1, 2))
    last = mask.sum(dim=1) - 1
    return value + inside[torch.arange(len(last)), last] @ chain[-1]


def negative_log_likelihood(scores: Tensor, mask: Tensor, chain: Tensor, target: Tensor) -> Tensor:
    """float[B]: -log p(target), or its expectation under soft targets.

    Rows of zeros in ``target`` [B, N, L] are missing tags. In sentences that have some, the missing
    ones are summed over, -log Σ_{y agrees} p(y | x), and soft tags count as likelihoods.
    """
    normaliser = log_normaliser(scores, mask, chain)
    missing = mask & (target.sum(dim=2) <= 0)
    partial = missing.any(dim=1)
    value = expected_score(scores, mask, chain, target)
    if bool(partial.any()):
        evidence = target[partial].clamp(min=SMALLEST).log()
        evidence = evidence.masked_fill((target[partial] <= 0), -1e4)
        evidence = evidence.masked_fill(missing[partial][..., None], 0.0)
        clamped = log_normaliser(scores[partial] + evidence, mask[partial], chain)
        value = value.index_put((partial.nonzero()[:, 0],), clamped)
    return normaliser - value
