"""``python -m bench``: measure, then write ``docs/benchmarks.md`` and its plots.

A run that was stopped goes on where it was, as long as options and code are the same (``--anew``: not).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from bench import kept
from bench.run import Plan, machine, say

PARTS = ("tables", "first-use", "apart", "singles", "flagship")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--sizes", default=os.environ.get("SIZES", ""), help="1e5,1e6")
    parser.add_argument("--threads", default=os.environ.get("THREADS", "1,2"), help="1,2")
    parser.add_argument("--budget", type=float, default=float(os.environ.get("BUDGET", "900")))
    parser.add_argument("--only", default=os.environ.get("ONLY", ""), help="keys of systems")
    parser.add_argument("--quick", action="store_true", default=os.environ.get("QUICK") == "1")
    parser.add_argument("--anew", action="store_true", default=os.environ.get("ANEW") == "1")
    parser.add_argument("--data", default=os.environ.get("BENCH_DATA", str(kept.HERE / ".data")))
    parser.add_argument(
        "--parts",
        default=os.environ.get("PARTS", ",".join(PARTS)),
        help="what to measure; the rest is kept from the last results",
    )
    parser.add_argument(
        "--page", action="store_true", help="write the page of the last results only"
    )
    given = parser.parse_args()
    parts = given.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"--parts: {', '.join(sorted(unknown))}; known are {', '.join(PARTS)}")
    from bench import page

    if not given.page:
        _measure(given, parts)
    page.write(kept.load(), kept.HERE.parent / "docs")


def _measure(given: argparse.Namespace, parts: list[str]) -> None:
    sizes = given.sizes or ("1e5" if given.quick else "1e5,1e6,1e7,1e8")
    plan = Plan(
        tuple(sorted(int(float(size)) for size in sizes.split(","))),
        tuple(int(n) for n in given.threads.split(",")),
        given.budget,
        tuple(given.only.split(",")) if given.only else (),
        Path(given.data),
    )
    results = kept.load()
    if given.anew:
        results.pop("running", None)
    options = {"sizes": plan.sizes, "threads": plan.threads, "only": plan.only, "parts": parts}
    if kept.begin(results, options):
        say("going on with the run that was stopped")
        results["load_before"] = max(results.get("load_before") or 0.0, kept.load_now() or 0.0)
    else:
        _clear(results, plan, parts)
    results |= {"quick": given.quick, "machine": machine()}
    for part in parts:
        if not kept.is_done(results, part):
            _run(part, results, plan, given.quick)
            kept.done(results, part)
    del results["running"]
    kept.keep(results)


def _clear(results: dict[str, Any], plan: Plan, parts: list[str]) -> None:
    """Take away what is to be measured anew."""
    if "tables" in parts:
        results.pop("later", None)
        for left in plan.folder.glob("out-*"):  # of another run
            left.unlink()
        if not plan.only:
            results |= {"runs": [], "sizes": []}
        results |= {
            "rounds": plan.rounds, "budget_seconds": plan.budget, "load_before": kept.load_now(),
            "runs": [run for run in results.get("runs", []) if not plan.asks_for(run)],
            "sizes": sorted({*results.get("sizes", []), *plan.sizes}),
        }  # fmt: skip
    if "flagship" in parts:
        rows = results.get("flagship", [])
        results["flagship"] = [row for row in rows if row["everything_learnt"]]


def _run(part: str, results: dict[str, Any], plan: Plan, quick: bool) -> None:
    from bench import apart, first_use, flagship, run, singles

    if part == "tables":
        run.run(plan, results, kept.keep)
    elif part == "first-use" and not quick:
        results["first_use"] = first_use.measure()
        results["first_use_load"] = round(kept.load_now() or 0)
    elif part == "apart":
        for name, measure in apart.JOBS.items():
            if not kept.is_done(results, name):
                results[name] = measure(plan)
                kept.done(results, name)
    elif part == "singles" and not quick:
        singles.measure(results, plan.folder)
    elif part == "flagship":
        asked = flagship.Asked(max(plan.threads), plan.folder)
        flagship.measure(results, list(plan.sizes), asked)


if __name__ == "__main__":
    main()
