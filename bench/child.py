"""One measurement in a process of its own: ``python -m bench.child SPEC`` prints one line of JSON.

Cores and threads are set before anything is imported. Imports are paid by a warm-up
on a small file, which is timed apart.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

#: Seconds after which a run is not repeated.
ENOUGH = 5.0


def peak_bytes() -> int:
    """The largest resident size so far.

    The kernel's ``ru_maxrss`` also counts the process that started this one; ``VmHWM``, where there
    is one, does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def limit_threads(n: int) -> None:
    """So many cores and threads for everything that is imported later."""
    for name in (
        "SEQTRUTH_THREADS",
        "POLARS_MAX_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
    ):
        os.environ[name] = str(n)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:n])


def measure(spec: dict[str, Any]) -> dict[str, Any]:
    """Best of the repeats: seconds to read, fit and write, seconds of a round, peak memory."""
    began = time.perf_counter()
    from bench.systems import BY_KEY

    job, rounds = BY_KEY[spec["system"]].make(), spec["rounds"]
    imported = time.perf_counter()
    once(job, spec["warm"], rounds, spec["warm_out"])
    ready, baseline = time.perf_counter(), peak_bytes()
    runs = []
    while len(runs) < spec["repeats"] and sum(run["seconds"] for run in runs) < ENOUGH:
        runs.append(once(job, spec["crowd"], rounds, spec["out"]))
    best = min(runs, key=lambda run: run["seconds"])
    best["round_seconds"] = min(
        (run["round_seconds"] for run in runs if run["round_seconds"] is not None), default=None
    )
    return best | {
        "import_seconds": imported - began,
        "warm_up_seconds": ready - imported,
        "baseline_bytes": baseline,
        "peak_bytes": peak_bytes(),
    }


def once(job: Any, path: str, rounds: int, out: str) -> dict[str, Any]:
    """One run from file to file; memory that halving the rounds would take is not of the run."""
    import numpy as np

    times = [time.perf_counter()]
    data = job.read(path)
    times.append(time.perf_counter())
    result, steps = job.fit(data, rounds)
    times.append(time.perf_counter())
    if job.writes:
        job.write(result, data, out)
        times.append(time.perf_counter())
    elif hasattr(job, "labels"):
        np.save(out + ".npy", job.labels(result, data))
    names = ("read_seconds", "fit_seconds", "write_seconds")
    found = dict(zip(names, np.diff(times).tolist(), strict=False))
    each = float(np.median(steps)) if steps else None
    if hasattr(job, "round_seconds") and rounds > 1:
        each = job.round_seconds(data, rounds, found["fit_seconds"])
    return found | {
        "seconds": times[-1] - times[0],
        "round_seconds": each,
        "rounds": len(steps) or rounds,
    }


def main() -> None:
    spec = json.loads(sys.argv[1])
    limit_threads(spec["threads"])
    warnings.simplefilter("ignore")
    print(json.dumps(measure(spec)))


if __name__ == "__main__":
    main()
