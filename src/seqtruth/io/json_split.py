"""Cutting a stream of JSON into its values without parsing it.

A value that is an object or an array ends where its brackets are balanced, brackets in strings not
counted. A kernel finds those places, at several times the speed of a parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np

from seqtruth.io.chunks import too_long
from seqtruth.kernels.native import call
from seqtruth.limits import max_record


class Piece(NamedTuple):
    """A bracketed ``value``; what stands ``between`` two; the ``last`` such before the array's closing
    bracket; what comes from that bracket on (``after``). Without such a bracket a stream closes with
    what stands after the last value (``end``), or with a value that is ``cut off``.
    """

    kind: Literal["value", "between", "last", "after", "end", "cut off"]
    data: bytes | memoryview
    line: int


class Splitter:
    """Cuts a stream before each outermost opening bracket and after each outermost closing one.

    A closing bracket too many is the end of the array whose opening bracket was left away.
    """

    def __init__(self, name: str, line: int = 1) -> None:
        self.name, self.line = name, line
        self._state = np.zeros(
            3, np.int64
        )  # brackets that are open, inside a string, behind a backslash
        self._in_value = self._ended = False
        self._waiting: list[bytes] = []
        self._size, self._most = 0, max_record()

    def split(self, chunks: Iterable[bytes]) -> Iterator[Piece]:
        """All pieces of a stream, in order."""
        for chunk in chunks:
            if self._ended:
                yield Piece("after", chunk, self.line)
                self.line += chunk.count(b"\n")
            elif chunk:
                yield from self._pieces(chunk)
        if not self._ended:
            yield Piece("cut off" if self._in_value else "end", self._join(b""), self.line)

    def _pieces(self, chunk: bytes) -> Iterator[Piece]:
        place = 0
        view = memoryview(chunk)
        cuts = self._cuts(chunk)
        last = len(cuts) - 1 if self._ended else -1
        for number, cut in enumerate(cuts):
            waited = sum(part.count(b"\n") for part in self._waiting)
            data = self._join(view[place:cut])
            kind: Literal["value", "between"] = "value" if self._in_value else "between"
            yield Piece("last" if number == last else kind, data, self.line)
            self.line += waited + chunk.count(b"\n", place, cut)
            self._in_value = not self._in_value
            place = cut
        if self._ended:
            yield Piece("after", view[place:], self.line)
            self.line += chunk.count(b"\n", place)
        elif place < len(chunk):
            self._wait(chunk[place:])

    def _join(self, data: bytes | memoryview) -> bytes | memoryview:
        if not self._waiting:
            return data
        joined = b"".join([*self._waiting, data])
        self._waiting, self._size = [], 0
        return joined

    def _wait(self, data: bytes) -> None:
        if not self._in_value and not self._waiting and data.isspace():
            self.line += data.count(b"\n")
            return
        self._waiting.append(data)
        self._size += len(data)
        if self._size > self._most:
            raise too_long(self.name, self.line)

    def _cuts(self, chunk: bytes) -> list[int]:
        places = np.empty(len(chunk), np.int64)
        n = call("find_cuts", np.frombuffer(chunk, np.uint8), self._state, places)
        self._ended = bool(self._state[0] < 0)
        found: list[int] = places[:n].tolist()
        return found
