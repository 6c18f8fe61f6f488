"""The default on next to nothing: a few sentences of the demo corpus, simulated annotators, beside the vote.

    python tools/accord_small.py [--seeds 8] [--predictor crf]

Prints, for each cast and number of sentences, F1 of Accord minus F1 of the majority vote: mean and worst.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import seqtruth as st

CASTS = ("careful:3", "careful,sloppy:2", "sloppy:4", "careful,sloppy", "misser:3")
SENTENCES = (2, 5, 10, 20, 40, 80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--predictor", default="crf")
    options = parser.parse_args()
    gold = st.datasets.load("demo").gold
    method = f"accord:predictor={options.predictor}"
    print("| annotators | " + " | ".join(f"{n} sentences" for n in SENTENCES) + " |")
    print("| --- |" + " --- |" * len(SENTENCES))
    for cast in CASTS:
        cells = []
        for n in SENTENCES:
            gains = []
            for seed in range(options.seeds):
                order = np.random.default_rng(seed).permutation(gold.n_sentences)
                some = gold[np.sort(order[:n])]
                crowd = st.simulate(some, cast, seed=seed)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = [st.aggregate(crowd, m).evaluate(some).f1 for m in (method, "mv")]
                gains.append(100 * (found[0] - found[1]))
            cells.append(f"{np.mean(gains):+.1f} ({min(gains):+.1f})")
        print(f"| {cast} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
