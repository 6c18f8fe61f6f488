"""Small simulated crowds that a network can learn from in seconds."""

from __future__ import annotations

import numpy as np

from seqtruth.data.crowd import Crowd

PEOPLE, PLACES = ["Ann", "Bob", "Eve", "Kim"], ["Ames", "Oslo", "Rome"]
REST = ["ran", "saw", "in", "near", "the", "old", "dog", "."]


def simulated(n_sentences: int, careful: int, random: int, seed: int) -> tuple[Crowd, np.ndarray]:
    """Careful annotators (5 % slips) first, then random ones; and the true tags."""
    rng = np.random.default_rng(seed)
    tokens, truth = [], []
    for _ in range(n_sentences):
        kinds = rng.choice(3, rng.integers(2, 7), p=[0.6, 0.2, 0.2])
        tokens.append([str(rng.choice((REST, PEOPLE, PLACES)[k])) for k in kinds])
        truth.append([("O", "B-PER", "B-LOC")[k] for k in kinds])

    def noisy(sentence: list[str], slips: float) -> list[str]:
        labels = ("O", "B-PER", "B-LOC")
        return [str(rng.choice(labels)) if rng.random() < slips else tag for tag in sentence]

    said = {
        f"{kind}{n}": [noisy(sentence, slips) if rng.random() < 0.7 else None for sentence in truth]
        for kind, count, slips in (("careful", careful, 0.05), ("random", random, 1.0))
        for n in range(count)
    }
    crowd = Crowd.of(said, tokens, "iob2")
    flat = [crowd.scheme.index(tag) for sentence in truth for tag in sentence]
    return crowd, np.array(flat, np.int8)
