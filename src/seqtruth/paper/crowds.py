"""Simulated crowds of every kind, on the demo's text, which is built in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.datasets import Dataset, demo
from seqtruth.io.join import join_crowds
from seqtruth.simulation import simulate, simulate_rules

BAD = "sloppy/miss=0.6/confuse=0.3/boundary=0.3"


def _gold() -> Crowd:
    return demo.load().gold


def _copied() -> Crowd:
    """Four careful people, a bad one, and four exact copies of the bad one."""
    crowd = simulate(_gold(), f"careful:4,{BAD}")
    bad = crowd.labelling(crowd.annotators.index("sloppy"))
    return join_crowds([crowd, *(bad.as_crowd(f"copy-{n}") for n in range(1, 5))])


def _six_rules() -> Crowd:
    rules = simulate_rules(_gold(), 2)
    six = [name for name in rules.annotators if not name.startswith("MISC")]
    return rules.select_annotators(six)


def _mixed() -> Crowd:
    people = simulate(_gold(), "careful,sloppy:2", per_sentence=2)
    return join_crowds([simulate_rules(_gold(), 2), people])


#: What each is, and how it is made.
SIMULATED: dict[str, tuple[str, Callable[[], Crowd]]] = {
    "sim-demo": ("the demo's ten annotators, five a sentence", lambda: demo.load().crowd),
    "sim-honest": ("5 careful people", lambda: simulate(_gold(), "careful:5")),
    "sim-one-label": (
        "3 careful people, one label a sentence",
        lambda: simulate(_gold(), "careful:3", per_sentence=1),
    ),
    "sim-two-people": ("a careful and a sloppy person", lambda: simulate(_gold(), "careful,sloppy")),
    "sim-copies": ("4 careful people, 5 copies of a bad one", _copied),
    "sim-spammers": (
        "2 careful people, 3 spammers, 2 who miss much",
        lambda: simulate(_gold(), "careful:2,spammer:3,misser:2"),
    ),
    "sim-missers": ("5 people who miss much", lambda: simulate(_gold(), "misser:5")),
    "sim-six-rules": ("6 rules of one type each", _six_rules),
    "sim-rules": ("16 rules of one type each", lambda: simulate_rules(_gold(), 4)),
    "sim-mixed": ("8 rules of one type each and 3 people, two a sentence", _mixed),
}  # fmt: skip


def load(name: str) -> Dataset:
    """A simulated crowd by name; its only split is ``all``."""
    gold = _gold()
    crowd = SIMULATED[name][1]().recode(gold.scheme)
    return Dataset(name, crowd, gold, {"all": np.ones(gold.n_sentences, np.bool_)})
