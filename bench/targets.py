"""What was promised, beside what was measured."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bench.systems import BY_KEY, SYSTEMS

GIB = 2**30
SLOPE = (0.95, 1.1)
#: Speeds are judged from this size on.
SMALLEST = 10**7
#: A load at which the clock says little.
BUSY = 2.0
#: Rounding may decide a few ties otherwise.
SAME = 0.9999


class Target(NamedTuple):
    """A promise; ``met`` is None where this run says nothing about it."""

    target: str
    measured: str
    met: bool | None


NOT_MEASURED = "not measured in this run"


class Runs:
    """Measurements by system, size and threads."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.sizes: list[int] = results["sizes"]
        self.all = [run for run in results["runs"] if "seconds" in run]
        self.skipped = [run for run in results["runs"] if "seconds" not in run]

    def get(self, key: str, size: int, threads: int | None = None) -> dict[str, Any] | None:
        """The measurement with so many threads; with the most where not said."""
        found = [run for run in self.all if run["system"] == key and run["size"] == size]
        if threads is not None:
            found = [run for run in found if run["threads"] == threads]
        return max(found, key=lambda run: run["threads"], default=None)

    def largest(self, key: str, at_most: float = 1e18) -> dict[str, Any] | None:
        """The measurement at the largest size up to a limit, with the most threads."""
        sizes = [size for size in self.sizes if size <= at_most and self.get(key, size)]
        return self.get(key, max(sizes)) if sizes else None

    def line(self, key: str, what: str, threads: int | None = None) -> list[tuple[float, float]]:
        """(annotations, value) over the sizes."""
        found = [self.get(key, size, threads) for size in self.sizes]
        return [(run["annotations"], run[what]) for run in found if run and run.get(what)]

    def why_not(self, key: str, size: int) -> str | None:
        for run in self.skipped:
            if (run["system"], run["size"]) == (key, size):
                return str(run.get("not_run") or run.get("failed"))
        return None


def slope(line: list[tuple[float, float]]) -> float | None:
    """Exponent of the growth: slope of the straight line through the logarithms."""
    if len(line) < 2:
        return None
    x, y = np.log(np.array(line)).T
    return float(np.polyfit(x, y, 1)[0])


def all_targets(results: dict[str, Any]) -> list[Target]:
    """Every target of the page, in the order of the promise."""
    runs = Runs(results)
    return [
        _speed(runs), _whole(runs), _dawid_skene(runs), _majority(runs), _forward_backward(runs),
        _linear(runs), _streamed(results), _spark(results), *_flagship(results), *_singles(results),
        *_command_line(results),
    ]  # fmt: skip


def _speed(runs: Runs) -> Target:
    name = "AggSLC: at least 120 million token annotations a second per round, two threads"
    run = runs.largest("ours-aggslc")
    if run is None or run["size"] < SMALLEST:
        return Target(name, NOT_MEASURED, None)
    rate = run["annotations"] / run["round_seconds"]
    return Target(name, f"{rate / 1e6:,.0f} million at {run['size']:.0e}", rate >= 120e6)


def _whole(runs: Runs) -> Target:
    name = "AggSLC: 1e8, 10 rounds, Parquet to Parquet, under 60 s and 6 GiB"
    run = runs.get("ours-aggslc", 10**8)
    if run is None:
        return Target(name, NOT_MEASURED, None)
    said = f"{run['seconds']:.1f} s, {run['peak_bytes'] / GIB:.2f} GiB, {run['rounds']} rounds"
    return Target(name, said, run["seconds"] < 60 and run["peak_bytes"] < 6 * GIB)


def _dawid_skene(runs: Runs) -> Target:
    name = "Dawid-Skene at 1e7: at least 20 times as fast as crowd-kit's, the same labels (99.99 %)"
    ours, theirs = runs.get("ours-ds", 10**7), runs.get("crowdkit-ds", 10**7)
    if ours is None or theirs is None:
        return Target(name, NOT_MEASURED, None)
    ratio = theirs["fit_seconds"] / ours["fit_seconds"]
    each = theirs["round_seconds"] / ours["round_seconds"]
    same = theirs.get("equal", float("nan"))
    said = f"{ratio:.0f} times (a round: {each:.0f}), {same:.4%} of the labels equal"
    return Target(name, said, ratio >= 20 and same >= SAME)


def _majority(runs: Runs) -> Target:
    name = "Majority vote from file to file: faster than Polars' group-by, at 1e7"
    ours, theirs = runs.get("ours-mv", 10**7), runs.get("polars-mv", 10**7)
    if ours is None or theirs is None:
        return Target(name, NOT_MEASURED, None)
    said = f"{ours['seconds']:.2f} s, Polars {theirs['seconds']:.2f} s"
    return Target(name, said, ours["seconds"] < theirs["seconds"])


def _forward_backward(runs: Runs) -> Target:
    name = "Forward-backward, 9 labels: at least 5 million tokens a second, two threads"
    run = runs.largest("ours-fb")
    if run is None or run["size"] < SMALLEST:
        return Target(name, NOT_MEASURED, None)
    rate = run["tokens"] / run["round_seconds"]
    return Target(name, f"{rate / 1e6:.1f} million at {run['size']:.0e}", rate >= 5e6)


def slopes(runs: Runs) -> dict[str, tuple[float | None, float | None]]:
    """Of every method of ours: slope of the seconds of a round, and from file to file."""
    return {
        system.key: (
            slope(runs.line(system.key, "round_seconds")),
            slope(runs.line(system.key, "seconds")) if system.job[1] == "Ours" else None,
        )
        for system in SYSTEMS
        if system.ours
    }


def _linear(runs: Runs) -> Target:
    name = "Cost grows linearly from 1e5 to 1e8: all slopes of our methods within 0.95 to 1.1"
    if {10**5, 10**8} - set(runs.sizes):
        return Target(name, NOT_MEASURED, None)
    found = {
        f"{BY_KEY[key].task}, {what}": value
        for key, both in slopes(runs).items()
        for what, value in zip(("a round", "file to file"), both, strict=True)
        if value is not None
    }
    if not found:
        return Target(name, NOT_MEASURED, None)
    outside = {k: v for k, v in found.items() if not SLOPE[0] <= v <= SLOPE[1]}
    said = f"{min(found.values()):.2f} to {max(found.values()):.2f}"
    if outside:
        said += "; outside: " + ", ".join(f"{k} {v:.2f}" for k, v in outside.items())
    return Target(name, said, not outside)


def _streamed(results: dict[str, Any]) -> Target:
    name = "Out of core: 1e8 under a cap of 1 GiB, labels identical to those in memory"
    found = results.get("out_of_core", {})
    if "identical" not in found or found["annotations"] < 0.9e8:
        return Target(name, NOT_MEASURED, None)
    said = f"{found['equal']:.4%} of {found['rows']:,} labels equal"
    return Target(name, said, bool(found["identical"]))


def _spark(results: dict[str, Any]) -> Target:
    name = "Spark local[2] at 1e7: the same labels, and weights to 1e-9"
    found = results.get("spark", {})
    if "identical" not in found or found["annotations"] < 0.9e7:
        return Target(name, NOT_MEASURED, None)
    apart = np.inf if found["weights_apart"] is None else found["weights_apart"]
    said = f"{found['equal']:.4%} of the labels equal, weights apart by {apart:.1e}"
    return Target(name, said, bool(found["identical"]) and apart <= 1e-9)


def _flagship(results: dict[str, Any]) -> list[Target]:
    """Accord, streamed. Where the machine was busy, or nobody looked, CPU seconds stand for the clock's."""
    rows = results.get("flagship", [])
    usual = {row["annotations"]: row for row in rows if not row["everything_learnt"]}
    whole = {row["annotations"]: row for row in rows if row["everything_learnt"]}
    found = []
    for size, minutes in ((10**7, 5), (10**8, 45)):
        name = f"Accord, streamed, {size:.0e}: at most {minutes} minutes and 2 GiB"
        row = usual.get(size)
        if row is None:
            found.append(Target(name, NOT_MEASURED, None))
            continue
        said = (
            f"{row['seconds']:,.0f} s ({row['cpu_seconds']:,.0f} CPU s), {row['peak_gib']:.2f} GiB"
        )
        idle = row["load"] is not None and row["load"] < BUSY
        took = row["seconds" if idle else "cpu_seconds"]
        said += "" if idle else "; the machine was busy, CPU seconds are judged"
        found.append(Target(name, said, took <= 60 * minutes and row["peak_gib"] <= 2))
    name = "Accord, streamed: slope from 1e5 to 1e8 at most 1.05"
    if {10**5, 10**8} <= set(usual):
        line = [(size, row["cpu_seconds"]) for size, row in sorted(usual.items())]
        steep = slope(line) or 0.0
        found.append(Target(name, f"{steep:.2f}, by CPU seconds", steep <= 1.05))
    else:
        found.append(Target(name, NOT_MEASURED, None))
    name = "Accord, streamed, 1e7: F1 within 0.2 of learning from everything"
    if 10**7 in usual and 10**7 in whole:
        f1 = usual[10**7]["f1"], whole[10**7]["f1"]
        near = f1[1] - f1[0] <= 0.2
        found.append(Target(name, f"{f1[0]:.2f}, from everything {f1[1]:.2f}", near))
    else:
        found.append(Target(name, NOT_MEASURED, None))
    return found


def _singles(results: dict[str, Any]) -> list[Target]:
    found = []
    for row in results.get("singles", {}).values():
        if "is" not in row or not {"least", "most"} & set(row):
            continue
        low, high = row.get("least", -np.inf), row.get("most", np.inf)
        aim = f"at least {low:g}" if "least" in row else f"at most {high:g}"
        said = f"{row['is']:.3g} {row['unit']}"
        met = bool(low <= row["is"] <= high)
        found.append(Target(f"{row['what']}: {aim} {row['unit']}", said, met))
    return found


def _command_line(results: dict[str, Any]) -> list[Target]:
    rows = results.get("first_use", ())
    return [
        Target(
            f"{row['what']}: at most {row['most']:g} {row['unit']}",
            f"{row['is']:.3g} {row['unit']}",
            row["is"] <= row["most"],
        )
        for row in rows
    ]
