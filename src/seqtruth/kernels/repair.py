"""The consistency module: turn a soft labelling into paths that obey the label scheme.

``exact``           the legal path with the largest Π_i y*_i, one Viterbi pass.
``bidirectional``   the paper's two traversals (Eq Y-2, Y-3), see :func:`bidirectional_sentence`.
``unidirectional``  OptSLA's left-to-right repair, see :func:`unidirectional_sentence`.
``none``            the most probable label of every token, legal or not.
"""

from __future__ import annotations

import numpy as np

from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64, I8, Bool
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.random import draw
from seqtruth.kernels.score_rows import TIE, viterbi_rows

NONE, EXACT, BIDIRECTIONAL, UNIDIRECTIONAL = range(4)
DECODINGS = {
    "none": NONE,
    "exact": EXACT,
    "bidirectional": BIDIRECTIONAL,
    "unidirectional": UNIDIRECTIONAL,
}
#: Probability of a label nobody gave, inside a decoder: small, so that a legal path always exists.
FLOOR = 1e-12
LOG_FLOOR = float(np.log(FLOOR))


def mode(decoding: str) -> int:
    """Number of a decoding by its name."""
    if decoding not in DECODINGS:
        raise ParameterError(f"decoding must be one of {', '.join(DECODINGS)}", got=repr(decoding))
    return DECODINGS[decoding]


@kernel
def inconsistency(path: I8, start: Bool, allowed: Bool, end: Bool) -> int:
    """Number of forbidden transitions of one path, Eq inc, sentence start and end included."""
    n = len(path)
    if n == 0:
        return 0
    found = 0
    if not start[path[0]]:
        found += 1
    if not end[path[n - 1]]:
        found += 1
    for i in range(1, n):
        if not allowed[path[i - 1], path[i]]:
            found += 1
    return found


@kernel
def exact_sentence(
    y: F64, log_start: F64, log_trans: F64, log_end: F64, logs: F64, best: F64, back: F64, path: I8
) -> None:
    """argmax over legal paths of Σ_i log y*[i, path_i].

    The chain's logarithms and the work space (``logs``, ``best``, ``back``) are padded, as
    :func:`seqtruth.kernels.score_rows.viterbi_rows` wants them.
    """
    _logs(y, logs)
    n, n_labels = y.shape
    viterbi_rows(logs, n, log_start, log_trans, log_end, n_labels, best, back, path, 0)


@kernel
def _logs(y: F64, logs: F64) -> None:
    """Logarithms above :data:`FLOOR`; most labels of a token have no vote, and 1 needs none either."""
    for i in range(len(y)):
        for k in range(y.shape[1]):
            value = y[i, k]
            if value <= FLOOR:
                logs[i, k] = LOG_FLOOR
            elif value == 1.0:
                logs[i, k] = 0.0
            else:
                logs[i, k] = np.log(value)


@kernel
def bidirectional_sentence(
    y: F64,
    start: Bool,
    allowed: Bool,
    end: Bool,
    log_start: F64,
    log_trans: F64,
    log_end: F64,
    is_entity: Bool,
    key: np.uint64,
    logs: F64,
    best: F64,
    back: F64,
    forward: I8,
    path: I8,
) -> None:
    """The paper's bidirectional solution for one sentence; ``path`` comes in as argmax y*.

    Forward traversal (Eq Y-2): token i is consistent when (i, i+1) is a legal transition; its
    present label then has emission 1, every other label and every inconsistent token has the
    probability y*. One Viterbi pass with 0/1 transitions gives Y^2*. Backward traversal (Eq Y-3)
    does the same with (i-1, i). The path with more entity labels wins, ties by the seeded draw.
    """
    n, n_labels = y.shape
    _logs(y, logs)
    for i in range(n):
        if end[path[i]] if i == n - 1 else allowed[path[i], path[i + 1]]:
            logs[i, path[i]] = 0.0
    viterbi_rows(logs, n, log_start, log_trans, log_end, n_labels, best, back, forward, 0)
    for i in range(n):
        fine = start[path[i]] if i == 0 else allowed[path[i - 1], path[i]]
        logs[i, path[i]] = 0.0 if fine else np.log(max(y[i, path[i]], FLOOR))
    viterbi_rows(logs, n, log_start, log_trans, log_end, n_labels, best, back, path, 0)
    more = 0
    for i in range(n):
        more += int(is_entity[forward[i]]) - int(is_entity[path[i]])
    if more > 0 or (more == 0 and draw(key, n, 2) == 0):
        path[:] = forward[:n]


@kernel
def unidirectional_sentence(y: F64, start: Bool, allowed: Bool, end: Bool, path: I8) -> None:
    """OptSLA's repair, left to right; ``path`` comes in as argmax y*.

    For token i, among the two most probable labels of i and of i+1, given the label already chosen
    for i-1, take the first combination without a forbidden transition in the order best-best,
    best-second, second-best, second-second; the best label where none is. The last token looks back
    only; the first must be able to open a sentence.
    """
    n = len(path)
    for i in range(n):
        first = path[i]
        second = _second(y[i], first)
        ahead = path[i + 1] if i + 1 < n else -1
        ahead_second = _second(y[i + 1], ahead) if i + 1 < n else -1
        for trial in range(4):
            here = first if trial < 2 else second
            then = ahead if trial % 2 == 0 else ahead_second
            if i == 0:
                fine = start[here]
            else:
                fine = allowed[path[i - 1], here]
            if i + 1 < n:
                fine = fine and allowed[here, then]
            else:
                fine = fine and end[here]
            if fine:
                path[i] = here
                break


@kernel
def _second(values: F64, first: int) -> int:
    """Most probable label besides ``first``."""
    chosen = -1
    for k in range(len(values)):
        if k != first and (chosen < 0 or values[k] > values[chosen] + TIE):
            chosen = k
    return chosen


@kernel
def decode_sentence(
    how: int,
    y: F64,
    start: Bool,
    allowed: Bool,
    end: Bool,
    log_start: F64,
    log_trans: F64,
    log_end: F64,
    is_entity: Bool,
    key: np.uint64,
    logs: F64,
    best: F64,
    back: F64,
    spare: I8,
    path: I8,
) -> None:
    """The consistency module on one sentence; ``path`` comes in as the vote's winners."""
    if how == EXACT:
        exact_sentence(y, log_start, log_trans, log_end, logs, best, back, path)
    elif how == BIDIRECTIONAL:
        bidirectional_sentence(
            y, start, allowed, end, log_start, log_trans, log_end, is_entity, key, logs, best, back,
            spare, path,
        )  # fmt: skip
    elif how == UNIDIRECTIONAL:
        unidirectional_sentence(y, start, allowed, end, path)
