"""A job for ``spark-submit``, whose executors have a packed environment only; prints one line of JSON.

Arguments: where the driver's SeqTruth is, the table, and where to write the labels.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any


def whereabouts(batches: Any) -> Iterator[Any]:
    """Which Python and which SeqTruth an executor has."""
    import sys

    import pyarrow as pa

    import seqtruth

    for _ in batches:
        yield pa.record_batch([[sys.prefix], [seqtruth.__file__]], names=["python", "seqtruth"])


def main(source: str, table: str, labels: str) -> None:
    sys.path.insert(0, source)  # of the driver alone: PYTHONPATH would reach the executors, too
    from pyspark.sql import SparkSession

    import seqtruth as st

    spark = SparkSession.builder.getOrCreate()
    frame = spark.read.parquet(table)
    found = frame.mapInArrow(whereabouts, "python string, seqtruth string").collect()
    result = st.CRH().fit(frame)
    result.write(labels)
    weights = dict(zip(result.annotators.names, result.annotators.weight.tolist(), strict=True))
    print(json.dumps({"master": spark.sparkContext.master, "weights": weights,
                      "executors": sorted({(row.python, row.seqtruth) for row in found})}))  # fmt: skip
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
