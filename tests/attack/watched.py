"""Workers with a watchdog: a crash or a hang is recorded with its number, and the run goes on."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Seconds without an answer after which a job is called a hang; and those a worker may take to begin.
HANG, BEGIN = 10.0, 600.0
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
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.errors: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._hear_errors, daemon=True).start()

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
        number, patience = first, BEGIN
        try:
            self.process.stdin.write(f"{kind} {first} {last}\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it is dead, which is heard below
        while number < last:
            try:
                line = self._answer(patience)
            except queue.Empty:
                self.stop()
                yield {"number": number, "said": "hang", "ms": 1000 * patience}
                return
            if line is None:
                code = self.process.wait()
                name = signal.Signals(-code).name if code < 0 else f"exit {code}"
                yield {
                    "number": number,
                    "said": "crash",
                    "ms": 0.0,
                    "error": name,
                    "trace": "".join(self.errors)[-2000:],
                }
                return
            answer = json.loads(line)
            if "warm" in answer:
                patience = HANG
            elif "number" in answer:
                number = answer["number"] + 1
                yield answer

    def _answer(self, patience: float) -> str | None:
        """The next line; on a busy machine a job may wait for its turn, which is no hang."""
        used = self._processor_seconds()
        for _ in range(int(BEGIN / HANG)):
            try:
                return self.lines.get(timeout=patience)
            except queue.Empty:
                if self._processor_seconds() - used >= patience / 2 or patience > HANG:
                    raise
        raise queue.Empty

    def _processor_seconds(self) -> float:
        try:
            after_name = (
                Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            )
        except OSError:
            return 0.0
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


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
