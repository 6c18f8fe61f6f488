"""Two settings of Accord on every kind of crowd: labels by each value, and what left-out annotators say.

    python tools/accord_constants.py evidence --data-dir DIR [--crowds ner,pico-49docs/2,careful:2;sloppy:3]
    python tools/accord_constants.py prior --data-dir DIR

``evidence``: how much annotators count beside a predictor (the CRF; the taggers are those of the usual run);
``prior``: how strong the prior of the sequential model is, without a predictor. Crowds are sets of
``accord_sets.py``, draws of ``accord_subsets.py`` (``pico-3each/1``), ``pico-everything`` (all abstracts, for
``prior``), or people simulated on the demo (``sloppy:10@3``: three a sentence). Cells are F1 on the part that
may be tuned on and, behind it, the F1 of left-out annotators.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from accord_sets import SETS, load_set
from accord_subsets import CASES, only

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.methods.accord.opinions import Model, Opinion
from seqtruth.methods.accord.options import HEARD, UNCHAINED, mixed, models_of, without_sources
from seqtruth.methods.accord.readings import well_read
from seqtruth.methods.accord.run import Run
from seqtruth.methods.accord.sequences import learn_sequences, learn_with
from seqtruth.methods.accord.state import heard_in
from seqtruth.methods.task import Task

EVIDENCE = (0.25, 0.35, 0.5, 0.7, 1.0)
PRIOR = (0.1, 10**-0.5, 1.0, 10**0.5, 10.0, 10**1.5)
REAL = (
    "ner,pico,bambara,conll-rules,ner-3each/0,ner-40docs/0,ner-10docs/1,pico-3each/1,pico-49docs/0,pico-49docs/2,"
    "bambara-3models/0,conll-300/1"
)
MADE = "careful:2;sloppy:3,misser:5,careful:3;sloppy:4;misser:2;spammer@5,sloppy:10@3"

#: Says of labels by an option how good they are.
Told = Callable[[Run, str, Opinion], str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("evidence", "prior"))
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--crowds", default=f"{REAL},{MADE}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    values = EVIDENCE if options.what == "evidence" else PRIOR
    print(f"| crowd | {'chosen' if options.what == 'evidence' else 'found'} |", end="")
    print(" | ".join(f" {value:.3g}" for value in values), "|")
    print("| --- " * (len(values) + 2) + "|")
    for name in options.crowds.split(","):
        crowd, gold, mask = _labelled(name, options.data_dir)

        def told(run: Run, option: str, opinion: Opinion, gold=gold, mask=mask) -> str:
            labels = Labelling(run.crowd.corpus, run.crowd.scheme, run.labels(option, opinion).tags)
            f1 = st.evaluate(labels, gold, sentences=mask).f1
            return f"{100 * f1:.1f} ({100 * run.judge.f1(opinion):.1f})"

        cells = (_evidence if options.what == "evidence" else _prior)(crowd, told)
        print("|", " | ".join([f"`{name}`", *cells]), "|", flush=True)


def _labelled(name: str, folder: Path) -> tuple[Crowd, Crowd, np.ndarray | None]:
    """A crowd, its gold, and the sentences that may be looked at (None: all)."""
    if name == "pico-everything":
        data = st.datasets.load("pico", data_dir=folder, unlabelled=True)
        return data.crowd, data.gold, data.splits["even"]
    if name in SETS:
        crowd, gold, parts = load_set(name, folder)
        return crowd, gold, parts[SETS[name][1]]
    case, _, draw = name.partition("/")
    if case in CASES:
        place, draws = CASES[case]
        crowd, gold, parts = load_set(place, folder)
        both = only((crowd, gold), parts[SETS[place][1]])
        rng = np.random.default_rng(1000 + int(draw or 0))
        for some in draws:
            both = some(both, rng)
        return *both, None
    people, _, each = name.partition("@")
    gold = st.datasets.load("demo").gold
    how = {"per_sentence": int(each)} if each else {}
    return st.simulate(gold, people.replace(";", ","), **how), gold, None


def _evidence(crowd: Crowd, told: Told) -> list[str]:
    reading = well_read(st.Accord(predictor="crf"), Task(st.engine.MemoryParts(crowd)))
    run, state = reading.run, reading.begin()
    for _ in range(run.method.max_iter if run.hears else 1):
        state = reading.advance(state).state
    name = run.chosen(state)[0]
    if not name.endswith(HEARD) or not models_of(name):
        return [name, *["–"] * len(EVIDENCE)]
    said = heard_in(state, len(run.members))
    ending = name.removeprefix(without_sources(name))
    cells = []
    for share in EVIDENCE:
        found = {
            model + ending: run.sources.settle(
                Model(state[f"{model}/table"], state[f"{model}/chain"]), said, share, UNCHAINED not in name
            ).opinion
            for model in models_of(name)
        }  # fmt: skip
        cells.append(told(run, name, mixed(name, found)))
    return [name, *cells]


def _prior(crowd: Crowd, told: Told) -> list[str]:
    run = Run(st.Accord(predictor=None), Task(st.engine.MemoryParts(crowd)), sampled=False)
    if not run.judged:
        return ["–"] * (len(PRIOR) + 1)
    cells = []
    for strength in PRIOR:
        model, _ = learn_with(run, run.task, strength)
        cells.append(told(run, "sequential", run.sources.settle(model, [], 1.0).opinion))
    return [f"{learn_sequences(run).strength:.3g}", *cells]


if __name__ == "__main__":
    main()
