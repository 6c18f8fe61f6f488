"""What a run costs: wall time and peak memory."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Memory:
    """Resident memory during a stretch of work, in MiB, where the system tells (Linux)."""

    def __init__(self) -> None:
        gc.collect()
        try:
            Path("/proc/self/clear_refs").write_text("5")
            self.known = True
        except OSError:
            self.known = False
        self.before = self._now("VmRSS:")

    def peak(self) -> float:
        """The most since the beginning; nan where the system does not tell."""
        return self._now("VmHWM:")

    def _now(self, name: str) -> float:
        if not self.known:
            return float("nan")
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
        return float("nan")


class Cost(NamedTuple):
    """Wall time, the most resident memory, and how much of it was not there before."""

    seconds: float
    peak_mib: float
    added_mib: float


def measured(work: Callable[[], T]) -> tuple[T, Cost]:
    """What ``work`` gives, and what it cost."""
    memory, began = Memory(), time.perf_counter()
    found = work()
    seconds, peak = time.perf_counter() - began, memory.peak()
    return found, Cost(seconds, peak, peak - memory.before)
