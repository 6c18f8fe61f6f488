"""The default on crowds that nobody thought of: drawn at random, beside five other methods.

    python tools/accord_random.py [--data-dir DIR] [--first 0] [--number 40] [--worst 10]

Each number draws a text (the demo's; with ``--data-dir`` also the tuning parts of the real sets), a few
hundred of its sentences, and who labels them: people of any vices and rates, rules of one type, or both, each
sentence by some of them. Prints a line a crowd, and at the end how far Accord is from the best of the others,
chosen with gold, and from the vote.
"""

from __future__ import annotations

import argparse
import warnings
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from accord_sets import SETS, load_set

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.io.join import join_crowds
from seqtruth.simulation import simulate_rules

OTHERS = ("mv", "ds", "hmm-crowd", "bsc-cm", "bsc-seq")
DEFAULT = "accord:predictor=crf"
VICES = ("careful", "careful", "sloppy", "sloppy", "misser", "boundary", "confuser", "inventor")
#: Sentences of each set are drawn between these two.
FEWEST, MOST = 60, 600


class Row(NamedTuple):
    """A crowd in words, and strict span F1 of each method, in per cent."""

    words: str
    f1: dict[str, float]

    @property
    def regret(self) -> float:
        return max(self.f1[name] for name in OTHERS) - self.f1[DEFAULT]

    @property
    def below_vote(self) -> float:
        return self.f1["mv"] - self.f1[DEFAULT]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--number", type=int, default=40)
    parser.add_argument("--worst", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for seed in range(options.first, options.first + options.number):
        words, crowd, gold = draw(seed, options.data_dir)
        f1 = {
            name: 100 * st.aggregate(crowd, name).evaluate(gold).f1 for name in (*OTHERS, DEFAULT)
        }
        rows.append(Row(words, f1))
        print(f"{seed}: {line(rows[-1])}", flush=True)
    print("\nworst:")
    for row in sorted(rows, key=lambda row: -row.regret)[: options.worst]:
        print(line(row))
    means = ", ".join(
        f"{name} {np.mean([row.f1[name] for row in rows]):.1f}" for name in rows[0].f1
    )
    regrets, lost = (
        np.array([getattr(row, of) for row in rows]) for of in ("regret", "below_vote")
    )
    print(
        f"\nmeans: {means}; within half a point of the best other in {(regrets <= 0.5).sum()} of"
        f" {len(rows)}, "
        f"below the vote by more than half a point in {(lost > 0.5).sum()} (by {lost.max():.1f} at most)"
    )


def line(row: Row) -> str:
    scores = " ".join(f"{name.partition(':')[0]} {value:.1f}" for name, value in row.f1.items())
    return f"{row.regret:+.1f} {row.words} | {scores}"


def draw(seed: int, folder: Path | None) -> tuple[str, Crowd, Crowd]:
    """A crowd in words, the crowd, and its gold."""
    rng = np.random.default_rng([seed, 2026])
    text = str(rng.choice(["demo", *SETS])) if folder is not None else "demo"
    gold = truth(text, folder)
    least = min(FEWEST, gold.n_sentences)
    size = int(np.exp(rng.uniform(np.log(least), np.log(min(MOST, gold.n_sentences) + 1))))
    gold = gold[np.sort(rng.permutation(gold.n_sentences)[:size])]
    kind = rng.choice(["people", "people", "people", "rules", "both"])
    words, parts = f"{text}, {size} sentences", []
    if kind != "people":
        per_type = int(rng.integers(1, 6))
        recall, precision = sorted(rng.uniform(0.2, 0.95, 2)), sorted(rng.uniform(0.5, 1.0, 2))
        ends = tuple(map(float, recall)), tuple(map(float, precision))
        parts.append(simulate_rules(gold, per_type, seed=seed, recall=ends[0], precision=ends[1]))
        words += f"; {per_type} rules a type, recall {ends[0][0]:.2f}-{ends[0][1]:.2f}"
        words += f", precision {ends[1][0]:.2f}-{ends[1][1]:.2f}"
    if kind != "rules":
        recipe, number = _people(rng)
        every = int(rng.integers(1, number + 1)) if rng.random() < 0.5 else None
        parts.append(st.simulate(gold, recipe, seed=seed, per_sentence=every))
        words += f"; {recipe}" + (f", {every} a sentence" if every else "")
    crowd = join_crowds(parts) if len(parts) > 1 else parts[0]
    return words, crowd.recode(gold.scheme), gold


@lru_cache
def truth(text: str, folder: Path | None) -> Crowd:
    """Gold of a text, where it may be tuned on."""
    if text == "demo" or folder is None:
        return st.datasets.load("demo").gold
    _, gold, parts = load_set(text, folder)
    return gold[np.flatnonzero(next(iter(parts.values())))]


def _people(rng: np.random.Generator) -> tuple[str, int]:
    """A recipe for people of drawn vices, each with rates of their own, and how many they are."""
    number = int(rng.integers(2, 11))
    people = []
    for vice in rng.choice(VICES, number).tolist():
        miss, boundary, confuse = rng.beta(1, 4, 3)
        people.append(f"{vice}/miss={miss:.2f}/boundary={boundary:.2f}/confuse={confuse:.2f}")
    if number > 3 and rng.random() < 0.3:
        people[-1] = "spammer"
    if number > 3 and rng.random() < 0.2:
        people[-2] = "copier"
    return ",".join(people), number


if __name__ == "__main__":
    main()
