"""Reading a long table whose rows are in no order at all: CPU seconds and peak memory.

python -m bench.shuffled --annotations 10000000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from bench import data
from bench.child import peak_bytes


def write(folder: Path, n_annotations: int) -> Path:
    """The crowd of :mod:`bench.data` in a random order, made if not there yet."""
    import numpy as np
    import pyarrow.parquet as pq

    target = folder / f"shuffled-{n_annotations}.parquet"
    if not target.exists():
        table = pq.read_table(data.write(folder, n_annotations).crowd)
        order = np.random.default_rng(0).permutation(len(table))
        pq.write_table(table.take(order), target)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--annotations", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=Path("bench-data"))
    parser.add_argument("--child", type=Path, help="read this file in this process")
    args = parser.parse_args()
    if args.child is None:  # in a process of its own, whose peak is that of reading
        path = write(args.folder, args.annotations)
        command = [sys.executable, "-m", "bench.shuffled", "--child", str(path)]
        subprocess.run(command, check=True)
        return
    import seqtruth as st

    began = time.process_time()
    crowd = st.read(args.child)
    row = {
        "rows": len(crowd.tags), "cpu_seconds": round(time.process_time() - began, 2),
        "peak_megabytes": round(peak_bytes() / 1e6),
    }  # fmt: skip
    print(json.dumps(row))


if __name__ == "__main__":
    main()
