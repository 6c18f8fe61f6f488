"""A crowd in parts, each changed on its way to whoever asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from seqtruth.data.crowd import Crowd
from seqtruth.engine.base import Labels, Parts, Sums
from seqtruth.engine.remembered import Remembered

T = TypeVar("T")


class ChangedParts(Parts):
    """The parts of another crowd, each put through a function that changes its tags only.

    Parameters
    ----------
    parts : the crowd.
    change : pure; sentences, tokens, labels and annotators stay as they are.
    """

    def __init__(self, parts: Parts, change: Callable[[Crowd], Crowd]) -> None:
        self._parts = parts
        self._change = change if isinstance(change, Remembered) else Remembered(change)
        self.facts = parts.facts
        self.in_memory = parts.in_memory

    @property
    def whole(self) -> Crowd:
        return self._change(self._parts.whole)

    def seeing_text(self) -> ChangedParts:
        return ChangedParts(self._parts.seeing_text(), self._change)

    def asked(self, function: Callable[[Crowd], T]) -> Callable[[Crowd], T]:
        """What ``function`` says of the changed part, asked about the original."""
        return partial(_after, change=self._change, function=function)

    def add_up(self, function: Callable[[Crowd], Sums]) -> Sums:
        return self._parts.add_up(self.asked(function))

    def gather(self, function: Callable[[Crowd], Sums]) -> list[Sums]:
        return self._parts.gather(self.asked(function))

    def write(self, function: Callable[[Crowd], Labels], path: str | Path) -> None:
        self._parts.write(self.asked(function), path)


def _after(part: Crowd, change: Callable[[Crowd], Crowd], function: Callable[[Crowd], T]) -> T:
    return function(change(part))
