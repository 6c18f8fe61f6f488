"""An alarm by processor time: what a busy machine gives to others does not count as a hang."""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Iterator
from contextlib import contextmanager

#: The signal that ends a process whose job has used more than it may.
SIGNAL = signal.SIGPROF


def ready() -> None:
    """The alarm says on standard error where every thread is and ends the process, also inside a kernel."""
    faulthandler.enable()
    faulthandler.register(SIGNAL, chain=True)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Ends the process if what is inside uses more processor time, in all threads together."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
