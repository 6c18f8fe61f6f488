"""What decisions at the review desk are worth, with gold as the reviewer: the figures of ``docs/review.md``.

    python tools/review_replay.py ner nguyen_test --seeds 3
    python tools/review_replay.py pico odd --seeds 3

``nguyen_val`` and PICO's even documents are for tuning. Every point is printed as soon as it is there, and at
the end a table: means over the seeds, of which each is a fit of its own.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import partial

import numpy as np

import seqtruth as st
from seqtruth.errors import SeqTruthWarning
from seqtruth.review.learning import tried
from seqtruth.review.replay import STRATEGIES, Point, Replay, prepared

LEARN = {"update": 25, "refit": 50, "never": 0}


def main() -> None:
    """Fit with each seed, replay each strategy, print a line a point and a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("dataset", choices=["ner", "pico", "demo"])
    parser.add_argument("split")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("-n", type=int, default=100, help="decisions")
    parser.add_argument("--every", type=int, help="decisions between two times of learning")
    parser.add_argument(
        "--learn", choices=LEARN, default="update", help="refit: an update or a refit"
    )
    parser.add_argument("--method", default="accord:predictor=crf")
    parser.add_argument(
        "--strategies", nargs="+", default=["ours", "worst", "random"], choices=STRATEGIES
    )
    given = parser.parse_args()
    warnings.simplefilter("ignore", SeqTruthWarning)
    data = st.datasets.load(given.dataset)
    every = LEARN[given.learn] if given.every is None else given.every
    learn = partial(tried, refit=given.learn == "refit")
    points: dict[str, list[list[Point]]] = {one: [] for one in given.strategies}
    print("strategy seed", *Point._fields, sep="\t")
    for seed in range(given.seeds):
        result = st.aggregate(data.crowd, given.method, seed=seed)
        gold, has = prepared(result, data.gold)
        chosen = data.splits[given.split] & has if given.dataset != "demo" else has
        for strategy in given.strategies:
            replay = Replay(result, data.crowd, gold, chosen, strategy, every, seed, learn)
            points[strategy].append([])
            for point in replay.run(given.n, 25):
                points[strategy][-1].append(point)
                shown = (f"{value:.2f}" if isinstance(value, float) else value for value in point)
                print(f"{strategy} {seed}", *shown, sep="\t", flush=True)
    _table(points)
    print(" ".join(["#", *sys.argv[1:]]))


def _table(points: dict[str, list[list[Point]]]) -> None:
    """F1 after each number of decisions, and of the rest at the end with what it gained."""
    runs = next(iter(points.values()))
    print("", *(f"{point.decisions} decisions" for point in runs[0]), "rest", "", sep=" | ")
    for strategy, of_seeds in points.items():
        f1 = np.array([[point.f1 for point in run] for run in of_seeds])
        rest = np.array([[run[-1].rest, run[-1].rest - run[-1].rest_before] for run in of_seeds])
        spread = f1.std(axis=0, ddof=1) if len(f1) > 1 else np.zeros(f1.shape[1])
        cells = [
            f"{mean:.1f} ± {away:.1f}" for mean, away in zip(f1.mean(axis=0), spread, strict=True)
        ]
        now, gain = rest.mean(axis=0)
        least, most = rest[:, 1].min(), rest[:, 1].max()
        last = f"{now:.1f} ({gain:+.1f}; {least:+.1f} to {most:+.1f})"
        print("", strategy, *cells, last, "", sep=" | ")


if __name__ == "__main__":
    main()
