"""Preparing a table on Spark (read, pack, shuffle, count): CPU seconds of Java and of Python's workers.

    python -m bench.spark_prepare --annotations 1000000

Spark is warm before it is measured: a small table is prepared first. The same file before and after a change,
one after the other, gives the ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from bench import data, flagship


def cpu_below(process: int) -> dict[str, float]:
    """CPU seconds of all processes below one, those that have ended included, by kind of program."""
    parents, used, names = {}, {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            text = (entry / "stat").read_text()
        except OSError:  # gone by now
            continue
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        parents[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        names[int(entry.name)] = "java" if name.startswith("java") else "python"
    found = {"java": 0.0, "python": 0.0}
    for number in parents:
        above = number
        while above not in (0, process):
            above = parents.get(above, 0)
        if above == process and number != process:
            found[names[number]] += used[number]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--annotations", type=int, default=1_000_000)
    parser.add_argument("--text", action="store_true", help="tokens and documents, too")
    parser.add_argument("--folder", type=Path, default=Path("bench-data"))
    args = parser.parse_args()
    write = (lambda n: flagship.write(args.folder, n)[0]) if args.text else None
    if write is None:
        write = lambda n: data.write(args.folder, n).crowd  # noqa: E731
    small, large = (str(write(n)) for n in (20_000, args.annotations))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    from seqtruth.engine.spark import SparkParts

    spark = (
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "2g").getOrCreate()
    )  # fmt: skip
    spark.sparkContext.setLogLevel("OFF")
    for _ in range(2):
        SparkParts.read(small).close()
    before = cpu_below(os.getpid())
    parts = SparkParts.read(large)
    after = cpu_below(os.getpid())
    found = {f"{kind}_cpu_seconds": round(after[kind] - before[kind], 2) for kind in before}
    print(json.dumps({"annotations": args.annotations, "text": args.text, **found,
                      "digest": parts.facts.digest[:12]}))  # fmt: skip
    parts.close()
    spark.stop()


if __name__ == "__main__":
    main()
