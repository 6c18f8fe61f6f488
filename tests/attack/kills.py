"""Long commands killed at random moments, gone on with, and compared byte by byte.

A command is run whole once; then it is started again and again, killed (SIGKILL), and run once more with
``--resume`` where it can. Every other kill comes after a random part of the processor time that the command
takes (not of the clock's, so that a busy machine changes nothing), the others when the first file appears
where it writes. After the kill every output must be absent or whole; after the second run all must have the
bytes of the first, and nothing else may lie beside them.

A command that joins the house joins :func:`commands`. The review desk serves rather than ends, so its kills
have a file of their own (``tests/review/kills.py``), which the whole attack runs as well
(:func:`tests.attack.places.desk_kills`).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

import seqtruth as st
from seqtruth import io
from seqtruth.errors import SeqTruthWarning


@dataclass(frozen=True)
class Command:
    """A command to be killed: its words (``{out}`` is the folder it writes to), and those to go on."""

    name: str
    words: tuple[str, ...]
    outputs: tuple[str, ...]
    again: tuple[str, ...] = ()
    #: Files that may lie beside the outputs.
    kept: tuple[str, ...] = field(default=("kept",))


def _aggregate(name: str, method: str, *more: str, source: str = "crowd.conll") -> Command:
    """All outputs that the method has, with a checkpoint."""
    outputs = ["labels.conll", "report.html", "result.seqtruth"]
    words = ["aggregate", f"{{in}}/{source}", "-m", method, "-q", "--checkpoint", "{out}/kept"]
    words += ["-o", "{out}/labels.conll", "--report", "{out}/report.html"]
    words += ["--save", "{out}/result.seqtruth"]
    if "--tagger" in more:
        outputs.append("tagger.seqtruth")
        words += ["--tagger", "{out}/tagger.seqtruth"]
    return Command(name, tuple(words), tuple(outputs), ("--resume",))


def _deciding(name: str, output: str, *more: str) -> Command:
    """A command that reads a saved result."""
    words = (name, "{in}/result.seqtruth", *more, "-o", f"{{out}}/{output}")
    return Command(name, words, (output,))


def commands() -> list[Command]:
    """Every command that takes long or writes what somebody may have waited for."""
    torch = importlib.util.find_spec("torch") is not None
    stream = ("aggregate", "{in}/crowd.parquet", "--engine", "stream", "-m", "ds", "-q")
    return [
        _aggregate("aggregate ds", "ds"),
        _aggregate("aggregate bsc-seq", "bsc-seq"),
        _aggregate("aggregate aggslc", "aggslc:predictor=crf", "--tagger"),
        _aggregate("aggregate crf-ma", "crf-ma", "--tagger"),
        _aggregate("aggregate accord", "accord:predictor=crf", "--tagger"),
        *(
            [_aggregate("aggregate lstm-crowd", "lstm-crowd:max_iter=3", source="few.conll")]
            * torch
        ),
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
        _deciding("report", "page.html"),
        _deciding("triage", "queue.jsonl"),
        _deciding("next", "plan.csv"),
        _deciding("update", "updated.seqtruth", "{in}/more.conll"),
        Command(
            "agreement",
            ("agreement", "{in}/crowd.conll", "-q", "--json", "-o", "{out}/agreement.json"),
            ("agreement.json",),
        ),
    ]


def prepare(place: Path, sentences: int = 200) -> None:
    """What the commands read."""
    data = st.datasets.load("demo")
    crowd = data.crowd[:sentences]
    io.write(crowd, place / "crowd.conll")
    io.write(crowd[:12], place / "few.conll")
    io.write(crowd, place / "crowd.parquet", level="token")
    io.write(data.gold[:sentences], place / "gold.conll")
    io.write(data.crowd[sentences : sentences + 20], place / "more.conll")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeqTruthWarning)
        result = st.Accord(predictor=st.predictors.CRF(max_iter=5), max_iter=2).fit(crowd)
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
    """What the command writes when nobody disturbs it, and how much processor time that takes."""
    out.mkdir()
    run, seconds = _started(command, inputs, out), 0.0
    while run.poll() is None:
        seconds = max(seconds, processor_seconds(run.pid))
        time.sleep(0.01)
    said = run.stderr.read()
    if run.returncode:
        raise RuntimeError(f"{command.name} ended with {run.returncode}: {said[-2000:]}")
    found = {name: content(out / name) for name in command.outputs}
    shutil.rmtree(out)
    return found, seconds


def processor_seconds(process: int) -> float:
    """What a process has used; 0 where it is gone."""
    try:
        after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def used(seconds: float) -> Callable[[int], bool]:
    """The moment when a process has used so much processor time."""
    return lambda process: processor_seconds(process) >= seconds


def writing(out: Path, command: Command, later: float) -> Callable[[int], bool]:
    """The moment when it has begun to write outputs, or so little later."""

    def begun(_: int) -> bool:
        if all(path.name in command.kept for path in out.iterdir()):
            return False
        time.sleep(later)
        return True

    return begun


def kill(
    command: Command,
    inputs: Path,
    out: Path,
    goal: dict[str, dict[str, bytes]],
    moment: Callable[[int], bool],
) -> tuple[bool, list[str]]:
    """Start, kill at a moment, look, go on, compare; whether it still ran, and what was wrong."""
    out.mkdir()
    wrong: list[str] = []
    run = _started(command, inputs, out)
    while run.poll() is None and not moment(run.pid):
        time.sleep(0.001)
    run.kill()
    run.communicate()
    killed = run.returncode == -signal.SIGKILL
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
    return killed, wrong


class Kills:
    """Kills by number; the commands take turns, and several may run at once."""

    def __init__(self, place: Path) -> None:
        self.place, self.inputs = place, place / "in"
        self.inputs.mkdir(parents=True)
        prepare(self.inputs)
        self._goals: dict[str, tuple[dict[str, dict[str, bytes]], float]] = {}
        self._locks = {command.name: Lock() for command in commands()}

    def __call__(self, number: int) -> dict[str, Any]:
        all_commands = commands()
        command = all_commands[number % len(all_commands)]
        with self._locks[command.name]:
            if command.name not in self._goals:
                name = command.name.replace(" ", "-")
                self._goals[command.name] = whole(command, self.inputs, self.place / name)
        goal, seconds = self._goals[command.name]
        out, draw = self.place / f"kill{number}", Random(f"kill {number}")
        if number // len(all_commands) % 2:
            moment = writing(out, command, draw.uniform(0.0, 0.02))
        else:
            moment = used(draw.uniform(0.02, 1.0) * seconds)
        killed, wrong = kill(command, self.inputs, out, goal, moment)
        return {"number": number, "command": command.name, "killed": killed, "wrong": wrong}


if __name__ == "__main__":  # python -m tests.attack.kills FOLDER FIRST LAST
    one = Kills(Path(sys.argv[1]))
    for number in range(int(sys.argv[2]), int(sys.argv[3])):
        print(one(number), flush=True)
