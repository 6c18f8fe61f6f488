"""Who wins where labels are equally good."""

from __future__ import annotations

import numpy as np

from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64, Bool, Tags, tag_dtype
from seqtruth.kernels.jit import inlined
from seqtruth.kernels.random import draw

#: Scores closer than this are ties, so that the order of a sum cannot pick the winner.
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


@inlined
def pick(values: F64, preference: Tags, random: bool, key: np.uint64, i: int) -> int:
    """Label with the largest value; near-equal values are a tie for ``preference`` or the draw.

    Parameters
    ----------
    values : float64[L].
    preference : tag[L], from :func:`order`.
    random, key, i : whether ties are drawn, by the sentence's key and the token's place in it.
    """
    top = values[0]
    for k in range(1, len(values)):
        top = max(top, values[k])
    bar = top - SCORE_TIE * max(abs(top), 1e-300)
    tied = 0
    for k in range(len(values)):
        if values[k] >= bar:
            tied += 1
    chosen = draw(key, i, tied) if random and tied > 1 else 0
    for place in range(len(preference)):
        label = preference[place]
        if values[label] >= bar:
            if chosen == 0:
                return int(label)
            chosen -= 1
    return int(preference[0])
