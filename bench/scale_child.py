"""AggSLC from Parquet to Parquet by one engine, in a process of its own; prints one line of JSON."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from typing import Any

from bench.child import limit_threads, peak_bytes


def aggregate(spec: dict[str, Any]) -> dict[str, Any]:
    """Read, fit, write; seconds, peak memory and the annotators' weights by name."""
    began = time.perf_counter()
    import seqtruth as st

    method = st.AggSLC(predictor=None, tol=0, max_iter=spec["rounds"])
    if spec["engine"] != "spark":  # kernels are loaded before the clock starts
        method.fit(_crowd(spec["engine"], spec["warm"])).write(spec["out"])
    loaded = time.perf_counter()
    result = method.fit(_crowd(spec["engine"], spec["crowd"]))
    fitted = time.perf_counter()
    result.write(spec["out"])
    done = time.perf_counter()
    weights = dict(zip(result.annotators.names, result.annotators.weight.tolist(), strict=True))
    return {
        "engine": spec["engine"],
        "import_seconds": loaded - began,
        "fit_seconds": fitted - loaded,
        "write_seconds": done - fitted,
        "seconds": done - loaded,
        "rounds": len(result.history),
        "peak_bytes": peak_bytes(),
        "weights": weights,
    }


def _crowd(engine: str, path: str) -> Any:
    import seqtruth as st

    if engine == "memory":
        return st.read(path)
    if engine == "streamed":
        from seqtruth.engine.streaming import ParquetParts

        return ParquetParts(path)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    from seqtruth.engine.spark import SparkParts

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session.config("spark.driver.memory", "2g").getOrCreate().sparkContext.setLogLevel("ERROR")
    return SparkParts.read(path)


def main() -> None:
    spec = json.loads(sys.argv[1])
    if cap := spec.get("cap_bytes"):
        # Private writable memory; address space (RLIMIT_AS) would also count what is only reserved.
        resource.setrlimit(resource.RLIMIT_DATA, (cap, cap))
    limit_threads(spec["threads"])
    warnings.simplefilter("ignore")
    print(json.dumps(aggregate(spec)))


if __name__ == "__main__":
    main()
