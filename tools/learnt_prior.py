"""BSC-seq with a prior learnt from the population of annotators, beside its constants: a trial that failed.

    python tools/learnt_prior.py --data-dir DIR [--sets ner,pico,essays,bambara,ncbi-disease]

Every third round the prior becomes what all annotators together do after each tag of their own and at each
true tag, backed off to the constant prior by 2, 20 or 100 observations, with a strength for each such row by
Minka's fixed point (as Accord's confusion matrices have it). F1 on the parts that may be tuned on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from accord_sets import SETS, load_set

import seqtruth as st
from seqtruth.data.labelling import Labelling
from seqtruth.engine import MemoryParts
from seqtruth.methods.accord.annotators import strength_of
from seqtruth.methods.bayes.bsc import BSCSeq
from seqtruth.methods.bayes.sequence_model import CrowdHMM, majority
from seqtruth.methods.loop import State
from seqtruth.methods.task import Task

ROUNDS, LEARNT_UNTIL = 60, 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", default="ner,pico,essays,bambara,ncbi-disease")
    options = parser.parse_args()
    for name in options.sets.split(","):
        crowd, gold, parts = load_set(name, options.data_dir)
        task = Task(MemoryParts(crowd), None)
        scores = []
        for backed_off in (None, 2.0, 20.0, 100.0):
            tags = _fit(BSCSeq().model(task), task, backed_off)
            found = Labelling(crowd.corpus, crowd.scheme, tags)
            f1 = st.evaluate(found, gold, sentences=parts[SETS[name][1]]).f1
            scores.append(f"{'constants' if backed_off is None else backed_off} {100 * f1:.1f}")
        print(f"{name}: {', '.join(scores)}", flush=True)


def _fit(model: CrowdHMM, task: Task, backed_off: float | None) -> np.ndarray:
    constant = np.array(model.prior["confusion"][0])
    state = model.start(majority(task))
    for number in range(ROUNDS):
        if backed_off is not None and number % 3 == 0 and 3 <= number < LEARNT_UNTIL:
            state = _learn_prior(model, state, constant, backed_off)
        state = model.advance(state).state
    return model.decode(state)


def _learn_prior(model: CrowdHMM, state: State, constant: np.ndarray, backed_off: float) -> State:
    counts = np.maximum(state["confusion"] - model.prior["confusion"], 0.0)
    usual = constant / constant.sum(axis=-1, keepdims=True)
    mean = np.maximum(counts.sum(axis=0) + backed_off * usual, 1e-9)
    mean /= mean.sum(axis=-1, keepdims=True)
    rows = mean.reshape(-1, mean.shape[-1])
    strength = strength_of(counts.reshape(len(counts), *rows.shape), rows)
    prior = mean * strength.reshape(*mean.shape[:-1], 1)
    model.__dict__["prior"] = {
        **model.prior,
        "confusion": np.broadcast_to(prior, counts.shape),
    }
    return {**state, "confusion": counts + prior}


if __name__ == "__main__":
    main()
