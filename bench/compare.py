"""Are two written labellings the same? ``python -m bench.compare SPEC`` prints one line of JSON."""

from __future__ import annotations

import json
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bench.quality import BATCH, Truth

COLUMNS = ["task", "token_index", "label"]


def same_rows(one: Path, other: Path) -> dict[str, Any]:
    """Row by row, in the files' order."""
    rows, equal, apart = 0, 0, 0.0
    files = [pq.ParquetFile(path) for path in (one, other)]
    batches = [file.iter_batches(BATCH, columns=[*COLUMNS, "confidence"]) for file in files]
    if files[0].metadata.num_rows != files[1].metadata.num_rows:
        return {"rows": files[0].metadata.num_rows, "equal": 0.0, "identical": False}
    for a, b in zip_longest(*batches):
        match = np.ones(a.num_rows, np.bool_)
        for name in COLUMNS:
            match &= np.asarray(_plain(a.column(name)) == _plain(b.column(name)))
        rows, equal = rows + len(match), equal + int(match.sum())
        gap = np.abs(_plain(a.column("confidence")) - _plain(b.column("confidence")))
        apart = max(apart, float(gap.max(initial=0.0)))
    return {
        "rows": rows, "equal": equal / max(rows, 1), "identical": rows == equal,
        "confidence_apart": apart,
    }  # fmt: skip


def _plain(column: Any) -> np.ndarray:
    values = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
    return values.to_numpy(zero_copy_only=False)


def same_tokens(one: Path, other: Path, gold: Path) -> dict[str, Any]:
    """Token by token, whatever the order."""
    truth = Truth(gold)
    same = truth.read(one) == truth.read(other)
    return {"rows": len(same), "equal": float(same.mean()), "identical": bool(same.all())}


def main() -> None:
    spec = json.loads(sys.argv[1])
    one, other = Path(spec["one"]), Path(spec["other"])
    if "gold" in spec:
        print(json.dumps(same_tokens(one, other, Path(spec["gold"]))))
    else:
        print(json.dumps(same_rows(one, other)))


if __name__ == "__main__":
    main()
