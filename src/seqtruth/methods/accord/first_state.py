"""What a run of Accord begins with: the annotators' models, and what taggers learn from first."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.kernels.arrays import F32, F64
from seqtruth.methods.accord.annotators import Population, Told, learn_population
from seqtruth.methods.accord.gaps import claim_counts, coverage_of
from seqtruth.methods.accord.opinions import Model, mean_opinion
from seqtruth.methods.accord.options import CAUTIOUS
from seqtruth.methods.accord.remembering import SEQUENTIAL_SUMS
from seqtruth.methods.accord.sequences import learn_sequences
from seqtruth.methods.accord.state import tells_sequences
from seqtruth.methods.loop import State

if TYPE_CHECKING:
    from seqtruth.methods.accord.run import Run

log = logging.getLogger("seqtruth")


def first_state(run: Run) -> State:
    """The annotators' models, and what taggers begin to learn from."""
    log.info("weighing %d annotators", run.crowd.n_annotators)
    tell = (lambda part: run.told) if run.everything else run.findings.on
    population = learn_population(run.told, run.parts, tell)
    state: State = {f"population/{k}": v for k, v in population._asdict().items()}
    state["round"] = np.zeros(1, np.int64)
    rows = _with_start(population.transition, run.crowd.scheme.outside)
    if run.by_text is not None:
        table = run.by_text.table
        return state | {
            "confusion/table": table,
            "confusion/chain": rows,
            "targets": run.by_text.targets,
        }
    if not run.judged:
        return state | _gap_state(run, population, tell)
    models = {"confusion": Model(population.table, rows)}
    if tells_sequences(run.crowd):
        found = learn_sequences(run)
        models["sequential"] = found.model
        if found.cautious is not None:
            models[CAUTIOUS] = found.cautious
        state |= {f"sums/{k}": found.sums[k] for k in SEQUENTIAL_SUMS}
        state["sums/strength"] = np.array([found.strength])
    for name, model in models.items():
        state |= {f"{name}/{k}": v for k, v in model._asdict().items()}
    if run.hears:
        state["targets"] = _first_targets(run, state, population)
    return state


def _gap_state(run: Run, population: Population, tell: Callable[[Crowd], Told]) -> State:
    """What taggers learn to find where nobody speaks, and how much of it sources find."""
    if not run.gaps.any():
        return {}
    tags = run.labels("annotators", run.alone(population)).tags
    sums = run.parts.add_up(partial(claim_counts, tell=tell, population=population))
    return {
        "targets": np.eye(run.crowd.n_labels, dtype=np.float32)[tags],
        "coverage": coverage_of(sums["claimed"], _speakers(run.told)),
    }


def _speakers(told: Told) -> F64:
    """float64[K]: how many witnesses speak of each type."""
    leads = told.copies.leaders[:, None]
    return np.asarray(((told.totals.claims > 0) & leads).sum(axis=0), np.float64)


def _first_targets(run: Run, state: State, population: Population) -> F32:
    """Soft labels to begin with: a mean opinion under the sequential model, or the posterior of
    the confusion matrices, whose mean opinion would blur where spans end."""
    crowd, told = run.crowd, run.told
    if run.base(state) == "sequential":
        return mean_opinion(crowd, state["sequential/table"], told.silence, run.known)
    n, outside = crowd.n_labels, crowd.scheme.outside
    targets = np.full((crowd.n_tokens, n), 1.0 / n if outside < 0 else 0.0, np.float32)
    if outside >= 0:
        targets[:, outside] = 1.0
    targets[told.marked.at] = population.posterior
    return targets


def _with_start(transition: F64, outside: int) -> F64:
    """float64[L + 1, L]: a sentence starts as if after ``O``."""
    n = len(transition)
    return np.vstack([transition, transition[outside] if outside >= 0 else np.full(n, 1 / n)])
