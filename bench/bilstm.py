"""The network of the default method as it was and as it is: CPU seconds to train it, and F1, in one run.

    python -m bench.bilstm --seeds 2     # needs torch and the NER data

Each learns the posterior of BSC-seq on 3,000 sentences with labels of the crowd, none of them in
``nguyen_val``, and is judged by the gold of ``nguyen_val``, on which the new settings were chosen.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np

from bench.child import limit_threads
from seqtruth.predictors.choice import FAST

SETTINGS: dict[str, dict[str, Any]] = {
    "before": {"batch_size": 16, "learning_rate": 0.005, "epochs": 8},
    "now": FAST,
}
SENTENCES = 3000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    limit_threads(1)
    warnings.simplefilter("ignore")
    import seqtruth as st
    from seqtruth.data.ragged import gather
    from seqtruth.predictors import BiLSTM

    data = st.datasets.load("ner")
    crowd, ask = data.crowd, np.flatnonzero(data.splits["nguyen_val"])
    soft = st.BSCSeq().fit(crowd).probabilities
    learn = np.setdiff1d(np.flatnonzero(crowd.covered), ask)
    learn = np.sort(np.random.default_rng(0).permutation(learn)[:SENTENCES])
    at = gather(crowd.corpus.token_offsets, learn)[1]
    for seed in range(args.seeds):
        for name, settings in SETTINGS.items():
            began = time.process_time()
            model = BiLSTM(seed=seed, **settings)
            model.fit(crowd.corpus[learn], soft[at], scheme=crowd.scheme)
            cpu = time.process_time() - began
            found = st.Tagger(model, crowd.scheme).label(crowd.corpus[ask])
            f1 = 100 * st.evaluate(found, data.gold[ask]).f1
            row = {"settings": name, "seed": seed, "cpu_seconds": round(cpu, 1), "f1": round(f1, 2)}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
