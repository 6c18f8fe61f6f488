"""The consistency module: turn a soft labelling into paths that obey the label scheme.

``exact``           the legal path with the largest Π_i y*_i, one Viterbi pass.
``bidirectional``   the paper's two traversals (Eq Y-2, Y-3), see ``cpp/repair.hpp``.
``unidirectional``  OptSLA's left-to-right repair, likewise.
``none``            the most probable label of every token, legal or not.
"""

from __future__ import annotations

import numpy as np

from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64, Tags
from seqtruth.kernels.chain import Chain
from seqtruth.kernels.grammar import Grammar
from seqtruth.kernels.native import call

NONE, EXACT, BIDIRECTIONAL, UNIDIRECTIONAL = range(4)
DECODINGS = {
    "none": NONE,
    "exact": EXACT,
    "bidirectional": BIDIRECTIONAL,
    "unidirectional": UNIDIRECTIONAL,
}


def mode(decoding: str) -> int:
    """Number of a decoding by its name."""
    if decoding not in DECODINGS:
        raise ParameterError(f"decoding must be one of {', '.join(DECODINGS)}", got=repr(decoding))
    return DECODINGS[decoding]


def repair_sentence(y: F64, grammar: Grammar, decoding: str, key: np.uint64, path: Tags) -> None:
    """The consistency module on one sentence; ``path`` tag[n] comes in as the vote's winners.

    Parameters
    ----------
    y : float64[n, L], the soft labels y*.
    key : of the sentence, for the draw between equally good paths.
    """
    call("repair_one", y, grammar, mode(decoding), Chain.legal(grammar).logs().rows(), key, path)
