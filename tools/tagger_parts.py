"""Taggers that Accord trains on one part of a set, tried on another: what the threshold they found is worth.

    python tools/tagger_parts.py --data-dir DIR [--sets essays,bambara] [--seed 0]

Learnt from the part that is only reported, judged on the one that may be tuned on (``accord_sets.py``).
Prints strict span F1 of the likeliest path and of the spans worth naming, and the threshold that was found.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from accord_sets import SETS, load_set

import seqtruth as st
from seqtruth.methods import make_method


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--method", default="accord:predictor=crf")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| learnt from | judged on | path | **worth naming** | threshold |")
    print("| --- | --- | --- | --- | --- |")
    for name in options.sets.split(","):
        crowd, gold, parts = load_set(name, options.data_dir)
        _, tuned, (reported, *_) = SETS[name]
        learnt, judged = (np.flatnonzero(parts[part]) for part in (reported, tuned))
        tagger = make_method(options.method, seed=options.seed).fit(crowd[learnt]).tagger
        assert tagger is not None
        path, worth = (
            100 * st.evaluate(one.label(crowd.corpus[judged]), gold[judged]).f1
            for one in (replace(tagger, threshold=None), tagger)
        )
        row = (
            f"{name}, {reported}",
            tuned,
            f"{path:.1f}",
            f"**{worth:.1f}**",
            f"{tagger.threshold:.2f}",
        )
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
