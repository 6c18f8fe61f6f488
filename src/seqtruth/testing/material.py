"""What checks work on, and how they complain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.datasets import demo
from seqtruth.errors import SeqTruthError
from seqtruth.io.join import join_crowds
from seqtruth.simulation import simulate, simulate_rules


class ConformanceError(SeqTruthError, AssertionError):
    """A method, predictor or format breaks a rule of the house."""


def small_crowd(seed: int = 0, kind: str = "iob2", n_sentences: int = 40) -> Crowd:
    """Sentences with names in telling places, labelled by five annotators of different quality.

    Parameters
    ----------
    seed : same seed, same crowd.
    kind : the label scheme.
    n_sentences : how many sentences.
    """
    rng = np.random.default_rng(seed)
    first, last = ["Ann", "Bob", "Eve", "Ida"], ["Lee", "Roe", "Kim"]
    places, verbs = ["Ames", "Oslo", "Brno"], ["saw", "left", "likes"]
    tokens, truth = [], []
    for _ in range(n_sentences):
        person = [rng.choice(first), rng.choice(last)][: rng.integers(1, 3)]
        words = [*person, rng.choice(verbs), rng.choice(places), "."]
        spans = [*["B-PER", "I-PER"][: len(person)], "O", "B-LOC", "O"]
        tokens.append([str(word) for word in words])
        truth.append(spans)
    votes: dict[str, list[list[str] | None]] = {}
    for number, error in enumerate((0.02, 0.05, 0.1, 0.25, 0.5)):
        rows: list[list[str] | None] = []
        for sentence in truth:
            if rng.random() < 0.2 and number:
                rows.append(None)
                continue
            row = list(sentence)
            if rng.random() < error:
                at = int(rng.integers(len(row)))
                row[at] = str(rng.choice(["O", "B-PER", "B-LOC", "B-ORG"]))
            rows.append(_legal(row))
        votes[f"w{number}"] = rows
    crowd = Crowd.of(votes, tokens, "iob2", [f"s{i}" for i in range(n_sentences)])
    return crowd if kind == "iob2" else crowd.respell(kind)


class Trial(NamedTuple):
    """A crowd, and what is true."""

    name: str
    crowd: Crowd
    gold: Crowd


def trials() -> tuple[Trial, ...]:
    """Crowds on which it is easy to do worse than a vote: six rules that each speak of one type and are
    silent else (drawn twice), one annotator for each sentence, and three who agree on everything."""
    gold = demo.load().gold[:160]
    rules, others = simulate_rules(gold, 2), simulate_rules(gold, 2, seed=1)
    six = [name for name in rules.annotators if not name.startswith("MISC")]
    one = simulate(gold, "careful:3", per_sentence=1)
    same = gold.labelling()
    return (
        Trial("six rules of one type each", rules.select_annotators(six), gold),
        Trial("six other rules of one type each", others.select_annotators(six), gold),
        Trial("one label a sentence", one, gold),
        Trial("unanimous annotators", join_crowds([same.as_crowd(who) for who in "abc"]), gold),
    )


def _legal(row: list[str]) -> list[str]:
    """The row with every stray I- made a B-."""
    for i, tag in enumerate(row):
        if tag.startswith("I-") and (i == 0 or row[i - 1][2:] != tag[2:]):
            row[i] = "B" + tag[1:]
    return row
