"""What a BiLSTM beside the CRF is worth where the default does without, below 2,000 sentences.

    python tools/accord_networks.py --data-dir DIR [--sets sim-two-people,bambara] [--seed 0]

Simulated crowds of ``docs/regimes.md``, and the first 1,000 sentences of the parts that may be tuned on.
Prints strict span F1 and seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from accord_sets import SETS, load_set

import seqtruth as st
from seqtruth.methods import Accord
from seqtruth.paper import crowds
from seqtruth.predictors import CRF, BiLSTM, Ensemble
from seqtruth.predictors.choice import FAST

DEFAULT = "sim-two-people,sim-one-label,sim-uneven,bambara,pico,conll-rules,ner"
MOST = 1000


def load(name: str, folder: Path) -> tuple[str, st.Crowd, st.Crowd]:
    """What it is, annotations and gold."""
    if name in crowds.SIMULATED:
        data = crowds.load(name)
        return name, data.crowd, data.gold
    crowd, gold, parts = load_set(name, folder)
    part = SETS[name][1]
    at = np.flatnonzero(parts[part])[:MOST]
    return f"{name}, {part}", crowd[at], gold[at]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", default=DEFAULT)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| crowd | sentences | CRF | s | CRF and BiLSTM | s |\n| --- | --: | --: | --: | --: | --: |"
    )
    for name in options.sets.split(","):
        title, crowd, gold = load(name, options.data_dir)
        cells = [title, str(crowd.n_sentences)]
        for predictor in (CRF(), Ensemble([CRF(), BiLSTM(**FAST)])):
            began = time.perf_counter()
            result = Accord(predictor=predictor, seed=options.seed).fit(crowd)
            f1 = 100 * st.evaluate(result, gold).f1
            cells += [f"{f1:.1f}", f"{time.perf_counter() - began:.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
