"""Simulated crowds of every kind, on the demo's text, which is built in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.spans import extract
from seqtruth.datasets import Dataset, demo
from seqtruth.io.join import join_crowds
from seqtruth.kernels.arrays import Bool
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


def _with_a_habit() -> Crowd:
    """Five careful people, the last two of whom mark the word before every name, too."""
    crowd = simulate(_gold(), "careful:5")
    tags, offsets, scheme = crowd.tags.copy(), crowd.row_offsets, crowd.scheme
    found = extract(tags, offsets, scheme)
    for row, start, kind in zip(found.sequence, found.start, found.type, strict=True):
        first = offsets[row] + start
        if crowd.row_annotator[row] >= 3 and start > 0 and tags[first - 1] == scheme.outside:
            tags[first - 1] = scheme.index(f"B-{scheme.types[kind]}")
            tags[first] = scheme.index(f"I-{scheme.types[kind]}")
    return replace(crowd, tags=tags)


def _rows(crowd: Crowd, kept: Bool) -> Crowd:
    """Some rows of a crowd."""
    rows = np.flatnonzero(kept)
    at = gather(crowd.row_offsets, rows)[1]
    return Crowd(
        crowd.corpus, crowd.scheme, crowd.annotators, crowd.row_sentence[rows],
        crowd.row_annotator[rows], crowd.tags[at],
    )  # fmt: skip


def _uneven() -> Crowd:
    crowd = simulate(_gold(), "sloppy,boundary:3")
    few = np.random.default_rng(0).random(crowd.n_rows) < 0.05
    return _rows(crowd, (crowd.row_annotator == 0) | few)


def _tenth() -> Crowd:
    crowd = simulate(_gold(), "careful,sloppy")
    draw = np.random.default_rng(0).random(crowd.n_sentences)[crowd.row_sentence]
    return _rows(crowd, (draw < 0.1) | ((draw < 0.55) == (crowd.row_annotator == 0)))


def _batches() -> Crowd:
    crowd = simulate(_gold(), "careful:2,sloppy:2,misser,boundary")
    first = crowd.row_sentence < crowd.n_sentences // 2
    return _rows(crowd, first == np.isin(crowd.row_annotator, [0, 2, 4]))


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
    "sim-spam-pair": ("a careful person and a spammer", lambda: simulate(_gold(), "careful,spammer")),
    "sim-missers-7": ("7 people who miss most", lambda: simulate(_gold(), "misser:7/miss=0.7")),
    "sim-habit": ("5 careful people, two of whom always mark the word before", _with_a_habit),
    "sim-uneven": ("a sloppy person did everything, three others a twentieth", _uneven),
    "sim-tenth": ("a careful and a sloppy person who share a tenth of the text", _tenth),
    "sim-batches": ("6 people, three on each half of the text", _batches),
}  # fmt: skip


def load(name: str) -> Dataset:
    """A simulated crowd by name; its only split is ``all``."""
    gold = _gold()
    crowd = SIMULATED[name][1]().recode(gold.scheme)
    return Dataset(name, crowd, gold, {"all": np.ones(gold.n_sentences, np.bool_)})
