"""What is expected of the labels now and after more decisions, and what past expectations came to.

The F1 that the confidences promise is that of ``seqtruth next``; it grows by the share of the errors expected
that decisions put right. Decisions correct the doubt: where they found fewer errors than foreseen, so will
the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from seqtruth.decisions.cases import Cases
from seqtruth.decisions.model import f1_left
from seqtruth.kernels.arrays import F64, Bool
from seqtruth.review.questions import COHERENCE, Questions

#: Errors foreseen that one's own doubt about them is worth.
PRIOR = 10.0
#: Less than this to be gained from 50 decisions is not worth them.
LITTLE = 0.002
AHEAD = (50, 100)


class Found(NamedTuple):
    """Errors that were foreseen where people decided, and errors they found."""

    foreseen: float = 0.0
    found: int = 0
    asked: int = 0

    @property
    def ratio(self) -> float:
        """Found for each that was foreseen, drawn towards one while there is little to go by."""
        return (self.found + PRIOR) / (self.foreseen + PRIOR)


def outlook(
    f1: float, cases: Cases, questions: Questions, mask: Bool, together: Bool, past: Found
) -> dict[str, Any]:  # fmt: skip
    """Expected F1 now and after 50 and 100 more decisions, and whether to go on.

    Parameters
    ----------
    f1 : to be expected of the labels without the decisions that are not in them.
    cases, questions : what is in doubt about the labels.
    mask, together : bool[C], cases that are open, and that may be asked about with others.
    past : what decisions have found so far.
    """
    before = max(float(cases.wrong.sum()), 1e-12)
    left = np.where(mask, np.minimum(cases.wrong * past.ratio, 1.0), 0.0)
    now = _f1(f1, left, before)
    later: dict[int, float] = {}
    walked, taken = 0, np.zeros(cases.size, np.bool_)
    for question in questions.ranked(mask, 2 * AHEAD[-1], together):
        chosen = [k for k in question.cases if not taken[k]]
        if not chosen:
            continue
        taken[chosen] = True
        left[chosen] *= 1.0 - COHERENCE.get(question.kind, 1.0)
        walked += 1
        if walked in AHEAD:
            later[walked] = _f1(f1, left, before)
        if walked == AHEAD[-1]:
            break
    after = [later.get(n, _f1(f1, left, before)) for n in AHEAD]
    gain = after[0] - now
    advice = (
        f"50 more decisions are expected to bring {100 * gain:.1f} points."
        if gain >= LITTLE
        else "More decisions would change little: this is a good moment to stop."
    )
    return {
        "f1": round(now, 4), "after_50": round(after[0], 4), "after_100": round(after[1], 4),
        "advice": advice, "foreseen": round(past.foreseen, 1), "found": past.found, "asked": past.asked,
    }  # fmt: skip


def _f1(f1: float, left: F64, before: float) -> float:
    return max(0.0, f1_left(f1, float(left.sum()) / before))


def foreseen(rounds: Sequence[Mapping[str, Any]], decisions: int) -> float | None:
    """What the last round expected of this many decisions.

    >>> foreseen([{"decisions": 0, "f1": 0.8, "after_50": 0.82, "after_100": 0.83}], 75)
    0.825
    """
    if not rounds:
        return None
    last = rounds[-1]
    ahead = decisions - int(last["decisions"])
    known = [float(last["f1"]), float(last["after_50"]), float(last["after_100"])]
    return round(float(np.interp(ahead, [0, *AHEAD], known)), 4)
