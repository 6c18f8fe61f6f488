"""Measurements that need one number each: reading, preparing on Spark, training the network.

``python -m bench.singles`` prints the rows; ``make bench`` puts them on the page. Processor time, which a
busy machine blurs less than the clock.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import util
from pathlib import Path
from statistics import median
from typing import Any

from bench import exports, kept
from bench.run import say

#: Megabytes of the files that are read, and rows of the tables.
MEGABYTES, ROWS = 60, 10_000_000
#: How often a file is read, each time by a process of its own.
TIMES = 5


def _speed(kind: str, aim: float) -> dict[str, Any]:
    speeds = []
    for _ in range(TIMES):
        size, found = exports.measured(MEGABYTES, kind, ("seqtruth.read",))
        speeds.append(size / 1e6 / found["seqtruth.read"]["busy"])
    return {
        "what": f"reading {kind}, {MEGABYTES} MB, the first file of a process", "unit": "MB/CPU s",
        "is": median(speeds), "least": aim,
        "also": f"median of {TIMES}, {min(speeds):.0f} to {max(speeds):.0f}",
        "command": f"python -m bench.exports --kind {kind} --megabytes {MEGABYTES}",
    }  # fmt: skip


def _printed(module: str, *arguments: str) -> dict[str, Any]:
    """The last line of JSON that a module of ours prints."""
    command = [sys.executable, "-m", f"bench.{module}", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _shuffled(folder: Path) -> dict[str, Any]:
    found = _printed("shuffled", "--annotations", str(ROWS), "--folder", str(folder))
    return {
        "what": f"a table of {ROWS:.0e} rows in random order, read", "unit": "MB peak",
        "is": found["peak_megabytes"], "most": 1000, "also": f"{found['cpu_seconds']} CPU s",
        "command": f"python -m bench.shuffled --annotations {ROWS}",
    }  # fmt: skip


def _prepared(folder: Path) -> dict[str, Any]:
    what = f"Spark, preparing {ROWS:.0e} rows"
    if util.find_spec("pyspark") is None or shutil.which("java") is None:
        return {"what": what, "not_run": "pyspark or Java is not installed"}
    found = _printed("spark_prepare", "--annotations", str(ROWS), "--folder", str(folder))
    java, python = found["java_cpu_seconds"], found["python_cpu_seconds"]
    return {
        "what": what, "unit": "CPU s", "is": java + python, "most": 31,
        "also": f"Java {java}, Python {python}",
        "command": f"python -m bench.spark_prepare --annotations {ROWS}",
    }  # fmt: skip


def _network() -> dict[str, Any]:
    what = "the default's BiLSTM on 3,000 sentences of NER"
    if util.find_spec("torch") is None:
        return {"what": what, "not_run": "torch is not installed"}
    found = _printed("bilstm", "--seeds", "1")
    return {
        "what": what, "unit": "CPU s", "is": found["cpu_seconds"],
        "also": f"F1 {found['f1']} on nguyen_val", "command": "python -m bench.bilstm --seeds 1",
    }  # fmt: skip


def jobs(folder: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """By name, each makes one row."""
    return {
        "conll": lambda: _speed("conll", 150),
        "tokens": lambda: _speed("tokens", 100),
        "jsonl": lambda: _speed("jsonl", 100),
        "shuffled": lambda: _shuffled(folder),
        "spark_prepare": lambda: _prepared(folder),
        "bilstm": _network,
    }


def measure(results: dict[str, Any], folder: Path) -> None:
    """All rows into the results; in a run that goes on, those that are not there yet."""
    rows = results.setdefault("singles", {})
    for name, job in jobs(folder).items():
        if "running" in results and kept.is_done(results, f"single {name}"):
            continue
        load = kept.load_now()
        try:
            rows[name] = job()
        except (subprocess.CalledProcessError, OSError) as error:
            rows[name] = {"what": name, "not_run": f"failed: {type(error).__name__}"}
        rows[name]["load"] = load
        say(f"  {shown(rows[name])}")
        if "running" in results:
            kept.done(results, f"single {name}")


def shown(row: dict[str, Any]) -> str:
    """
    >>> shown({"what": "reading", "is": 151.234, "unit": "MB/CPU s", "least": 150})
    'reading: 151 MB/CPU s'
    """
    if "not_run" in row:
        return f"{row['what']}: not run, {row['not_run']}"
    also = f" ({row['also']})" if "also" in row else ""
    return f"{row['what']}: {row['is']:.3g} {row['unit']}{also}"


if __name__ == "__main__":
    measure({}, Path("bench-data"))
