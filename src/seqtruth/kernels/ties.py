"""Who wins where labels are equally good."""

from __future__ import annotations

import numpy as np

from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import Bool, Tags, tag_dtype

#: Scores closer than this are ties, so that the order of a sum cannot pick the winner (``cpp/arrays.hpp``).
SCORE_TIE = 1e-9
RULES = ("alphabetical", "entity", "O", "random")


def order(rule: str, is_entity: Bool) -> Tags:
    """tag[L]: labels in the order in which a tie prefers them (``random`` starts from alphabetical).

    Parameters
    ----------
    rule : one of :data:`RULES`.
    is_entity : bool[L].
    """
    if rule not in RULES:
        raise ParameterError(f"ties must be one of {', '.join(RULES)}", got=repr(rule))
    kind = tag_dtype(len(is_entity))
    if rule == "entity":
        return np.argsort(~is_entity, kind="stable").astype(kind)
    if rule == "O":
        return np.argsort(is_entity, kind="stable").astype(kind)
    return np.arange(len(is_entity)).astype(kind)
