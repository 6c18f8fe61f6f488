"""Forward-backward and Viterbi of one sentence in plain NumPy, rule by rule."""

from __future__ import annotations

import numpy as np


def log(weights):
    return np.log(weights, out=np.full(weights.shape, -np.inf), where=weights > 0)


def log_sum(logs):
    """log Σ exp over the first axis."""
    top = logs.max(axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    return top + log(np.exp(logs - top).sum(axis=0))


def forward_backward(scores, start, trans, end):
    """Marginals, expected transitions and log normaliser, in logarithms from end to end.

    Where forbidden transitions leave no path at all, the chain is ignored at that token.
    """
    n, n_labels = scores.shape
    pairs, total = np.zeros((n_labels, n_labels)), 0.0
    if n == 0:
        return scores.copy(), pairs, total
    alpha, beta = np.empty_like(scores), np.empty_like(scores)
    for i in range(n):
        alpha[i] = scores[i] + (
            log(start) if i == 0 else log_sum(alpha[i - 1][:, None] + log(trans))
        )
        if np.isneginf(alpha[i]).all():
            alpha[i] = total + scores[i]
        total = float(log_sum(alpha[i]))
    final = float(log_sum(alpha[-1] + log(end)))
    total, beta[-1] = (final, log(end)) if np.isfinite(final) else (total, np.zeros(n_labels))
    q = np.empty_like(scores)
    for i in range(n - 1, -1, -1):
        both = alpha[i] + beta[i]
        whole = log_sum(both)
        known = both - whole if np.isfinite(whole) else alpha[i] - log_sum(alpha[i])
        q[i] = np.exp(known)
        if i > 0:
            step = log(trans) + scores[i] + beta[i]
            beta[i - 1] = log_sum(step.T)
            if np.isfinite(whole):
                pairs += np.exp(alpha[i - 1][:, None] + step - whole)
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
