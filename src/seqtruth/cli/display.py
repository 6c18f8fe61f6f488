"""What the command line shows: data on stdout, everything else on stderr."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Work shorter than this shows no progress.
PATIENCE = 1.0


class _Relay(logging.Handler):
    """Shows the library's log as one live line (terminal) or as plain lines (elsewhere)."""

    def __init__(self, title: str) -> None:
        super().__init__(logging.INFO)
        self.title, self.text = title, ""
        self.status: Any = None
        self.since, self.shown = time.perf_counter(), False
        self.live = sys.stderr.isatty()

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()
        if self.shown:
            self.show()

    def start(self) -> None:
        self.shown = True
        self.show()

    def show(self) -> None:
        seconds = time.perf_counter() - self.since
        line = f"{self.title}: {self.text}" if self.text else self.title
        if not self.live:
            print(f"{line} ({seconds:.0f} s)", file=sys.stderr, flush=True)
            return
        if self.status is None:
            from rich.console import Console

            self.status = Console(stderr=True).status("")
            self.status.start()
        self.status.update(line)

    def finish(self) -> None:
        if self.status is not None:
            self.status.stop()


@contextmanager
def progress(title: str, quiet: bool = False) -> Iterator[None]:
    """Progress on stderr for what runs inside, once it has taken longer than a second."""
    if quiet:
        yield
        return
    relay = _Relay(title)
    timer = threading.Timer(PATIENCE, relay.start)
    timer.daemon = True
    log = logging.getLogger("seqtruth")
    level = log.level
    log.addHandler(relay)
    log.setLevel(logging.INFO)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        relay.finish()
        log.removeHandler(relay)
        log.setLevel(level)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
    """A table on stdout; numbers to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    grid = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for i, name in enumerate(columns):
        numeric = all(isinstance(row[i], int | float) or row[i] == "" for row in rows)
        grid.add_column(name, justify="right" if numeric and rows else "left", no_wrap=i == 0)
    for row in rows:
        grid.add_row(*(cell(value) for value in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(100, console.width))
    console.print(grid)


def cell(value: Any) -> str:
    """A value as a table shows it."""
    if isinstance(value, float):
        return "–" if value != value else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def note(text: str) -> None:
    """A remark for the person at the terminal."""
    print(text, file=sys.stderr, flush=True)


class Memory:
    """Peak memory of a stretch of work, in MiB, where the system tells (Linux)."""

    def __init__(self) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5")
            self.known = True
        except OSError:
            self.known = False

    def peak(self) -> float:
        if not self.known:
            return float("nan")
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return float("nan")
