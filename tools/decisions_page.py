"""The figures of docs/decisions.md: what triage promises and keeps, what next saves, what update costs.

    python tools/decisions_page.py next --data-dir DIR [--method bsc-seq] [--seeds 3]
    python tools/decisions_page.py curve --data-dir DIR [--method bsc-seq]
    python tools/decisions_page.py triage --data-dir DIR [--method accord:predictor=crf]
    python tools/decisions_page.py update --data-dir DIR [--method accord:predictor=crf]

``DIR`` holds folders of tables, as ``seqtruth datasets`` writes them. Everything is printed as Markdown.
Seconds are those of the processor, so that other programs do not count.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.datasets.tables import Dataset
from seqtruth.decisions import next_labels, triage
from seqtruth.decisions.model import spans_of
from seqtruth.decisions.triage import verdicts

#: Sets and the part that is reported.
TRIAGE = {
    "ner": "nguyen_test", "pico": "odd", "ncbi-disease": "test", "bc5cdr": "test",
    "conll-rules": "test", "bambara": "report",
}  # fmt: skip
LEVELS, CHECKED, DRAWS = (0.85, 0.9, 0.95), (0, 40, 200, 400, 800), 8
UPDATE = (
    "accord:predictor=crf",
    "bsc-seq",
    "ds",
    "mace",
    "bsc-cm",
    "bsc-cv",
    "bsc-acc",
    "bsc-spam",
)
NEXT = {"ner": "nguyen_test", "pico": "odd"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("next", "curve", "triage", "update"))
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", default=None)
    parser.add_argument("--method", default=None)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    run = {"next": _next, "curve": _curve, "triage": _triage, "update": _update}[options.what]
    for line in run(options):
        print(line, flush=True)


def _load(name: str, folder: Path) -> Dataset:
    return st.datasets.load(name, data_dir=folder)


def some_rows(crowd: Crowd, chosen: np.ndarray) -> Crowd:
    rows = np.flatnonzero(chosen)
    return replace(
        crowd, row_sentence=crowd.row_sentence[rows], row_annotator=crowd.row_annotator[rows],
        tags=crowd.tags[gather(crowd.row_offsets, rows)[1]],
    )  # fmt: skip


# --- next ---------------------------------------------------------------------------------------------


def _next(options: argparse.Namespace) -> Iterator[str]:
    """Hide all but two labels of each sentence; a rule chooses what to reveal, a tenth at a time."""
    method = options.method or "bsc-seq"
    yield f"| set ({method}) | labels revealed at random | F1 | uncertainty needs | next needs |"
    yield "|---|---:|---:|---:|---:|"
    for name in (options.sets or ",".join(NEXT)).split(","):
        data = _load(name, options.data_dir)
        mask = np.asarray(data.splits[NEXT[name]])
        rules: dict[str, Callable[..., np.ndarray]] = {
            "random": _at_random, "uncertainty": _uncertain, "next": _by_gain,
        }  # fmt: skip
        curves = {
            rule: np.mean(
                [_replay(data, mask, method, pick, seed) for seed in range(options.seeds)], axis=0
            )
            for rule, pick in rules.items()
        }
        grid = np.linspace(0, 1, len(curves["random"]))
        for rule, curve in curves.items():
            yield f"<!-- {name} {rule}: {' '.join(f'{100 * f:.2f}' for f in curve)} -->"
        for share in (0.25, 0.5, 0.75):
            aim = float(np.interp(share, grid, curves["random"]))
            needs = [_reaches(curves[rule], grid, aim) / share for rule in ("uncertainty", "next")]
            yield f"| {name} | {share:.0%} | {100 * aim:.2f} | {needs[0]:.0%} | {needs[1]:.0%} |"


def _reaches(curve: np.ndarray, grid: np.ndarray, aim: float) -> float:
    """The share of labels after which a curve has reached an F1."""
    k = int(np.argmax(curve >= aim)) if (curve >= aim).any() else len(curve) - 1
    if k == 0:
        return float(grid[0])
    a, b = curve[k - 1], curve[k]
    return float(grid[k - 1] + (grid[k] - grid[k - 1]) * (aim - a) / max(b - a, 1e-12))


def _replay(
    data: Dataset, mask: np.ndarray, method: str, pick: Callable[..., np.ndarray], seed: int
) -> np.ndarray:
    crowd, draw = data.crowd, np.random.default_rng(seed)
    shown = _two_each(crowd, draw)
    step = -(-int((~shown).sum()) // 10)
    scores = []
    while True:
        result = st.aggregate(some_rows(crowd, shown), method)
        scores.append(st.evaluate(result, data.gold, sentences=mask).f1)
        hidden = np.flatnonzero(~shown)
        if not len(hidden):
            return np.array(scores)
        shown[pick(result, crowd, hidden, min(step, len(hidden)), draw)] = True


def _two_each(crowd: Crowd, draw: np.random.Generator) -> np.ndarray:
    """bool[R]: two labels of each sentence; one alone tells nothing about annotators."""
    shown = np.zeros(crowd.n_rows, np.bool_)
    order = draw.permutation(crowd.n_rows)
    for _ in range(2):
        order = order[~shown[order]]
        shown[order[np.unique(crowd.row_sentence[order], return_index=True)[1]]] = True
    return shown


def _curve(options: argparse.Namespace) -> Iterator[str]:
    """What the budget curve expects beside what comes of it."""
    method = options.method or "bsc-seq"
    yield "| set | method | labels revealed | F1 expected now | F1 now | expected then | then |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for name in (options.sets or "ner,pico").split(","):
        data = _load(name, options.data_dir)
        at = np.flatnonzero(np.asarray(data.splits[NEXT[name]]))
        crowd, gold = data.crowd[at], data.gold[at]
        shown = _two_each(crowd, np.random.default_rng(0))
        first = st.aggregate(some_rows(crowd, shown), method)
        now, hidden = st.evaluate(first, gold).f1, np.flatnonzero(~shown)
        for share in (0.1, 0.25, 0.5):
            n = int(share * len(hidden))
            plan = next_labels(first, n, candidates=some_rows(crowd, ~shown))
            more = shown.copy()
            more[_by_gain(first, crowd, hidden, n, np.random.default_rng(0))] = True
            then = st.evaluate(st.aggregate(some_rows(crowd, more), method), gold).f1
            figures = (plan.f1, now, plan.curve()[-1]["expected_f1"], then)
            cells = " | ".join(f"{100 * figure:.1f}" for figure in figures)
            yield f"| {name} {NEXT[name]} | {method} | {n:,} | {cells} |"


def _at_random(
    result: st.Result, crowd: Crowd, hidden: np.ndarray, n: int, draw: np.random.Generator
) -> np.ndarray:
    return draw.permutation(hidden)[:n]


def _uncertain(
    result: st.Result, crowd: Crowd, hidden: np.ndarray, n: int, draw: np.random.Generator
) -> np.ndarray:
    """Sentences the model is least sure of, one label each, whoever gives it."""
    hidden = draw.permutation(hidden)
    lengths = np.add.reduceat(
        1.0 - result.probabilities.max(axis=1), crowd.corpus.token_offsets[:-1]
    )
    first = np.unique(crowd.row_sentence[hidden], return_index=True)[1]
    rest = np.setdiff1d(np.arange(len(hidden)), first)
    doubt = lengths[crowd.row_sentence[hidden]]
    ranked = [k[np.argsort(-doubt[k], kind="stable")] for k in (first, rest)]
    return hidden[np.concatenate(ranked)[:n]]


def _by_gain(
    result: st.Result, crowd: Crowd, hidden: np.ndarray, n: int, draw: np.random.Generator
) -> np.ndarray:
    chosen = np.zeros(crowd.n_rows, np.bool_)
    chosen[hidden] = True
    plan = next_labels(result, n, candidates=some_rows(crowd, chosen))
    places = {name: s for s, name in enumerate(crowd.corpus.sentence_ids.to_pylist())}
    numbers = {name: w for w, name in enumerate(crowd.annotators)}
    keys = (
        crowd.row_sentence[hidden].astype(np.int64) * crowd.n_annotators
        + crowd.row_annotator[hidden]
    )
    wanted = [
        places[one.sentence] * crowd.n_annotators + numbers[one.annotator]
        for one in plan.suggestions
    ]
    found = hidden[np.isin(keys, wanted)]
    rest = np.setdiff1d(hidden, found)  # what has nothing to gain comes in any order
    return np.concatenate([found, draw.permutation(rest)[: n - len(found)]])


# --- triage -------------------------------------------------------------------------------------------


def _triage(options: argparse.Namespace) -> Iterator[str]:
    """What was promised, and what the rest of the gold says of it."""
    method = options.method or "accord:predictor=crf"
    both = " | ".join(f"{what}: promised | taken | kept (worst)" for what in ("spans", "sentences"))
    yield f"| set | precision asked for | sentences checked | {both} | of spans it can promise |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name in (options.sets or ",".join(TRIAGE)).split(","):
        data = _load(name, options.data_dir)
        result = st.aggregate(data.crowd, method)
        has = data.gold.labelling().labelled
        part = np.flatnonzero(np.asarray(data.splits[TRIAGE[name]]) & has)
        for level in LEVELS:
            for checked in CHECKED:
                if checked < len(part) / 2:
                    yield _promises(name, result, data, part, level, checked)


def _promises(
    name: str, result: st.Result, data: Dataset, part: np.ndarray, level: float, checked: int
) -> str:
    truth = verdicts(result, data.gold)
    where = (spans_of(result).sequence[truth[0].at], truth[1].at)
    draws = DRAWS if checked else 1
    cells = []
    kept: tuple[list[float], ...] = ([], [])
    taken: tuple[list[float], ...] = ([], [])
    offers: list[float] = []
    for seed in range(draws):
        picked = np.sort(np.random.default_rng(seed).permutation(part)[:checked])
        found = triage(result, level, data.gold[picked] if checked else None)
        offers.append(0.0 if found.spans.offer is None else found.spans.offer.precision)
        for k, share in enumerate((found.spans, found.sentences)):
            others = np.isin(where[k], part) & ~np.isin(where[k], picked)
            accepted = share.accepted[truth[k].at] & others
            if share.promised and accepted.any():
                kept[k].append(float(truth[k].right[accepted].mean()))
                taken[k].append(accepted.sum() / others.sum())
    for k in range(2):
        if kept[k]:
            cells += [
                f"{len(kept[k])} of {draws}", f"{np.mean(taken[k]):.0%}",
                f"{100 * np.mean(kept[k]):.1f} ({100 * np.min(kept[k]):.1f})",
            ]  # fmt: skip
        else:
            cells += ["cannot", "–", "–"]
    middle = float(np.median(offers))
    cells.append(f"{middle:.0%}" if middle else "nothing")
    return f"| {name} {TRIAGE[name]} | {level:.0%} | {checked} | " + " | ".join(cells) + " |"


# --- update -------------------------------------------------------------------------------------------


def _update(options: argparse.Namespace) -> Iterator[str]:
    """One per cent of the labels come late; then a tenth of them in ten parts, in two orders."""
    methods = [options.method] if options.method else list(UPDATE)
    yield (
        "| set | method | refit: F1 | s | update with 1 %: F1 | s | times faster"
        " | ten parts, two orders: F1 |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for name in (options.sets or "ner").split(","):
        data = _load(name, options.data_dir)
        for method in methods:
            yield _updates(name, data, method)


def _updates(name: str, data: Dataset, method: str) -> str:
    crowd, draw = data.crowd, np.random.default_rng(0)

    def f1(result: st.Result) -> float:
        return 100 * st.evaluate(result, data.gold).f1

    def parted(share: float) -> tuple[Crowd, Crowd]:
        late = draw.random(crowd.n_rows) < share
        new = some_rows(crowd, late)
        return some_rows(crowd, ~late), new[np.unique(new.row_sentence)]

    early, late = parted(0.01)
    first = st.aggregate(early, method)
    first.update(late)  # whatever is made once
    refit, seconds = _timed(lambda: st.aggregate(crowd, method))
    now, quick = _timed(lambda: first.update(late))
    early, late = parted(0.1)
    start, ends = st.aggregate(early, method), []
    for order in (range(10), reversed(range(10))):
        found = start
        for k in order:
            part = some_rows(late, np.arange(late.n_rows) % 10 == k)
            found = found.update(part[np.unique(part.row_sentence)])
        ends.append(f1(found))
    return (
        f"| {name} | {method} | {f1(refit):.2f} | {seconds:.2f} | {f1(now):.2f} | {quick:.3f} |"
        f" {seconds / quick:.0f} | {', '.join(f'{end:.2f}' for end in ends)} |"
    )


def _timed(function: Callable[[], st.Result]) -> tuple[st.Result, float]:
    """What it gives and the seconds of the processor that it takes: the median of up to nine times."""
    seconds: list[float] = []
    while len(seconds) < 9 and sum(seconds) < 3:
        began = time.process_time()
        found = function()
        seconds.append(time.process_time() - began)
    return found, float(np.median(seconds))


if __name__ == "__main__":
    main()
