"""Measurements that are not a line in the tables: the command line, out of core, Spark."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

from bench import data
from bench.run import WARM, Plan, child, say

#: Cap on the process that aggregates out of core.
CAP = 1 << 30
#: Spark is run on no more token annotations than this.
SPARK_LIMIT = 10**7


def out_of_core(plan: Plan) -> dict[str, Any]:
    """The largest size, streamed under the cap, beside the same in memory."""
    files = data.write(plan.folder, max(plan.sizes))
    with tempfile.TemporaryDirectory(dir=plan.folder) as scratch:
        memory = _aggregated(plan, files, Path(scratch), "memory")
        streamed = _aggregated(plan, files, Path(scratch), "streamed", cap_bytes=CAP)
        found = {
            "annotations": files.n_annotations, "cap_bytes": CAP, "memory": memory,
            "streamed": streamed,
        }  # fmt: skip
        found |= _weights_apart(memory, streamed)
        if "seconds" in memory and "seconds" in streamed:
            paths = {"one": str(Path(scratch) / "memory.parquet"),
                     "other": str(Path(scratch) / "streamed.parquet")}  # fmt: skip
            found |= child("compare", paths, 3600)
    return found


def spark(plan: Plan) -> dict[str, Any]:
    """``local[2]`` beside the same in memory, where there are pyspark and Java."""
    if util.find_spec("pyspark") is None or shutil.which("java") is None:
        return {"not_run": "pyspark or Java is not installed"}
    sizes = [size for size in plan.sizes if size <= SPARK_LIMIT]
    if not sizes:
        return {"not_run": f"no size up to {SPARK_LIMIT:.0e} asked for"}
    files = data.write(plan.folder, max(sizes))
    with tempfile.TemporaryDirectory(dir=plan.folder) as scratch:
        memory = _aggregated(plan, files, Path(scratch), "memory")
        remote = _aggregated(plan, files, Path(scratch), "spark")
        found = {"annotations": files.n_annotations, "memory": memory, "spark": remote}
        found |= _weights_apart(memory, remote)
        if "seconds" in memory and "seconds" in remote:
            paths = {
                "one": str(Path(scratch) / "memory.parquet"),
                "other": str(Path(scratch) / "spark.parquet"),
                "gold": str(files.gold),
            }
            found |= child("compare", paths, 3600)
    return found


def _aggregated(
    plan: Plan, files: data.Files, scratch: Path, engine: str, **more: int
) -> dict[str, Any]:
    spec = {
        "engine": engine, "crowd": str(files.crowd), "out": str(scratch / f"{engine}.parquet"),
        "rounds": plan.rounds, "threads": max(plan.threads),
        "warm": str(data.write(plan.folder, WARM).crowd), **more,
    }  # fmt: skip
    found = child("scale_child", spec, 4 * plan.budget)
    if "seconds" in found:
        say(f"  {engine}: {found['seconds']:.1f} s, {found['peak_bytes'] / 2**20:.0f} MiB")
    else:
        say(f"  {engine}: {found['failed']}")
    return found


def _weights_apart(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The largest difference of two runs' weights, by annotator; they are dropped from the runs."""
    a, b = one.pop("weights", {}), other.pop("weights", {})
    if not a or set(a) != set(b):
        return {"weights_apart": None}
    return {"weights_apart": max(abs(a[name] - b[name]) for name in a)}


#: By the names of their results.
JOBS: dict[str, Callable[[Plan], dict[str, Any]]] = {"out_of_core": out_of_core, "spark": spark}
