"""Who wins where labels are equally good."""

from __future__ import annotations

import numpy as np

from seqtruth.data.scheme import Scheme
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64, I8
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.random import draw
from seqtruth.kernels.score_rows import TIE

RULES = ("alphabetical", "entity", "O", "random")


def order(rule: str, scheme: Scheme) -> I8:
    """Labels in the order in which a tie prefers them (``random`` starts from alphabetical)."""
    if rule not in RULES:
        raise ParameterError(f"ties must be one of {', '.join(RULES)}", got=repr(rule))
    outside = ~scheme.is_entity
    if rule == "entity":
        return np.argsort(outside, kind="stable").astype(np.int8)
    if rule == "O":
        return np.argsort(~outside, kind="stable").astype(np.int8)
    return np.arange(len(scheme.labels), dtype=np.int8)


@kernel
def pick(values: F64, preference: I8, random: bool, key: np.uint64, i: int) -> int:
    """Label with the largest value; near-equal values are a tie for ``preference`` or the draw."""
    top = values[0]
    for k in range(1, len(values)):
        top = max(top, values[k])
    bar = top - TIE * max(abs(top), 1e-300)
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
