"""What the command line shows: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from seqtruth.text_tables import cell

#: Characters that move the cursor, change colours or worse; line ends and tabs are not among them.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
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
            note(f"{line} ({seconds:.0f} s)")
            return
        if self.status is None:
            self.status = console(stderr=True).status("")
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


def console(**options: Any) -> Any:
    """A rich console; with NO_COLOR set, one that writes no colours and no styles."""
    from rich.console import Console

    if os.environ.get("NO_COLOR"):
        options |= {"color_system": None, "highlight": False}
    return Console(**options)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
    """A table on stdout; numbers to the right and never cut, long words folded."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(columns):
        if rows and all(isinstance(row[i], int | float) for row in rows):
            wide = max(len(name), *(len(cell(row[i])) for row in rows))
            grid.add_column(name, justify="right", no_wrap=True, min_width=wide)
        else:
            grid.add_column(name, overflow="fold")
    for row in rows:
        grid.add_row(*(escape(harmless(cell(value))) for value in row))
    out = console()
    if not out.is_terminal:
        out = console(width=max(100, out.width))
    if title is not None:
        out.print(title, style="italic", markup=False, highlight=False)
    out.print(grid)


def print_json(value: Any, indent: int | None = 1) -> None:
    """JSON on stdout; what JSON has no word for (nan, inf) is null."""
    print(json.dumps(_plain(value), indent=indent, allow_nan=False), flush=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


def note(text: str) -> None:
    """A remark for the person at the terminal, with the time where that was asked for."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S%z ") if _stamped else ""
    lines = harmless(text).split("\n")
    print("\n".join(stamp + line for line in lines), file=sys.stderr, flush=True)


def harmless(text: str) -> str:
    r"""Text whose control characters, which a terminal would obey, are shown as what they are.

    >>> print(harmless("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


_stamped = False


def timestamps(wanted: bool) -> None:
    """Whether remarks begin with the time."""
    global _stamped
    _stamped = wanted
