"""The sequential model of annotators, with a prior that weighs as much as left-out annotators want.

In :class:`~seqtruth.methods.bayes.bsc.BSCSeq` annotators begin as good ones, and what they say moves them
away from that. A few labels should move them soon, or the prior drowns what can be known; many should not
move them far: annotators err alike, and EM ends by explaining the truth away. How much the prior weighs is
therefore found out: from its usual strength on, halves of a power of ten are tried, downwards and upwards,
for as long as labels made without an annotator come nearer to theirs.

A model with a weak prior fits the very annotators who judge it, since they are only left out of the labels,
not of what was learnt. Where the prior is weaker than usual, the model is compared with others by its
*cautious* twin, which has the usual one.

In a large crowd a sample tells the strength. Beside everything, the prior weighs as much as it did beside the
sample, or it weighs the same share of it: annotators who err alike want that, others do not, and left-out
annotators choose between the two.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqtruth.engine import Sums
from seqtruth.errors import ConvergenceWarning
from seqtruth.methods.accord.leave_one_out import DIGITS, STEP
from seqtruth.methods.accord.opinions import Model
from seqtruth.methods.bayes.bsc import BSCSeq
from seqtruth.methods.bayes.sequence_model import majority
from seqtruth.methods.loop import Rules, iterate
from seqtruth.methods.task import Task

if TYPE_CHECKING:
    from seqtruth.methods.accord.run import Run

#: Rounds of EM at the most; and in a crowd larger than the sample, where each is a pass over everything.
ROUNDS, FEW_ROUNDS = 100, 20
#: Strengths are looked for up to so many steps (half a power of ten each) from the usual one.
FARTHEST = 5


class Sequences(NamedTuple):
    """What was learnt.

    model : the annotators, with the prior that left-out annotators want.
    cautious : the same with the usual prior, where that is stronger.
    sums : what ``model`` was made from.
    strength : of its prior.
    """

    model: Model
    cautious: Model | None
    sums: Sums
    strength: float


def learn_sequences(run: Run) -> Sequences:
    """The sequential model of a crowd."""
    here = run.task._replace(parts=run.parts)
    if not run.everything:
        sample = run.task.on(run.crowd, run.known)
        strength = best_strength(lambda one: _f1(run, learn_with(run, sample, one)[0]))
        drawn = max(int(np.count_nonzero(run.crowd.tags >= 0)), 1)
        share = max(run.parts.facts.n_annotations / drawn, 1.0)
        both = [(one, *learn_with(run, here, one)) for one in (strength, strength * share)]
        strength, model, sums = max(both, key=lambda found: _f1(run, found[1]))
        return Sequences(model, None, sums, strength)
    tried: dict[float, tuple[Model, Sums]] = {}

    def score(strength: float) -> float:
        tried[strength] = learn_with(run, here, strength)
        return _f1(run, tried[strength][0])

    strength = best_strength(score)
    model, sums = tried[strength]
    return Sequences(model, tried[1.0][0] if strength < 1 else None, sums, strength)


def best_strength(score: Callable[[float], float]) -> float:
    """The strength with the highest score, by steps from 1 for as long as they are worth it.

    A weaker prior flatters those who judge it, and must be better by
    :data:`~seqtruth.methods.accord.leave_one_out.STEP`.

    >>> best_strength(lambda strength: -abs(np.log10(strength) + 1.1))
    0.1
    >>> best_strength(lambda strength: 0.5)
    1.0
    """
    best, found = 0, round(score(1.0), DIGITS)
    for step, least in ((-1, STEP), (1, 0.0)):
        while abs(best) < FARTHEST:
            new = round(score(_strength(best + step)), DIGITS)
            if new <= found + least:
                break
            best, found = best + step, new
        if best:
            break
    return _strength(best)


def _strength(steps: int) -> float:
    return float(10.0 ** (steps / 2))


def _f1(run: Run, model: Model) -> float:
    """What left-out annotators say of the model, chain and documents beside it."""
    return run.judge.f1(run.sources.settle(model, [], run.method.evidence or 1.0).opinion)


def learn_with(run: Run, task: Task, strength: float) -> tuple[Model, Sums]:
    """BSC-seq, its tables weighed by the share of a witness, and what they were made from."""
    method = run.method
    model = BSCSeq(
        strength=strength, reliability=method.reliability,
        reliability_strength=method.reliability_strength,
    ).model(task)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        begin = partial(model.start, majority(task))
        rules = Rules(ROUNDS if run.everything else FEW_ROUNDS, 1e-6, "lower bound", False)
        state, _ = iterate(begin, model.advance, rules, model.schema)
    tables = model.tables(state)
    assert tables.transition is not None
    weight = run.told.copies.weight[:, None, None, None]
    rows = np.vstack([tables.transition, tables.start])
    return Model(tables.annotators * weight, rows), model.expect(state)
