"""What checks work on, and how they complain."""

from __future__ import annotations

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.errors import SeqTruthError


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


def _legal(row: list[str]) -> list[str]:
    """The row with every stray I- made a B-."""
    for i, tag in enumerate(row):
        if tag.startswith("I-") and (i == 0 or row[i - 1][2:] != tag[2:]):
            row[i] = "B" + tag[1:]
    return row
