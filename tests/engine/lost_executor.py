"""A job on a Spark cluster of two executors, one of which dies in the middle; prints one line of JSON.

Run by ``test_lost_executor.py`` in a process of its own, because a process has one Spark session.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.engine import spark as engine
from seqtruth.engine.base import Sums
from seqtruth.engine.spark import SparkParts


def parent(pid: int) -> int:
    """The process that started a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def executor() -> int:
    """The executor that this Python worker belongs to: the first Java above it."""
    pid = os.getpid()
    while Path(f"/proc/{pid}/comm").read_text().strip() != "java":
        pid = parent(pid)
        assert pid > 1, "no Java above"
    return pid


def deadly(part: Crowd, function: Callable[[Crowd], Sums], mark: str) -> Sums:
    """Do the work, and kill the own executor before the answer gets out; once."""
    found = function(part)
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return found
    os.kill(executor(), signal.SIGKILL)
    return found


class Dying(SparkParts):
    """The same parts; in one of the passes an executor dies."""

    passes = 0

    def add_up(self, function: Callable[[Crowd], Sums]) -> Sums:
        self.passes += 1
        if self.passes == self.fatal:
            function = partial(deadly, function=function, mark=self.mark)
        return super().add_up(function)

    def seeing_text(self) -> SparkParts:
        return self

    def _shown(self) -> Any:
        return self.packed


def main(folder: Path) -> None:
    from pyspark.sql import SparkSession  # doctest imports this file where there is no Spark

    warnings.simplefilter("ignore")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    source = str(Path(engine.__file__).resolve().parents[2])
    tests = str(Path(__file__).resolve().parents[2])
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executorEnv.PYTHONPATH", f"{source}:{tests}")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    st.write(st.datasets.load("demo").crowd[:120], folder / "crowd.parquet")
    frame = session.read.parquet(str(folder / "crowd.parquet"))
    parts, found = SparkParts.of(frame, partitions=2), {}
    for name, method, fatal in (
        ("bsc-seq", st.BSCSeq(max_iter=2), 3),
        ("accord", st.Accord(predictor=st.predictors.CRF(max_iter=4)), 1),
    ):
        calm = labels(method.fit(parts))
        dying = Dying(parts.packed, parts.facts, parts.n_partitions, with_text=True)
        dying.fatal, dying.mark = fatal, str(folder / f"dead-{name}")
        struck = labels(method.fit(dying))
        found[name] = {
            "killed": os.path.exists(dying.mark),
            "rows": len(calm[0]),
            "same_labels": calm[0] == struck[0],
            "same_bits": bool(np.array_equal(calm[1], struck[1])),
        }
    print(json.dumps(found))
    session.stop()


def labels(result: st.StoredResult) -> tuple[list[Any], np.ndarray]:
    """All labels with their confidences, in order; and the annotators' weights."""
    rows = result.parts.labels(result.label).collect()
    told = sorted((r["task"], r["token_index"], r["label"], r["confidence"]) for r in rows)
    return told, result.annotators.weight


if __name__ == "__main__":
    main(Path(sys.argv[1]))
