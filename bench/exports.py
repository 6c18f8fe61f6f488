"""Reading a large export of a tool, beside parsers that do nothing with what they read.

``python -m bench.exports --megabytes 1000`` makes a Label Studio export of that size in a temporary folder
(with ``--kind``: ``jsonl``, texts with spans; ``tokens``, lines of tokens and tags; ``conll``), and reads
it in processes of their own: by ``seqtruth.read`` into a crowd, by ``seqtruth.io.read_documents``, and by
``json`` and ``orjson``, which only parse. Each is told in megabytes of the file a second of processor time
(which a busy machine blurs less than the clock), as a multiple of ``json``'s and ``orjson``'s speed in the
same run, and in its peak of memory as a multiple of the file. ``--progress`` shows how far reading is, as the
command line does.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_NAMES = ("Ada Lovelace", "Charles Babbage", "Zoë Müller", "Nguyễn Văn An", "O. Henry", "李明")
_PLACES = ("London", "São Paulo", "New York City", "Köln", "Ames", "北京")
_WORDS = re.findall(
    r"\w+",
    """
    the a of and in to said that was for on with as by at from it his her were which after under company
    market report yesterday government percent million shares announced agreement study patients treatment
    results significant between control group compared however therefore
    """,
)


def texts(seed: int = 7) -> Iterator[tuple[str, list[tuple[int, int, str]]]]:
    """Endless made texts of about 900 characters, each with the places of names in it."""
    rng = random.Random(seed)
    while True:
        parts: list[str] = []
        marks: list[tuple[int, int, str]] = []
        length = 0
        for _ in range(8):
            words = rng.choices(_WORDS, k=rng.randint(8, 20))
            words[0] = words[0].capitalize()
            for kind, some in (("PER", _NAMES), ("LOC", _PLACES)):
                if rng.random() < 0.5:
                    words.insert(rng.randrange(1, len(words)), f"\0{kind}{rng.choice(some)}")
            for number, word in enumerate(words):
                before = "" if not parts else " "
                name = word.removeprefix("\0")
                length += len(before)
                if name is not word:
                    marks.append((length, length + len(name) - 3, name[:3]))
                    name = name[3:]
                name += "." if number == len(words) - 1 else ""
                parts.append(before + name)
                length += len(name)
        yield "".join(parts), marks


def label_studio(number: int, text: str, marks: list[tuple[int, int, str]]) -> dict[str, Any]:
    """A task with three annotators, as the tool exports it."""
    rng = random.Random(number)
    annotations = []
    for person in range(3):
        result = [
            {
                "value": {"start": a, "end": b, "text": text[a:b], "labels": [label]},
                "id": f"r{number}{person}{a}", "from_name": "label", "to_name": "text",
                "type": "labels", "origin": "manual",
            }
            for a, b, label in marks if rng.random() < 0.8
        ]  # fmt: skip
        annotations.append(
            {
                "id": 3 * number + person, "completed_by": {"id": person, "email": f"p{person}@x.org"},
                "result": result, "was_cancelled": False, "ground_truth": False,
                "created_at": "2026-01-01T00:00:00Z", "lead_time": 12.5,
            }
        )  # fmt: skip
    return {
        "id": number, "annotations": annotations, "drafts": [], "predictions": [],
        "data": {"text": text}, "meta": {}, "inner_id": number, "total_annotations": 3, "project": 1,
    }  # fmt: skip


def jsonl(number: int, text: str, marks: list[tuple[int, int, str]]) -> dict[str, Any]:
    """The same as a line of ours."""
    rng = random.Random(number)
    return {
        "id": f"d{number}", "text": text,
        "annotations": {
            f"p{person}": [
                {"start": a, "end": b, "label": label} for a, b, label in marks if rng.random() < 0.8
            ]
            for person in range(3)
        },
    }  # fmt: skip


def tokens(number: int, text: str, marks: list[tuple[int, int, str]]) -> dict[str, Any]:
    """The same as a line of tokens and tags."""
    rng = random.Random(number)
    words, places = [], []
    for found in re.finditer(r"\S+", text):
        words.append(found.group())
        places.append(found.span())
    said = {}
    for person in range(3):
        tags = ["O"] * len(words)
        for a, b, label in marks:
            if rng.random() < 0.8:
                inside = [k for k, (x, y) in enumerate(places) if x < b and y > a]
                for k in inside:
                    tags[k] = f"{'B' if k == inside[0] else 'I'}-{label}"
        said[f"p{person}"] = tags
    return {"id": f"d{number}", "tokens": words, "annotations": said}


KINDS: dict[str, Callable[..., dict[str, Any]]] = {
    "label-studio": label_studio,
    "jsonl": jsonl,
    "tokens": tokens,
    "conll": tokens,
}
SUFFIXES = {"label-studio": "json", "conll": "conll"}


def _written(kind: str, number: int, text: str, marks: list[tuple[int, int, str]]) -> str:
    record = KINDS[kind](number, text, marks)
    if kind == "conll":
        rows = zip(record["tokens"], *record["annotations"].values(), strict=True)
        return "".join("\t".join(row) + "\n" for row in rows) + "\n"
    before = "," if kind == "label-studio" and number > 1 else ""
    return before + json.dumps(record, ensure_ascii=False) + "\n"


def make(path: Path, megabytes: float, kind: str) -> None:
    """A file of about this size."""
    array = kind == "label-studio"
    with open(path, "w", encoding="utf-8") as file:
        written = file.write("[" if array else "")
        for number, (text, marks) in enumerate(texts(), 1):
            record = _written(kind, number, text, marks)
            written += len(record.encode())
            file.write(record)
            if written > megabytes * 1e6:
                break
        file.write("]\n" if array else "")


def _with_json(path: Path, lines: bool) -> int:
    with open(path, encoding="utf-8") as file:
        return sum(1 for line in file if json.loads(line)) if lines else len(json.load(file))


def _with_orjson(path: Path, lines: bool) -> int:
    import orjson

    with open(path, "rb") as file:
        return (
            sum(1 for line in file if orjson.loads(line))
            if lines
            else len(orjson.loads(file.read()))
        )


def _documents(path: Path, lines: bool) -> int:
    from seqtruth import io

    return sum(1 for _ in io.read_documents(path))


def _crowd(path: Path, lines: bool) -> int:
    from seqtruth import io

    return io.read(path).n_sentences


RUNS: dict[str, Callable[[Path, bool], int]] = {
    "seqtruth.read": _crowd,
    "read_documents": _documents,
    "json": _with_json,
    "orjson": _with_orjson,
}


def _child(name: str, path: Path, lines: bool, progress: bool) -> None:
    """One run in this process; the clock stands still while modules load."""
    import seqtruth.io  # noqa: F401

    if progress:
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    started, busy = time.perf_counter(), time.process_time()
    records = RUNS[name](path, lines)
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"records": records, "seconds": seconds, "busy": busy, "peak": peak}))


def measured(
    megabytes: float, kind: str, names: tuple[str, ...], progress: bool = False
) -> tuple[int, dict[str, dict[str, float]]]:
    """Bytes of a made file, and what each reader took for it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"export.{SUFFIXES.get(kind, 'jsonl')}"
        make(path, megabytes, kind)
        found: dict[str, dict[str, float]] = {}
        for name in names if kind != "conll" else [n for n in names if n.startswith("seqtruth")]:
            command = [sys.executable, "-m", "bench.exports", "--child", name, "--kind", kind,
                       "--path", str(path), *(["--progress"] if progress else [])]  # fmt: skip
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
            found[name] = json.loads(answer)
        return path.stat().st_size, found


def table(megabytes: float, kind: str, names: tuple[str, ...], progress: bool) -> list[str]:
    """One line a reader."""
    size, found = measured(megabytes, kind, names, progress)
    speeds = {name: size / 1e6 / one["busy"] for name, one in found.items()}
    rows = [
        f"{kind}, {size / 1e6:,.0f} MB",
        f"{'reader':16} {'MB/CPU s':>9} {'× json':>7} {'× orjson':>9} {'peak/file':>10}",
    ]
    for name, one in found.items():
        beside = [
            f"{speeds[name] / speeds[other]:.2f}" if other in speeds else "–"
            for other in ("json", "orjson")
        ]
        rows.append(
            f"{name:16} {speeds[name]:9.1f} {beside[0]:>7} {beside[1]:>9} {one['peak'] / size:10.2f}"
            f"   {one['records']:,} records"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--kind", choices=list(KINDS), default="label-studio")
    parser.add_argument("--readers", default=",".join(RUNS))
    parser.add_argument("--child", choices=list(RUNS))
    parser.add_argument("--path", type=Path)
    parser.add_argument("--progress", action="store_true", help="show how far reading is")
    given = parser.parse_args()
    if given.child:
        _child(given.child, given.path, given.kind != "label-studio", given.progress)
    else:
        readers = tuple(given.readers.split(","))
        print("\n".join(table(given.megabytes, given.kind, readers, given.progress)))


if __name__ == "__main__":
    main()
