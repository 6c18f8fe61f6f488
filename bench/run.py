"""All measurements of a run, one process each, kept in ``results.json`` as they come."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from bench import data
from bench.systems import ROUNDS, SYSTEMS, System

#: Token annotations of the warm-up's file.
WARM = 20_000
PACKAGES = ("seqtruth", "numpy", "pyarrow", "pandas", "polars", "crowd-kit", "pyspark")
#: Whose labels each peer's are compared with.
REFERENCES = {
    "polars-mv": "ours-mv", "pandas-mv": "ours-mv", "crowdkit-mv": "ours-mv",
    "crowdkit-ds": "ours-ds", "numpy-ds": "ours-ds", "numpy-aggslc": "ours-aggslc",
    "numpy-fb": "ours-fb", "crowdkit-mace": "ours-mace",
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What to run.

    Parameters
    ----------
    sizes : token annotations.
    threads : numbers of threads for what can use several.
    budget : seconds after which one measurement is given up; what is sure to need more is not begun.
    only : keys of systems, or everything.
    folder : for data and outputs.
    """

    sizes: tuple[int, ...]
    threads: tuple[int, ...]
    budget: float
    only: tuple[str, ...]
    folder: Path
    rounds: int = ROUNDS
    repeats: Callable[[int], int] = field(default=lambda size: 3 if size <= 10**6 else 1)

    def asks_for(self, run: dict[str, Any]) -> bool:
        """Whether a measurement is one of these."""
        return run["size"] in self.sizes and (not self.only or run["system"] in self.only)


def machine() -> dict[str, Any]:
    """CPU, cores, memory and versions; nothing that names the machine."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [x for x in info.read_text().splitlines() if x.startswith("model name")]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_gib": round(memory, 1),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "versions": versions,
    }


def child(module: str, spec: dict[str, Any], seconds: float, **more: str) -> dict[str, Any]:
    """What a module of ours prints, or ``{"failed": why}``."""
    command = [sys.executable, "-m", f"bench.{module}", json.dumps(spec)]
    environment = {**os.environ, **more}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, env=environment
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"gave up after {seconds:.0f} s"}
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        return {"failed": re.sub(r"\S*/", "", last[0])[:200]}  # no paths of this machine
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run(plan: Plan, results: dict[str, Any], keep: Callable[[dict[str, Any]], None]) -> None:
    """Everything in the plan that is not among the results yet; ``keep`` is called after each of them."""
    runs = results["runs"]
    there = {(run["system"], run["size"], run["threads"]) for run in runs}
    warm = data.write(plan.folder, WARM)
    for size in plan.sizes:
        say(f"{size:.0e} token annotations")
        files = data.write(plan.folder, size)
        outputs: dict[str, str] = {}
        for system in SYSTEMS:
            if plan.only and system.key not in plan.only:
                continue
            for threads in plan.threads if system.threads else (1,):
                if (system.key, size, threads) in there:
                    continue
                found = _measured(system, files, warm, threads, plan, runs)
                runs.append(found | {"size": size})
                say(f"  {describe(found)}")
                keep(results)
            mine = [run for run in runs if (run["system"], run["size"]) == (system.key, size)]
            out = _output(plan.folder, system)
            if out is not None and mine and "seconds" in mine[-1]:
                outputs[system.key] = str(out)
        _judge(files, outputs, runs)
        keep(results)
        for path in plan.folder.glob("out-*"):
            path.unlink()


def _measured(
    system: System, files: data.Files, warm: data.Files, threads: int, plan: Plan, before: list[Any]
) -> dict[str, Any]:
    size = files.n_annotations
    found: dict[str, Any] = {
        "system": system.key, "threads": threads, "annotations": size, "tokens": files.n_tokens,
    }  # fmt: skip
    if reason := _not_run(system, size, threads, plan.budget, before):
        return found | {"not_run": reason}
    spec = {
        "system": system.key,
        "threads": threads,
        "crowd": str(files.crowd),
        "warm": str(warm.crowd),
        "out": str(plan.folder / f"out-{system.key}.parquet"),
        "warm_out": str(plan.folder / f"warm-{system.key}.parquet"),
        "rounds": plan.rounds if system.iterates else 1,
        "repeats": plan.repeats(size),
    }
    if system.key in ("ours-fb", "numpy-fb", "add-bytes"):
        spec["rounds"] = 5
    for old in plan.folder.glob(f"out-{system.key}.parquet*"):
        old.unlink()
    found |= child("child", spec, plan.budget)
    for old in plan.folder.glob(f"warm-{system.key}.parquet*"):
        old.unlink()
    return found


def _not_run(
    system: System, size: int, threads: int, budget: float, before: list[Any]
) -> str | None:
    if size > 1.1 * system.limit:
        return f"not run above {system.limit:.0e}"
    for earlier in sorted(before, key=lambda run: -run["size"]):
        same = (earlier["system"], earlier["threads"]) == (system.key, threads)
        if same and earlier["annotations"] < size:
            if "failed" in earlier or "not_run" in earlier:
                return "failed or not run at a smaller size"
            expected = earlier["seconds"] * size / earlier["annotations"]
            return f"would take about {expected:.0f} s" if expected > budget else None
    return None


def _output(folder: Path, system: System) -> Path | None:
    for suffix in ("", ".npy"):
        path = folder / f"out-{system.key}.parquet{suffix}"
        if path.exists():
            return path
    return None


def _judge(files: data.Files, outputs: dict[str, str], runs: list[dict[str, Any]]) -> None:
    """Put the scores of the labels beside the measurements they came from."""
    if not outputs:
        return
    pairs = [(key, r) for key, r in REFERENCES.items() if key in outputs and r in outputs]
    spec = {"gold": str(files.gold), "crowd": str(files.crowd), "labels": outputs, "pairs": pairs}
    scores = child("quality", spec, 3600)
    if "failed" in scores:
        say(f"  quality: {scores['failed']}")
        return
    for found in runs:
        if found["annotations"] == files.n_annotations and found["system"] in scores:
            found |= scores[found["system"]]


def describe(found: dict[str, Any]) -> str:
    head = f"{found['system']:<14} {found['threads']} threads"
    if "seconds" not in found:
        return f"{head}: {found.get('not_run') or found.get('failed')}"
    each = found["round_seconds"]
    return (
        f"{head}: {found['seconds']:.2f} s"
        + (f", {each:.4f} s a round" if each else "")
        + f", {found['peak_bytes'] / 2**20:.0f} MiB"
    )


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
