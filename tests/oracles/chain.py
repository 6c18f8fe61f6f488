"""Forward-backward and Viterbi of one sentence in plain NumPy, rule by rule."""

from __future__ import annotations

import numpy as np


def forward_backward(scores, start, trans, end):
    """Marginals, expected transitions and log normaliser, by scaled recursions (Rabiner 1989).

    Where forbidden transitions leave no path at all, the chain is ignored at that token.
    """
    n, n_labels = scores.shape
    pairs = np.zeros((n_labels, n_labels))
    if n == 0:
        return scores.copy(), pairs, 0.0
    top = scores.max(axis=1, keepdims=True)
    weights, alpha, norm = np.exp(scores - top), np.empty_like(scores), np.empty(n)
    for i in range(n):
        alpha[i] = weights[i] * (start if i == 0 else alpha[i - 1] @ trans)
        if alpha[i].sum() <= 0:
            alpha[i] = weights[i]
        norm[i] = alpha[i].sum()
        alpha[i] /= norm[i]
    total = float(np.log(norm).sum() + top.sum())
    scale = alpha[-1] @ end
    beta = end / scale if scale > 0 else np.ones(n_labels)
    total += float(np.log(scale)) if scale > 0 else 0.0
    q = np.empty_like(scores)
    for i in range(n - 1, -1, -1):
        both = alpha[i] * beta
        q[i] = both / both.sum() if both.sum() > 0 else alpha[i]
        step = trans * (weights[i] * beta / norm[i])
        if i > 0:
            pairs += alpha[i - 1][:, None] * step
            beta = step.sum(axis=1)
    return q, pairs, total


def viterbi(scores, start, trans, end, tie):
    """The best path of log weights; the first label wins within ``tie``."""
    n, n_labels = scores.shape
    if n == 0:
        return []
    best, back = start + scores[0], []
    for i in range(1, n):
        values = best[:, None] + trans
        source = [_first_best(values[:, k], tie) for k in range(n_labels)]
        back.append(source)
        best = values[source, np.arange(n_labels)] + scores[i]
    path = [_first_best(best + end, tie)]
    for source in reversed(back):
        path.append(source[path[-1]])
    return path[::-1]


def _first_best(values, tie):
    choice = 0
    for k in range(1, len(values)):
        if values[k] > values[choice] + tie:
            choice = k
    return choice
