"""Workers with a watchdog: a crash or a hang is recorded with its number, and the run goes on."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.attack import alarm

#: Seconds of processor time after which a job is called a hang, and seconds without any answer, which also
#: find a job that waits for ever; those are many, because a busy machine may have no time for us.
HANG, SILENCE = 10.0, 600.0
BATCH = 500


@dataclass
class Tally:
    """What has come of jobs ``0 … done - 1`` of a kind."""

    kind: str
    done: int = 0
    said: Counter[str] = field(default_factory=Counter)
    slowest_ms: float = 0.0
    findings: list[dict[str, Any]] = field(default_factory=list)

    def add(self, answer: dict[str, Any]) -> None:
        self.done = answer["number"] + 1
        self.said[answer["said"]] += 1
        self.slowest_ms = max(self.slowest_ms, answer["ms"])
        if answer["said"] not in ("read", "refused"):
            self.findings.append(answer)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "done": self.done,
            "said": dict(self.said),
            "slowest_ms": self.slowest_ms,
            "findings": self.findings,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Tally:
        return cls(
            data["kind"], data["done"], Counter(data["said"]), data["slowest_ms"], data["findings"]
        )


class Worker:
    """A process that does jobs."""

    def __init__(self, environment: dict[str, str], program: str = "tests.attack.worker") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", program],
            env={**os.environ, "SEQTRUTH_ATTACK_HANG": str(HANG), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.errors: list[str] = []
        self.folder: Path | None = None
        self._threads = [
            threading.Thread(target=heard, daemon=True)
            for heard in (self._listen, self._hear_errors)
        ]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _hear_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors = [*self.errors[-40:], line]

    def ask(self, kind: str, first: int, last: int) -> Iterator[dict[str, Any]]:
        """Answers to jobs; the last one may be that the process crashed or hangs."""
        assert self.process.stdin is not None
        number = first
        try:
            self.process.stdin.write(f"{kind} {first} {last}\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it is dead, which is heard below
        while number < last:
            try:
                line = self.lines.get(timeout=SILENCE)
            except queue.Empty:
                self.stop()
                yield {"number": number, "said": "hang", "ms": 0.0, "error": "no answer"}
                return
            if line is None:
                yield {"number": number, "ms": 0.0, **self._death()}
                return
            answer = json.loads(line)
            if "ready" in answer:
                self.folder = Path(answer["ready"])
            elif "number" in answer:
                number = answer["number"] + 1
                yield answer

    def _death(self) -> dict[str, Any]:
        """Why the process ended: it crashed, or used more processor time than it may."""
        code = self.process.wait()
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        self.stop()
        said = "hang" if code == -alarm.SIGNAL else "crash"
        return {"said": said, "error": name, "trace": "".join(self.errors)[-2000:]}

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(10)
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def attack(
    tally: Tally,
    until: int,
    environment: dict[str, str] | None = None,
    workers: int = 1,
    program: str = "tests.attack.worker",
) -> Iterator[Tally]:
    """Jobs up to number ``until``; yields the tally after every batch, in order of numbers."""
    pool: list[Worker | None] = [None] * workers
    todo: queue.Queue[tuple[int, int] | None] = queue.Queue()
    done: queue.Queue[tuple[int, list[dict[str, Any]]]] = queue.Queue()
    starts = list(range(tally.done, until, BATCH))
    for first in starts:
        todo.put((first, min(first + BATCH, until)))

    def serve(place: int) -> None:
        while True:
            try:
                task = todo.get_nowait()
            except queue.Empty:
                return
            assert task is not None
            number, last = task
            answers: list[dict[str, Any]] = []
            while number < last:
                worker = pool[place]
                if worker is None or worker.process.poll() is not None:
                    worker = pool[place] = Worker(environment or {}, program)
                for answer in worker.ask(tally.kind, number, last):
                    answers.append(answer)
                    number = answer["number"] + 1
            done.put((task[0], answers))

    threads = [threading.Thread(target=serve, args=(n,), daemon=True) for n in range(workers)]
    for thread in threads:
        thread.start()
    held: dict[int, list[dict[str, Any]]] = {}
    try:
        for first in starts:  # batches are counted in order, so that ``done`` says where to go on
            while first not in held:
                key, answers = done.get()
                held[key] = answers
            for answer in held.pop(first):
                tally.add(answer)
            yield tally
    finally:
        while not todo.empty():
            todo.get_nowait()
        for worker in pool:
            if worker is not None:
                worker.stop()
