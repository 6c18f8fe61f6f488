"""The consistency module: turn a soft labelling into paths that obey the label scheme.

``exact``           the legal path with the largest Π_i y*_i, one Viterbi pass.
``bidirectional``   the paper's two traversals (Eq Y-2, Y-3), see :func:`bidirectional_sentence`.
``unidirectional``  OptSLA's left-to-right repair, see :func:`unidirectional_sentence`.
``none``            the most probable label of every token, legal or not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64, Tags
from seqtruth.kernels.grammar import Grammar
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.random import draw
from seqtruth.kernels.recursions import (
    PaddedChain,
    ViterbiSpace,
    viterbi_sentence,
    viterbi_space,
)
from seqtruth.kernels.ties import SCORE_TIE

NONE, EXACT, BIDIRECTIONAL, UNIDIRECTIONAL = range(4)
DECODINGS = {
    "none": NONE,
    "exact": EXACT,
    "bidirectional": BIDIRECTIONAL,
    "unidirectional": UNIDIRECTIONAL,
}
#: Probability of a label nobody gave, inside a decoder: small, so that a legal path always exists.
LEAST_PROBABILITY = 1e-12
LOG_LEAST_PROBABILITY = float(np.log(LEAST_PROBABILITY))


def mode(decoding: str) -> int:
    """Number of a decoding by its name."""
    if decoding not in DECODINGS:
        raise ParameterError(f"decoding must be one of {', '.join(DECODINGS)}", got=repr(decoding))
    return DECODINGS[decoding]


class Repairer(NamedTuple):
    """How paths are made legal, for sentences of up to n tokens.

    how : one of the numbers in :data:`DECODINGS`.
    legal : logarithms of the chain that the grammar allows.
    logs : float64[n, width], work space, as are the others.
    forward : tag[n].
    """

    how: int
    legal: PaddedChain
    logs: F64
    viterbi: ViterbiSpace
    forward: Tags


@kernel
def repairer(how: int, legal: PaddedChain, longest: int, path: Tags) -> Repairer:
    """With work space for ``longest`` tokens; tags are kept as in ``path``."""
    width = legal.start.shape[1]
    return Repairer(
        how,
        legal,
        np.zeros((longest, width)),
        viterbi_space(longest, width),
        np.empty(longest, path.dtype),
    )


@kernel
def repair_sentence(
    y: F64, n: int, by: Repairer, grammar: Grammar, key: np.uint64, path: Tags
) -> None:
    """The consistency module on one sentence; ``path`` tag[≥ n] comes in as the vote's winners.

    Parameters
    ----------
    y : float64[≥ n, L], the soft labels y*.
    key : of the sentence, for the draw between equally good paths.
    """
    if by.how == EXACT:
        exact_sentence(y, n, by, path)
    elif by.how == BIDIRECTIONAL:
        bidirectional_sentence(y, n, by, grammar, key, path)
    elif by.how == UNIDIRECTIONAL:
        unidirectional_sentence(y, n, grammar, path)


@kernel
def exact_sentence(y: F64, n: int, by: Repairer, path: Tags) -> None:
    """argmax over legal paths of Σ_i log y*[i, path_i]."""
    _logs(y, n, by.logs)
    viterbi_sentence(by.logs, n, by.legal, by.viterbi, path, 0)


@kernel
def _logs(y: F64, n: int, logs: F64) -> None:
    """Logarithms of float64[n, L]; most labels of a token have no vote, and 1 needs none either."""
    for i in range(n):
        for k in range(y.shape[1]):
            value = y[i, k]
            if value <= LEAST_PROBABILITY:
                logs[i, k] = LOG_LEAST_PROBABILITY
            elif value == 1.0:
                logs[i, k] = 0.0
            else:
                logs[i, k] = np.log(value)


@kernel
def bidirectional_sentence(
    y: F64, n: int, by: Repairer, grammar: Grammar, key: np.uint64, path: Tags
) -> None:
    """The paper's bidirectional solution for one sentence; ``path`` comes in as argmax y*.

    Forward traversal (Eq Y-2): token i is consistent when (i, i+1) is a legal transition; its
    present label then has emission 1, every other label and every inconsistent token has the
    probability y*. One Viterbi pass with 0/1 transitions gives Y^2*. Backward traversal (Eq Y-3)
    does the same with (i-1, i). The path with more entity labels wins, ties by the seeded draw.
    """
    start, allowed, end = grammar.start, grammar.allowed, grammar.end
    logs, forward = by.logs, by.forward
    _logs(y, n, logs)
    for i in range(n):
        if end[path[i]] if i == n - 1 else allowed[path[i], path[i + 1]]:
            logs[i, path[i]] = 0.0
    viterbi_sentence(logs, n, by.legal, by.viterbi, forward, 0)
    for i in range(n):
        fine = start[path[i]] if i == 0 else allowed[path[i - 1], path[i]]
        logs[i, path[i]] = 0.0 if fine else np.log(max(y[i, path[i]], LEAST_PROBABILITY))
    viterbi_sentence(logs, n, by.legal, by.viterbi, path, 0)
    more = 0
    for i in range(n):
        more += int(grammar.is_entity[forward[i]]) - int(grammar.is_entity[path[i]])
    if more > 0 or (more == 0 and draw(key, n, 2) == 0):
        path[:n] = forward[:n]


@kernel
def unidirectional_sentence(y: F64, n: int, grammar: Grammar, path: Tags) -> None:
    """OptSLA's repair, left to right; ``path`` comes in as argmax y*.

    For token i, among the two most probable labels of i and of i+1, given the label already chosen
    for i-1, take the first combination without a forbidden transition in the order best-best,
    best-second, second-best, second-second; the best label where none is. The last token looks back
    only; the first must be able to open a sentence.
    """
    start, allowed, end = grammar.start, grammar.allowed, grammar.end
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
        if k != first and (chosen < 0 or values[k] > values[chosen] + SCORE_TIE):
            chosen = k
    return chosen
