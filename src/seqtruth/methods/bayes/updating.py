"""Going on from a fitted model of the Bayesian family (:mod:`seqtruth.methods.updating`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.engine import Sums
from seqtruth.fitted import Fitted
from seqtruth.kernels.arrays import Tags
from seqtruth.methods.bayes.sequence_model import CrowdHMM, Tables
from seqtruth.methods.bayes.worker_models import information
from seqtruth.methods.loop import State
from seqtruth.methods.updating import (
    MOST_ROUNDS,
    ROUNDS,
    Change,
    Updated,
    every_sentence,
    reached,
)

#: The model on a part of a crowd, with known labels on it.
ModelOn = Callable[[Crowd, Tags], CrowdHMM]
#: A model that starts from where it stands has settled when its bound moves by less than this.
TOLERANCE = 1e-6
_KEPT = ("annotators", "start", "transition", "prior")


def settled_state(model: CrowdHMM, sums: Mapping[str, np.ndarray]) -> State:
    """Parameters that go with sums.

    Where counts are shared out by the parameters themselves (a spammer's habit), that is repeated.
    """
    state = model.prior
    for _ in range(20 if model.annotators.counts_by_logs else 1):
        state = model.update(dict(sums), state)
    return state


def _exchanged(
    sums: Sums, old: CrowdHMM, new: CrowdHMM, state: State
) -> tuple[Sums, State, Tables]:
    """The sums without some sentences, and the parameters that follow from what these say now."""
    tables = new.tables(state)
    said = old.expect_under(tables)
    base = {name: sums[name] - said[name] for name in sums}
    for _ in range(ROUNDS):
        state = settled_state(new, _put(base, new.expect_under(tables)))
        tables = new.tables(state)
    return base, state, tables


def exchanged(sums: Sums, old: CrowdHMM, new: CrowdHMM, state: State) -> tuple[Sums, State, Tables]:
    """Sums in which some sentences say what they say now, and the parameters that follow.

    Parameters
    ----------
    sums : as they were.
    old, new : the model on the sentences before and after.
    state : parameters that go with the sums.
    """
    base, state, tables = _exchanged(sums, old, new, state)
    return _put(base, new.expect_under(tables)), state, tables


def _put(base: Sums, now: Mapping[str, np.ndarray]) -> Sums:
    """The sums with what some sentences say now."""
    return {name: np.maximum(base[name] + now[name], 0.0) for name in base}


def settled_everywhere(change: Change, model_on: ModelOn, state: State) -> tuple[Sums, State]:
    """Rounds over all sentences until the bound stands still; the sums of the last."""
    model = model_on(*change.new_part(every_sentence(change)))
    last = None
    for _ in range(MOST_ROUNDS):
        found = model.advance(state)
        state = found.state
        if last is not None and abs(found.objective - last) <= TOLERANCE * abs(last):
            break
        last = found.objective
    sums = model.expect(state)
    return {name: sums[name] for name in _KEPT}, state


def update(fitted: Fitted, change: Change, model_on: ModelOn, reach: str = "auto") -> Updated:
    """The model after a change.

    Parameters
    ----------
    fitted : with the annotators and tokens of the change.
    model_on : the method's model on a part of the crowd.
    reach : how far to go, see :mod:`seqtruth.methods.updating`.
    """
    reach, debt = reached(fitted, change, reach)
    sums = {name: fitted.sums[name] for name in _KEPT}
    model = model_on(*change.new_part(change.touched))
    state = settled_state(model, sums)
    sentences = change.touched
    if reach == "settle":
        sums, state = settled_everywhere(change, model_on, state)
        tables = model.tables(state)
    else:
        old = model_on(*change.old_part(change.touched))
        base, state, tables = _exchanged(sums, old, model, state)
        said, decision = model.judge_under(tables)
        sums = _put(base, said)
    if reach != "near":
        sentences = every_sentence(change)
        model = model_on(*change.new_part(sentences))
        decision = model.judge_under(tables)[1]
    confusion = model.annotators.confusion(state, model.prior, change.after.n_labels)
    now = model.fitted(tables, {**fitted.sums, **sums})
    sources = fitted.sources
    for number, source in enumerate(now.sources):
        evidence = sources[number].evidence
        evidence[change.tokens(sentences)] = source.evidence  # made for this update, so ours
        sources = (*sources[:number], source._replace(evidence=evidence), *sources[number + 1 :])
    now = replace(
        now, sources=sources, known=change.known_after, settings={**fitted.settings, "debt": debt},
        sums={**fitted.sums, **sums},
    )  # fmt: skip
    weight = information(confusion, sums["prior"])
    return Updated(now, sentences, decision, weight, confusion.astype(np.float32))
