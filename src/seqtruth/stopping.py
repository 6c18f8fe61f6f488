"""Letting jobs in other threads know that their answers are no longer wanted.

Python tells the main thread of Ctrl-C and nobody else. Whoever runs jobs beside each other
(:func:`together`) runs each in :func:`stoppable`, and what takes long (an epoch, a
step of L-BFGS) asks :func:`check_stop` on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from threading import Event
from typing import TypeVar

R = TypeVar("R")

_STOP: ContextVar[Event | None] = ContextVar("_STOP", default=None)


class Stopped(Exception):
    """The answer is no longer wanted; whoever asked has gone on."""


def stoppable(job: Callable[[], R], stop: Event) -> Callable[[], R]:
    """The job, for another thread, ending at its next :func:`check_stop` once ``stop`` is set."""

    def run() -> R:
        _STOP.set(stop)
        return job()

    context = copy_context()
    return lambda: context.run(run)


def check_stop() -> None:
    """Raise :class:`Stopped` where the job that this is part of is no longer wanted.

    >>> stop = Event(); stop.set()
    >>> stoppable(check_stop, stop)()
    Traceback (most recent call last):
    ...
    seqtruth.stopping.Stopped
    >>> check_stop()
    """
    stop = _STOP.get()
    if stop is not None and stop.is_set():
        raise Stopped


def together(jobs: Sequence[Callable[[], R]], at_once: int) -> list[R]:
    """Run jobs beside each other in threads; what they give, in their order.

    Parameters
    ----------
    jobs : what to run.
    at_once : threads.
    """
    stop = Event()
    with ThreadPoolExecutor(max(1, min(at_once, len(jobs)))) as pool:
        running = [pool.submit(stoppable(job, stop)) for job in jobs]
        try:
            return [one.result() for one in running]
        except BaseException:  # also Ctrl-C: what has not begun never will, what has ends soon
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
