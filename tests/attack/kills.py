"""Long commands killed at random moments, gone on with, and compared byte by byte.

A command is run whole once; then it is started again and again, killed (SIGKILL) after a random part of the
time it takes, and run once more with ``--resume`` where it can. After the kill every output must be absent or
whole; after the second run all must have the bytes of the first, and nothing else may lie beside them.

A command that joins the house joins :func:`commands`. The review desk serves rather than ends, so its kills
have a file of their own (``tests/review/kills.py``), which the whole attack runs as well
(:func:`tests.attack.places.desk_kills`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import seqtruth as st
from seqtruth import io


@dataclass(frozen=True)
class Command:
    """A command to be killed: its words (``{out}`` is the folder it writes to), and those to go on."""

    name: str
    words: tuple[str, ...]
    outputs: tuple[str, ...]
    again: tuple[str, ...] = ()
    #: Files that may lie beside the outputs.
    kept: tuple[str, ...] = field(default=("kept",))


def _aggregate(name: str, method: str, *more: str) -> Command:
    """All outputs that the method has, with a checkpoint."""
    words = ("aggregate", "{in}/crowd.conll", "-m", method, "-q", "--checkpoint", "{out}/kept")
    outputs = ["labels.conll", "report.html", "result.seqtruth"]
    words += ("-o", "{out}/labels.conll", "--report", "{out}/report.html")
    words += ("--save", "{out}/result.seqtruth")
    if "--tagger" in more:
        outputs.append("tagger.seqtruth")
        words += ("--tagger", "{out}/tagger.seqtruth")
    return Command(name, words, tuple(outputs), ("--resume",))


def commands() -> list[Command]:
    """Every command that takes long or writes what somebody may have waited for."""
    stream = ("aggregate", "{in}/crowd.parquet", "--engine", "stream", "-m", "ds", "-q")
    return [
        _aggregate("aggregate ds", "ds"),
        _aggregate("aggregate bsc-seq", "bsc-seq"),
        _aggregate("aggregate aggslc", "aggslc:predictor=crf", "--tagger"),
        _aggregate("aggregate crf-ma", "crf-ma", "--tagger"),
        _aggregate("aggregate accord", "accord:predictor=crf", "--tagger"),
        Command(
            "aggregate stream",
            (*stream, "--checkpoint", "{out}/kept", "-o", "{out}/labels.parquet"),
            ("labels.parquet",),
            ("--resume",),
        ),
        Command("convert", ("convert", "{in}/crowd.conll", "{out}/crowd.jsonl"), ("crowd.jsonl",)),
        Command(
            "convert to a folder",
            ("convert", "{in}/crowd.conll", "{out}/folder", "--to", "conll-folder"),
            ("folder",),
        ),
        Command(
            "simulate",
            ("simulate", "{in}/gold.conll", "-o", "{out}/crowd.parquet"),
            ("crowd.parquet",),
        ),
        Command(
            "tag",
            ("tag", "{in}/tagger.seqtruth", "{in}/gold.conll", "-o", "{out}/tagged.jsonl"),
            ("tagged.jsonl",),
        ),
        Command(
            "report", ("report", "{in}/result.seqtruth", "-o", "{out}/page.html"), ("page.html",)
        ),
    ]


def prepare(place: Path, sentences: int = 200) -> None:
    """What the commands read."""
    data = st.datasets.load("demo")
    crowd = data.crowd[:sentences]
    io.write(crowd, place / "crowd.conll")
    io.write(crowd, place / "crowd.parquet", level="token")
    io.write(data.gold[:sentences], place / "gold.conll")
    result = st.AggSLC(predictor=st.predictors.CRF(max_iter=5), max_iter=2).fit(crowd)
    assert result.tagger is not None
    result.save(place / "result.seqtruth", crowd=True)
    result.tagger.save(place / "tagger.seqtruth")


def _started(command: Command, inputs: Path, out: Path, more: tuple[str, ...] = ()) -> Any:
    words = [word.format(out=out, **{"in": inputs}) for word in (*command.words, *more)]
    return subprocess.Popen(
        [sys.executable, "-m", "seqtruth", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def content(path: Path) -> dict[str, bytes]:
    """A file, or the files of a folder, by name."""
    if path.is_dir():
        return {
            p.relative_to(path).as_posix(): p.read_bytes()
            for p in sorted(path.rglob("*"))
            if p.is_file()
        }
    return {"": path.read_bytes()}


def whole(command: Command, inputs: Path, out: Path) -> tuple[dict[str, dict[str, bytes]], float]:
    """What the command writes when nobody disturbs it, and how long that takes."""
    out.mkdir()
    began = time.monotonic()
    run = _started(command, inputs, out)
    _, said = run.communicate(timeout=600)
    if run.returncode:
        raise RuntimeError(f"{command.name} ended with {run.returncode}: {said[-2000:]}")
    return {name: content(out / name) for name in command.outputs}, time.monotonic() - began


def kill(
    command: Command,
    inputs: Path,
    out: Path,
    goal: dict[str, dict[str, bytes]],
    seconds: float,
    draw: Random,
) -> list[str]:
    """Start, kill, look, go on, compare; what was wrong."""
    out.mkdir()
    wrong: list[str] = []
    run = _started(command, inputs, out)
    try:
        run.wait(draw.uniform(0.02, 1.0) * seconds)
    except subprocess.TimeoutExpired:
        run.kill()
    run.communicate()
    for name in command.outputs:
        if (out / name).exists() and content(out / name) != goal[name]:
            wrong.append(f"{name} was partial after the kill")
    if command.name == "convert to a folder" and (out / "folder").exists():
        shutil.rmtree(out / "folder")  # a folder takes the place of nothing only
    run = _started(command, inputs, out, command.again)
    _, said = run.communicate(timeout=600)
    if run.returncode:
        wrong.append(f"going on ended with {run.returncode}: {said[-500:]}")
    for name in command.outputs:
        if not (out / name).exists():
            wrong.append(f"{name} was lost")
        elif content(out / name) != goal[name]:
            wrong.append(f"{name} differs after going on")
    left = sorted(p.name for p in out.iterdir() if p.name not in (*command.outputs, *command.kept))
    if left:
        wrong.append(f"left behind: {', '.join(left)}")
    shutil.rmtree(out)
    return wrong


def kills(place: Path, first: int, last: int, goals: dict[str, Any]) -> list[dict[str, Any]]:
    """Kills number ``first`` to ``last - 1``; the commands take turns."""
    found, all_commands = [], commands()
    inputs = place / "in"
    if not inputs.exists():
        inputs.mkdir(parents=True)
        prepare(inputs)
    for number in range(first, last):
        command = all_commands[number % len(all_commands)]
        if command.name not in goals:
            shutil.rmtree(place / "whole", ignore_errors=True)
            whole(
                command, inputs, place / "whole"
            )  # compiles, so that the second run's time counts
            shutil.rmtree(place / "whole")
            goals[command.name] = whole(command, inputs, place / "whole")
            shutil.rmtree(place / "whole")
        goal, seconds = goals[command.name]
        wrong = kill(
            command, inputs, place / f"kill{number}", goal, seconds, Random(f"kill {number}")
        )
        found.append({"number": number, "command": command.name, "wrong": wrong})
    return found


if __name__ == "__main__":  # python -m tests.attack.kills FOLDER FIRST LAST
    os.nice(5)
    for one in kills(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), {}):
        print(one)
