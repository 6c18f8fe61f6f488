"""Does jobs one after the other in a process that may crash, hang or run out of memory.

A line ``KIND FIRST LAST`` on standard input asks for jobs; every job is answered by a line of JSON. A job
that hangs ends the process (:mod:`tests.attack.alarm`); ``$SEQTRUTH_ATTACK_HANG`` is how many seconds of
processor time it may use.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import time
import traceback
from pathlib import Path
from tempfile import mkdtemp

from tests.attack import alarm, jobs
from tests.attack.specimens import Specimen

#: Memory that a job may take beyond what the process has at its start; small files never need as much.
MEMORY = 3 << 30


def main() -> None:
    room = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    base = Path(mkdtemp(prefix="seqtruth-attack-", dir=room))
    print(json.dumps({"ready": str(base)}), flush=True)
    bounded, hang = False, float(os.environ["SEQTRUTH_ATTACK_HANG"])
    alarm.ready()
    for line in sys.stdin:
        kind, first, last = line.split()
        jobs.specimens() if kind == "inputs" else jobs.saved()
        if not bounded:
            _bound_memory()
            bounded = True
        print(json.dumps({"warm": kind}), flush=True)
        for number in range(int(first), int(last)):
            print(json.dumps(_one(kind, number, base / "x", hang)), flush=True)
    shutil.rmtree(base, ignore_errors=True)


def _bound_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _one(kind: str, number: int, place: Path, hang: float) -> dict[str, object]:
    place.mkdir(parents=True)
    began = time.process_time()
    try:
        with alarm.at_most(hang):
            answer: dict[str, object] = {"said": jobs.run(kind, number, place)}
        used = time.process_time() - began
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        used = time.process_time() - began
        where = traceback.extract_tb(error.__traceback__)[-1]
        answer = {
            "said": "nameless" if "does not name the file" in str(error) else "traceback",
            "error": f"{type(error).__name__}: {error}"[:500],
            "where": f"{where.filename.rpartition('/src/')[2]}:{where.lineno}",
            "trace": traceback.format_exc()[-3000:],
        }
        if kind == "inputs":
            answer["smallest"] = _smallest(number, place, type(error)).decode("latin-1")
    shutil.rmtree(place, ignore_errors=True)
    return {"number": number, "ms": round(1000 * used, 1), **answer}


def _smallest(number: int, place: Path, kind: type[BaseException], seconds: float = 4.0) -> bytes:
    """The changed file with pieces left out as long as the same kind of error comes of it."""
    whole = jobs.input_of(number)
    name = max(whole.files, key=lambda one: len(whole.files[one])) if not whole.folder else None
    if name is None:
        return b""
    data, until = whole.files[name], time.monotonic() + seconds
    size = max(1, len(data) // 2)
    while size and time.monotonic() < until:
        at = 0
        while at < len(data) and time.monotonic() < until:
            shorter = data[:at] + data[at + size :]
            if _fails(whole._replace(files={name: shorter}), place, kind):
                data = shorter
            else:
                at += size
        size //= 2
    return data[:4000]


def _fails(specimen: Specimen, place: Path, kind: type[BaseException]) -> bool:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    try:
        jobs.read_input(specimen, place, deep=True)
    except kind:
        return True
    except BaseException:
        return False
    return False


if __name__ == "__main__":
    main()
