"""``python -m bench``: measure, then write ``docs/benchmarks.md`` and its plots."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--sizes", default=os.environ.get("SIZES", ""), help="1e5,1e6")
    parser.add_argument("--threads", default=os.environ.get("THREADS", "1,2"), help="1,2")
    parser.add_argument("--budget", type=float, default=float(os.environ.get("BUDGET", "900")))
    parser.add_argument("--only", default=os.environ.get("ONLY", ""), help="keys of systems")
    parser.add_argument("--quick", action="store_true", default=os.environ.get("QUICK") == "1")
    parser.add_argument("--data", default=os.environ.get("BENCH_DATA", str(HERE / ".data")))
    parser.add_argument(
        "--parts",
        default=os.environ.get("PARTS", "tables,first-use,apart"),
        help="what to measure; the rest is kept from the last results",
    )
    parser.add_argument(
        "--page", action="store_true", help="write the page of the last results only"
    )
    given = parser.parse_args()
    from bench import page

    if not given.page:
        _keep(_measured(given))
    page.write(json.loads(RESULTS.read_text()), HERE.parent / "docs")


def _measured(given: argparse.Namespace) -> dict[str, Any]:
    from bench import apart, first_use, run

    sizes = given.sizes or ("1e5" if given.quick else "1e5,1e6,1e7,1e8")
    plan = run.Plan(
        tuple(sorted(int(float(size)) for size in sizes.split(","))),
        tuple(int(n) for n in given.threads.split(",")),
        given.budget,
        tuple(given.only.split(",")) if given.only else (),
        Path(given.data),
    )
    parts = given.parts.split(",")
    if "tables" in parts:
        results = run.run(plan, _keep) | {"quick": given.quick}
    else:
        results = json.loads(RESULTS.read_text())
    if "first-use" in parts and not given.quick:
        results["first_use"] = first_use.measure()
        results["first_use_load"] = round(os.getloadavg()[0])
        _keep(results)
    if "apart" in parts:
        for name, found in apart.run(plan):
            results[name] = found
            _keep(results)
    return results


def _keep(results: dict[str, Any]) -> None:
    """After every measurement, so that an interrupted run has something to show."""
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
