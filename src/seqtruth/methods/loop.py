"""How rounds are made: until nothing changes, each leaving a step in the history.

A method's state is a dictionary of plain arrays. That makes a round a pure function, and a checkpoint
nothing more than the state on disk: a run that goes on from it gives the same bytes as one that was
never interrupted.
"""

from __future__ import annotations

import json
import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seqtruth import archive
from seqtruth._version import __version__
from seqtruth.errors import ConvergenceWarning, DataError, InputError, ParameterError
from seqtruth.history import History, Step
from seqtruth.schema import Schema

State = archive.Arrays
Progress = Callable[[Step], None]
log = logging.getLogger("seqtruth")
#: What is raised by those who look at what a file holds.
MISFITS = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, DataError)


class Round(NamedTuple):
    """A round's outcome: the next state and what the history should say of it."""

    state: State
    objective: float
    parts: dict[str, float]
    change: float | None = None
    confident: int = 0


@dataclass(frozen=True)
class Checkpoint:
    """Where rounds are kept, and for which run (``fingerprint``: method, parameters, input)."""

    folder: Path
    fingerprint: str
    resume: bool = False

    @property
    def path(self) -> Path:
        return self.folder / "checkpoint.seqtruth"

    def load(self, schema: Schema) -> tuple[State, tuple[Step, ...]] | None:
        """State and steps of the last finished round, where there is one to go on from.

        Parameters
        ----------
        schema : what a state of this run must be; another one is refused.
        """
        if not self.resume or not self.path.exists():
            return None
        meta, state = archive.load(self.path, "checkpoint")
        if meta.get("fingerprint") != self.fingerprint:
            raise InputError(
                "the checkpoint belongs to another run (other input, method or parameters)",
                where=str(self.path),
                fix="use another folder, or leave out resume=",
            )
        try:
            history = History.from_dict(meta["history"])
            schema.check(state)
            if not history.steps:
                raise ValueError("it holds no round")
        except MISFITS as error:
            raise InputError(
                f"the checkpoint is damaged ({error or type(error).__name__})",
                where=str(self.path), fix="use another folder, or leave out resume=",
            ) from error  # fmt: skip
        log.info("going on from round %d (%s)", len(history), self.path)
        return state, history.steps

    def save(self, state: State, history: History) -> None:
        """Keep a finished round, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        meta = {"fingerprint": self.fingerprint, "history": history.to_dict()}
        archive.save(self.path, "checkpoint", meta, state)


@dataclass(frozen=True)
class Rules:
    """When to stop, and whom to tell.

    Converged means: the objective moved by no more than ``tol`` of its size, or no more than this
    share of the labels changed.
    """

    max_iter: int
    tol: float
    measure: str = "objective"
    falls: bool = True
    checkpoint: Checkpoint | None = None
    progress: Progress | None = None


def rules_for(
    max_iter: int,
    tol: float,
    measure: str,
    checkpoint: Checkpoint | None,
    progress: Progress | None,
) -> Rules:
    """The stop rules, checked."""
    if not isinstance(max_iter, int) or max_iter < 1:
        raise ParameterError("max_iter must be a whole number from 1", got=repr(max_iter))
    if not tol >= 0:
        raise ParameterError("tol must not be negative", got=repr(tol))
    return Rules(max_iter, tol, measure, measure == "objective", checkpoint, progress)


def iterate(
    start: Callable[[], State],
    advance: Callable[[State], Round],
    rules: Rules,
    schema: Callable[[], Schema],
) -> tuple[State, History]:
    """Repeat ``advance`` from ``start()``, or from the checkpoint, until a stop rule holds.

    Parameters
    ----------
    start, advance : the first state, and a round.
    rules : when to stop, and where rounds are kept.
    schema : what every array of a state must be: a checkpoint is a file, and may have been changed.
    """
    resumes = rules.checkpoint is not None and rules.checkpoint.resume
    kept = rules.checkpoint.load(schema()) if rules.checkpoint and resumes else None
    state, steps = kept if kept else (start(), ())
    history = History(steps, "max_iter", rules.measure)
    rose = False
    while not _settled(history, rules.tol) and len(history) < rules.max_iter:
        began = time.perf_counter()
        outcome = advance(state)
        state = outcome.state
        step = Step(
            len(history) + 1, float(outcome.objective), outcome.parts, outcome.change,
            outcome.confident, time.perf_counter() - began,
        )  # fmt: skip
        history = replace(history, steps=(*history.steps, step))
        log.info("round %d: %s %.6g", step.iteration, rules.measure, step.objective)
        rose |= _went_wrong(history, rules)
        if rules.checkpoint:
            rules.checkpoint.save(state, history)
        if rules.progress:
            rules.progress(step)
    if _settled(history, rules.tol):
        history = replace(history, stop_reason="converged")
    else:
        warnings.warn(
            f"stopped at max_iter={rules.max_iter} before convergence; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )
    if rose:
        log.info("the objective did not move one way in every round; see the history")
    return state, history


def _settled(history: History, tol: float) -> bool:
    change = history.steps[-1].change if history.steps else None
    if change is not None and change <= tol:
        return True
    if len(history) < 2:
        return False
    before, now = history.objective[-2:]
    return bool(abs(now - before) <= tol * max(abs(before), 1e-12))


def _went_wrong(history: History, rules: Rules) -> bool:
    if len(history) < 2:
        return False
    before, now = history.objective[-2:]
    drift = now - before if rules.falls else before - now
    return drift > 1e-9 * abs(before)


def fingerprint(method: str, parameters: dict[str, object], digest: str) -> str:
    """Text that is equal for runs that would give the same answer: version, method, settings, input."""
    return json.dumps([__version__, method, parameters, digest], sort_keys=True, default=str)


def scalar(value: float) -> np.ndarray:
    """A number as an array, for a state."""
    return np.array([value], np.float64)
