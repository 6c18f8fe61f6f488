"""What a user meets first: seconds of processor time of single commands, and the size of the installation."""

from __future__ import annotations

import importlib.metadata as metadata
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REPEATS = 5
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
    start = [sys.executable, "-m", "seqtruth"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "tiny.csv").write_text(TINY)
        subprocess.run([*start, "demo", "-o", scratch], check=True, capture_output=True)
        out = ["-o", str(folder / "truth.csv"), "-q"]
        tiny = [*start, "aggregate", str(folder / "tiny.csv"), *out]
        demo = [*start, "aggregate", str(folder / "crowd.conll"), *out]
        fresh = min(_cpu(tiny, folder / f"empty{n}") for n in range(2))
        kept = folder / "bytecode"
        seconds = [
            ("import seqtruth", _best([sys.executable, "-c", "import seqtruth"], kept), 0.05),
            ("seqtruth --help", _best([*start, "--help"], kept), 0.2),
            ("aggregate two sentences, for the first time", fresh, 3.0),
            ("aggregate two sentences, again", _best(tiny, kept), 1.0),
            ("aggregate the demo, with the default", _best(demo, kept), 2.5),
        ]
    rows = [{"what": what, "is": cpu, "unit": "CPU s", "most": most} for what, cpu, most in seconds]
    size = installed_bytes("seqtruth") / 1e6
    return [*rows, {"what": "installation, core", "is": size, "unit": "MB", "most": 320}]


def _best(command: list[str], bytecode: Path) -> float:
    _cpu(command, bytecode)
    return min(_cpu(command, bytecode) for _ in range(REPEATS))


def _cpu(command: list[str], bytecode: Path) -> float:
    """Processor seconds of a command, on one core, that keeps Python's bytecode in a folder."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(bytecode), "SEQTRUTH_THREADS": "1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def installed_bytes(name: str) -> int:
    """Bytes of a distribution's files and of all that it needs, extras apart."""
    todo, seen, total = [name], set(), 0
    while todo:
        this = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if this in seen:
            continue
        seen.add(this)
        found = metadata.distribution(this)
        if this == "seqtruth":  # which may be installed from where it is worked on
            import seqtruth

            files = [path for path in Path(seqtruth.__file__).parent.rglob("*") if path.is_file()]
        else:
            files = [Path(str(found.locate_file(file))) for file in found.files or ()]
        total += sum(
            file.stat().st_size for file in files if file.exists() and file.suffix != ".pyc"
        )
        for text in found.requires or ():
            if "extra ==" not in text and not re.search(r"(platform|python_version)", text):
                todo.append(re.match(r"[\w.-]+", text)[0])
    return total
