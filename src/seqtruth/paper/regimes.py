"""Every method on every kind of crowd, and what the default loses against the best of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqtruth.datasets.other_sources import SETS
from seqtruth.errors import InputError
from seqtruth.metrics import evaluate, paired_bootstrap
from seqtruth.paper.crowds import SIMULATED
from seqtruth.paper.grid import Section
from seqtruth.paper.page import write_lone_page
from seqtruth.paper.runs import Job
from seqtruth.paper.significance import RESAMPLES
from seqtruth.paper.systems import System
from seqtruth.paper.tables import markdown
from seqtruth.paper.workshop import Workshop

NAME = "regimes"
DEFAULT = System("accord", "accord", None, "predictor=crf", 320, 40)
#: Tried also with every O a vote, and with O as no vote, for the best setting there is.
SETTINGS = tuple(
    System(spec.partition(":")[0], spec, seconds=2)
    for spec in ("mv", "ds", "hmm-crowd", "bsc-cm", "bsc-seq", "aggslc:predictor=none")
)
PLAIN = (
    *SETTINGS,
    *(
        System(spec.partition(":")[0], spec, seconds=3)
        for spec in (
            "mace",
            "crh",
            "catd",
            "bsc-acc",
            "bsc-spam",
            "bsc-cv",
            "optsla:predictor=none",
        )
    ),
)
#: Methods that train a tagger: not under ``--quick``.
TRAINED = (
    System("crf-ma", "crf-ma", seconds=60),
    System("aggslc+crf", "aggslc", seconds=150),
    System("dl-cl", "dl-cl", seconds=75),
    System("lstm-crowd", "lstm-crowd", seconds=100),
)
#: A regret up to this is none.
FAIR = 0.5


class Regime(NamedTuple):
    """A set and the split that is reported.

    named : what its row is called, where not after the set.
    """

    name: str
    split: str
    title: str
    named: str = ""

    @property
    def row(self) -> str:
        return self.named or self.name


REGIMES = (
    Regime("ner", "nguyen_test", "47 crowd workers, about five a sentence"),
    Regime("ner", "aggslc_3466", "the same, sentences of AggSLC's evaluation", "ner-3466"),
    Regime(
        "ner",
        "crowdlayer_5985",
        "the same, all sentences; Neural-Hidden-CRF has 82.28 here",
        "ner-5985",
    ),
    Regime("pico", "odd", "91 crowd workers, about six an abstract"),
    Regime("pico", "all", "the same, also the documents that were tuned on", "pico-all"),
    *(Regime(name, made.report, made.title) for name, made in SETS.items()),
    *(Regime(name, "all", f"simulated: {words}") for name, (words, _) in SIMULATED.items()),
)


def _here(work: Workshop) -> list[Regime]:
    """Those whose data can be had; the others are noted."""
    found = []
    for regime in REGIMES:
        try:
            work.material(regime.name)
        except InputError as error:
            work.missing[regime.name] = f"not run: {error.what}"
            continue
        found.append(regime)
    return found


def _methods(work: Workshop) -> tuple[System, ...]:
    return (*PLAIN, *(() if work.quick else TRAINED))


def jobs(work: Workshop) -> list[tuple[Job, float]]:
    found = []
    for regime in _here(work):
        found += work.jobs((DEFAULT, *_methods(work)), regime.name)
        for abstain in ("none", "O"):
            found += work.jobs(SETTINGS, regime.name, abstain)
    return found


class Tried(NamedTuple):
    """A method with a setting, and its F1 (mean over seeds, per cent; nan where there is no run)."""

    words: str
    system: System
    abstain: str | None
    f1: float


def _tried(
    work: Workshop, regime: Regime, system: System, abstain: str | None = None, words: str = ""
) -> Tried:
    data = work.material(regime.name).data
    gold = data.gold[data.splits[regime.split]]
    runs = work.runs(system, regime.name, abstain)
    scores = [100 * evaluate(run.labelling(data.crowd), gold).span.f1 for run in runs]
    f1 = float(np.mean(scores)) if scores else float("nan")
    return Tried(f"{system.name}, {words}" if words else system.name, system, abstain, f1)


def _interval(work: Workshop, regime: Regime, best: Tried, default: Tried) -> tuple[float, float]:
    """Of the regret, 95 %: documents drawn anew, labels of the first seed."""
    data = work.material(regime.name).data
    ours, theirs = (
        next(iter(work.runs(one.system, regime.name, one.abstain))).labelling(data.crowd)
        for one in (default, best)
    )
    gold = data.gold[data.splits[regime.split]]
    found = paired_bootstrap(theirs, ours, gold, n_resamples=RESAMPLES)
    return 100 * found.low, 100 * found.high


def _row(work: Workshop, regime: Regime) -> dict[str, Any]:
    """F1 of every method as it comes, the best with its best setting, the default and its regret."""
    as_it_comes = [_tried(work, regime, one) for one in _methods(work)]
    tried = [*as_it_comes]
    for abstain, words in (("none", "every O a vote"), ("O", "no O a vote")):
        tried += [_tried(work, regime, one, abstain, words) for one in SETTINGS]
    default = _tried(work, regime, DEFAULT)
    known = [one for one in tried if not np.isnan(one.f1)]
    row: dict[str, Any] = {
        "set": regime.row, "split": regime.split, **{one.words: one.f1 for one in as_it_comes},
        "best other": np.nan, "which": "", "default": default.f1, "regret": np.nan,
        "regret low": np.nan, "regret high": np.nan,
    }  # fmt: skip
    if known and not np.isnan(default.f1):
        best = max(known, key=lambda one: one.f1)
        low, high = _interval(work, regime, best, default)
        row |= {"best other": best.f1, "which": best.words, "regret": best.f1 - default.f1}
        row |= {"regret low": low, "regret high": high}
    return row


def section(work: Workshop) -> Section:
    rows = [_row(work, regime) for regime in _here(work)]
    names = [one.name for one in _methods(work)]
    head = ["set", *names, "best other", "**default**", "regret (95 %)"]
    body = [
        [row["set"], *(_number(row[name]) for name in names),
         f"{_number(row['best other'])} ({row['which']})", f"**{_number(row['default'])}**",
         f"{row['regret']:+.1f} ({row['regret low']:+.1f} to {row['regret high']:+.1f})"]
        for row in rows
    ]  # fmt: skip
    about = [[r.row, r.split, r.title] for r in REGIMES if r.row in {row["set"] for row in rows}]
    bad = [row for row in rows if row["regret"] > FAIR]
    worst = max((row["regret"] for row in rows), default=float("nan"))
    below = [row["set"] for row in rows if row["default"] < row["mv"] - 1e-9]
    said = (
        f"Largest regret: {worst:+.1f}. Above {FAIR}: "
        + (", ".join(f"{row['set']} ({row['regret']:+.1f})" for row in bad) or "none")
        + ". Default below the majority vote: "
        + (", ".join(below) or "nowhere")
        + ".\n"
    )
    text = f"{said}\n{markdown(head, body)}\n\n{markdown(['set', 'split', 'annotators'], about)}\n"
    return Section(NAME, "Every method on every kind of crowd", text, {f"{NAME}.csv": rows})


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.1f}"


def write(work: Workshop, made: Section) -> list[Path]:
    """The page and its table as CSV; returns the paths, the page first."""
    how = "One seed" if work.seeds == 1 else f"Mean of {work.seeds} seeds"
    how += "; methods that train a tagger are not run." if work.quick else "."
    about = (
        "Strict span F1 (conlleval) in per cent, no gold seen. Methods as they come: whose O is\n"
        "silence is found from the data. *Best other*: the best, also with every O a vote and with\n"
        f"none. *Default*: Accord{' with its CRF alone' if work.quick else ''}; "
        f"*regret*: best other − default, with an interval of 95 % (documents drawn anew, first\n"
        f"seed); the best of two dozen, chosen with gold, is partly luck. {how}\n"
    )
    return write_lone_page(work, made, about)
