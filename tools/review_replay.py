"""What decisions at the review desk are worth, with gold as the reviewer: the figures of ``docs/review.md``.

    python tools/review_replay.py ner nguyen_test --seeds 3
    python tools/review_replay.py pico odd --seeds 3

``nguyen_val`` and PICO's even documents are for tuning. Every line is printed as soon as it is there.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import seqtruth as st
from seqtruth.errors import SeqTruthWarning
from seqtruth.review.learning import tried
from seqtruth.review.replay import STRATEGIES, Point, Replay, prepared


def main() -> None:
    """Fit once, replay each strategy with each seed, print a line a point."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("dataset", choices=["ner", "pico", "demo"])
    parser.add_argument("split")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("-n", type=int, default=100, help="decisions")
    parser.add_argument("--every", type=int, default=50, help="decisions between two fits")
    parser.add_argument("--update", action="store_true", help="update instead of fitting anew")
    parser.add_argument("--method", default="accord:predictor=crf")
    parser.add_argument(
        "--strategies", nargs="+", default=["ours", "worst", "random"], choices=STRATEGIES
    )
    given = parser.parse_args()
    warnings.simplefilter("ignore", SeqTruthWarning)
    data = st.datasets.load(given.dataset)
    result = st.aggregate(data.crowd, given.method)
    gold, has = prepared(result, data.gold)
    chosen = data.splits[given.split] & has
    print("strategy seed", *Point._fields, sep="\t")
    for strategy in given.strategies:
        for seed in range(given.seeds):
            replay = Replay(
                result, data.crowd, gold, chosen, strategy, given.every, seed,
                partial(tried, refit=not given.update),
            )  # fmt: skip
            for point in replay.run(given.n, 25):
                shown = (f"{value:.2f}" if isinstance(value, float) else value for value in point)
                print(f"{strategy} {seed}", *shown, sep="\t", flush=True)


if __name__ == "__main__":
    main()
