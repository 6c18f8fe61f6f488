"""The leak, measured: AggSLC with taggers that have, and have not, seen the gold it is scored against.

The authors' public code has no training step: it loads a ready tagger. Here the tagger is made ready on
purpose (:mod:`~seqtruth.paper.ready`), and AggSLC only asks it. **These runs use gold.** They stand on a
page of their own and in no table of results.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.labelling import Labelling
from seqtruth.methods import Aggregator, AggSLC
from seqtruth.metrics import evaluate
from seqtruth.paper import systems
from seqtruth.paper.grid import Section
from seqtruth.paper.leak_page import TEACHER_WORDS, leak_section
from seqtruth.paper.material import TITLES, Material
from seqtruth.paper.page import write_lone_page
from seqtruth.paper.ready import KINDS, SHARES, Ready, TaggerAlone, tagger, teach
from seqtruth.paper.runs import Job, Run
from seqtruth.paper.systems import PAPER_SETTINGS, System
from seqtruth.paper.workshop import Workshop

NAME = "leak"
#: What the paper's figures are scored on, as far as anybody knows.
SCORED = {"ner": "aggslc_3466", "pico": "all", "synthetic": "nguyen_test"}
TEACHERS = ("same", *SHARES, "crowd")
SETTINGS = {
    "paper": PAPER_SETTINGS,
    "unweighted": PAPER_SETTINGS.replace("class_weights=inverse", "class_weights=none"),
    "ours": "",
    "votes": "abstain=none",
}
MODULES = {"whole": "", "without L_inc": "decoding=none"}
ABOUT = """\
**The runs on this page use gold labels. They are no results of ours.** They ask what has to have been seen
for the paper's figures to come out: AggSLC in the paper's settings and in ours asks a tagger that is ready
before the first round, as the authors' public code does, taught by (a) the gold of the very sentences that
are scored, (b) gold of other text (CoNLL's testa and testb; for PICO the other half of the abstracts), or a
part of that, (c) the crowd's majority vote. The transformer is all-MiniLM-L6-v2 (22 million parameters),
two passes over the text. For the paper's synthetic annotators (Table 3, which prints the whole AggSLC only)
also with every O of theirs as a vote.
"""


class Case(NamedTuple):
    """One run: who taught which tagger, and how AggSLC was set (``"alone"``: the tagger's own labels)."""

    teacher: str
    kind: str
    settings: str
    modules: str

    @property
    def spec(self) -> str:
        return f"{NAME}:" + ":".join(self)


def kinds(quick: bool, data: str) -> list[str]:
    """Taggers that are taught; one is enough for the stand-ins of Table 3's annotators."""
    return ["crf"] if quick or data == "synthetic" else list(KINDS)


def cases(quick: bool, data: str) -> list[Case]:
    """Silence is worth a question of its own only where the annotators are programs."""
    found = []
    for kind in kinds(quick, data):
        for teacher in TEACHERS:
            partial = SHARES.get(teacher, 1.0) < 1
            if partial and (kind != "crf" or data == "synthetic"):
                continue
            asked = ["ours"] if partial else list(SETTINGS)
            if data != "synthetic":
                asked = [one for one in asked if one != "votes"]
            found += [Case(teacher, kind, one, modules) for one in asked for modules in MODULES]
            found.append(Case(teacher, kind, "alone", "tagger alone"))
    return found


def _workshop(work: Workshop, data: str) -> Workshop:
    """One whose words are the cases'; taggers are made ready once."""

    @cache
    def ready(teacher: str, kind: str, seed: int) -> Ready:
        settings = repr(tagger(kind, seed))
        return Ready(
            kind, teacher, seed, settings,
            lambda: teach(_taught_on(work, data), teacher, kind, seed),
        )  # fmt: skip

    def make(spec: str, seed: int) -> Aggregator:
        if not spec.startswith(NAME + ":"):
            return work.make(spec, seed)
        case = Case(*spec.split(":")[1:])
        chosen = ready(case.teacher, case.kind, seed)
        if case.settings == "alone":
            return TaggerAlone(predictor=chosen, seed=seed, abstain="none")
        settings = ";".join(x for x in (SETTINGS[case.settings], MODULES[case.modules]) if x)
        method = work.make(f"aggslc:{settings}" if settings else "aggslc", seed)
        assert isinstance(method, AggSLC)
        return replace(method, predictor=chosen)

    return replace(work, make=make)


def _taught_on(work: Workshop, data: str) -> Material:
    """The material; the automatic annotators' text is CoNLL's, and so is the other text with gold."""
    material = work.material(data)
    if data != "synthetic":
        return material
    return replace(material, held_out=work.material("ner").held_out)


def _without_tagger() -> list[tuple[Case, System]]:
    """AggSLC without L_pred, in our settings and the paper's."""
    printed = replace(systems.ALONE, spec=f"{systems.ALONE.spec};{PAPER_SETTINGS}")
    return [
        (Case("none", "none", "ours", "without L_pred"), systems.ALONE),
        (Case("none", "none", "paper", "without L_pred"), printed),
    ]


def reproduce_leak(work: Workshop) -> tuple[list[Path], Section]:
    """Make what is missing and write the page; returns its files and the section."""
    rows: list[dict[str, Any]] = []
    for data in SCORED:
        shop = replace(_workshop(work, data), missing={}, failed={})
        asked = [System(str(case), case.spec, seconds=20) for case in cases(work.quick, data)]
        shop.do(shop.jobs([*asked, *(system for _, system in _without_tagger())], data))
        rows += _rows(shop, data)
        work.missing |= _by_tagger(shop.missing, data)
        work.failed |= shop.failed
    section = leak_section(NAME, rows)
    return write_lone_page(work, section, ABOUT), section


def _by_tagger(missing: dict[str, str], data: str) -> dict[str, str]:
    """Why runs are missing, told once for each tagger they ask."""
    found = {}
    for spec, why in missing.items():
        case = Case(*spec.split(":")[1:]) if spec.startswith(NAME + ":") else None
        who = spec if case is None else f"{case.kind}, {TEACHER_WORDS[case.teacher]}"
        found[f"{TITLES[data]}: {who}"] = why
    return found


def _rows(work: Workshop, data: str) -> list[dict[str, Any]]:
    material = work.material(data)
    split = SCORED[data] if SCORED[data] in material.data.splits else material.splits[0]
    found = []
    everything = [(case, case.spec) for case in cases(work.quick, data)]
    everything += [(case, system.spec) for case, system in _without_tagger()]
    for case, spec in everything:
        jobs = (Job(data, spec, seed) for seed in range(work.seeds))
        runs = [work.done[job] for job in jobs if job in work.done]
        if runs:
            mean = np.mean([_scores(run, material, split) for run in runs], axis=0)
            found.append(
                {"data": data, "split": split, **case._asdict(), "precision": mean[0],
                 "recall": mean[1], "f1": mean[2], "seeds": len(runs), "heard": _heard(runs),
                 **_elsewhere(case.teacher, runs, material)}
            )  # fmt: skip
    return found


def _scores(run: Run, material: Material, split: str) -> tuple[float, float, float]:
    sentences = material.data.splits[split]
    span = evaluate(run.labelling(material.crowd), material.data.gold, sentences=sentences).span
    return 100 * span.precision, 100 * span.recall, 100 * span.f1


def _heard(runs: list[Run]) -> int:
    """In how many runs the tagger has a weight in the last round."""
    last = [run.history.steps[-1].parts for run in runs if run.history.steps]
    return sum(parts.get("L_pred", 0.0) > 0 for parts in last)


def _elsewhere(teacher: str, runs: list[Run], material: Material) -> dict[str, float | None]:
    """The tagger's own F1 on CoNLL's two parts, where it has not learnt from them."""
    found: dict[str, float | None] = {"testa": None, "testb": None}
    for name in () if teacher in SHARES else tuple(found):
        if name in material.held_out and all(name in run.held_out for run in runs):
            gold = material.held_out[name].gold
            said = [Labelling(gold.corpus, run.scheme, run.held_out[name]) for run in runs]
            found[name] = 100 * float(np.mean([evaluate(one, gold).span.f1 for one in said]))
    return found
