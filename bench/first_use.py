"""What a user meets first: seconds of processor time of single commands, and the size of the installation.

They are measured in an environment of their own with the core only, since Arrow imports pandas wherever that
is installed. ``python -m bench.first_use`` prints the rows.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REPEATS = 5
ROOT = Path(__file__).parents[1]
TINY = """task,worker,token_index,token,label
1,a,0,Ann,B-PER
1,a,1,sings,O
1,b,0,Ann,B-PER
1,b,1,sings,O
2,a,0,Bob,B-PER
2,b,0,Bob,O
"""


def measure() -> list[dict[str, Any]]:
    """Rows of what, how much, in what, and how much it may be."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        python, size = _core_alone(folder / "core")
        start = [python, "-m", "seqtruth"]
        (folder / "tiny.csv").write_text(TINY)
        _cpu([*start, "demo", "-o", scratch], folder / "demo-bytecode")
        out = ["-o", str(folder / "truth.csv"), "-q"]
        tiny = [*start, "aggregate", str(folder / "tiny.csv"), *out]
        demo = [*start, "aggregate", str(folder / "crowd.conll"), *out]
        fresh = min(_cpu(tiny, folder / f"empty{n}") for n in range(2))
        kept = folder / "bytecode"
        seconds = [
            ("import seqtruth", _best([python, "-c", "import seqtruth"], kept), 0.05),
            ("seqtruth --help", _best([*start, "--help"], kept), 0.2),
            ("aggregate two sentences, for the first time", fresh, 3.0),
            ("aggregate two sentences, again", _best(tiny, kept), 1.0),
            ("aggregate the demo, with the default", _best(demo, kept), 2.5),
        ]
    rows = [{"what": what, "is": cpu, "unit": "CPU s", "most": most} for what, cpu, most in seconds]
    return [*rows, {"what": "installation, core", "is": size / 1e6, "unit": "MB", "most": 320}]


def _best(command: list[str], bytecode: Path) -> float:
    _cpu(command, bytecode)
    return min(_cpu(command, bytecode) for _ in range(REPEATS))


def _cpu(command: list[str], bytecode: Path) -> float:
    """Processor seconds of a command, on one core, that keeps Python's bytecode in a folder."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(bytecode), "SEQTRUTH_THREADS": "1"}
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH"):
        env.pop(name, None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def _core_alone(folder: Path) -> tuple[str, int]:
    """Python of a new environment with the core installed from this tree, and the bytes that took."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    before = _bytes(folder)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([*pip, "-c", ROOT / "constraints.txt", ROOT], check=True, env=env)
    return python, _bytes(folder) - before


def _bytes(folder: Path) -> int:
    """Of a folder's files, without Python's bytecode."""
    files = (path for path in folder.rglob("*") if path.suffix != ".pyc")
    return sum(path.lstat().st_size for path in files if not path.is_dir())


if __name__ == "__main__":
    for row in measure():
        print(json.dumps(row))
