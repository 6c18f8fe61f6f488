"""What ``O`` means where nothing tells: both readings are tried.

Where hardly a token is labelled by three, nobody can say how often a claim is right that only one makes
(:mod:`seqtruth.methods.abstention`). If it is taken to be, annotators look like people who miss much; if
their ``O`` is a vote, lone claims look like inventions. Each reading leads to labels that confirm it. But an
annotator who was left out would not have given both: of workers who find a third of the names and seldom
invent one, the first foretells the others' marks better; of workers who invent half of what they mark, the
second.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from seqtruth.methods.accord.first_state import first_state
from seqtruth.methods.accord.options import sequential_weight
from seqtruth.methods.accord.run import Run
from seqtruth.methods.loop import Round, State
from seqtruth.methods.task import Task

if TYPE_CHECKING:
    from seqtruth.methods.accord.accord import Accord

log = logging.getLogger("seqtruth")


class Reading:
    """A run, and the rounds of it that are done already.

    Parameters
    ----------
    run : under one reading.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.first: State | None = None
        self.rounds: list[Round] = []

    def begin(self) -> State:
        return first_state(self.run) if self.first is None else self.first

    def advance(self, state: State) -> Round:
        number = int(state["round"][0])
        return self.rounds[number] if number < len(self.rounds) else self.run.advance(state)

    def try_out(self, rounds: int) -> float:
        """Do the rounds; the best leave-one-out F1 after them, of options that know nothing of sequences.

        How annotators' labels follow each other can be learnt under a wrong reading, too.
        """
        self.first = state = self.begin()
        for _ in range(rounds):
            self.rounds.append(self.run.advance(state))
            state = self.rounds[-1].state
        scores = self.run.chosen(state)[2].items()
        return max((f1 for name, f1 in scores if sequential_weight(name) == 0.0), default=0.0)


def well_read(method: Accord, task: Task) -> Reading:
    """The reading that left-out annotators prefer, tried with one predictor."""
    run = Run(method, task)
    if not run.in_doubt:
        return Reading(run)
    log.info("nobody can tell silence from a vote: trying both")
    quick = replace(method, predictor=run.members[0])
    tried = {votes: Reading(Run(quick, task, votes=votes)) for votes in (False, True)}
    f1 = {votes: reading.try_out(method.max_iter) for votes, reading in tried.items()}
    votes = f1[True] > f1[False]
    found = tried[votes] if len(run.members) == 1 else Reading(Run(method, task, votes=votes))
    found.run.readings = {"silence": f1[False], "votes": f1[True]}
    return found
