"""Cutting a stream of JSON into its values without parsing it.

A value that is an object or an array ends where its brackets are balanced, brackets in strings not
counted. Array passes over each chunk find those places, at several times the speed of a parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqtruth.io.chunks import too_long
from seqtruth.limits import max_record

_QUOTE, _BACKSLASH, _CASE, _OPEN, _CLOSE = 0x22, 0x5C, 0x20, 0x7B, 0x7D


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
        self._depth = 0
        self._in_value = self._in_string = self._odd_slashes = self._ended = False
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
        codes = np.frombuffer(chunk, np.uint8)
        folded = codes | _CASE  # makes [ and { alike, and ] and }
        found = (codes == _QUOTE) | (folded == _OPEN) | (folded == _CLOSE)
        self._unmark_escaped(chunk, codes, found)
        places = np.flatnonzero(found)
        kinds = codes[places]
        quotes = kinds == _QUOTE
        string = (np.cumsum(quotes, dtype=np.int32) & 1) ^ int(self._in_string)
        if len(string):
            self._in_string = bool(string[-1])
        real = ~(quotes | string.astype(bool))
        places = places[real]
        steps = (0x7C - (kinds[real] | _CASE).astype(np.int8)).astype(np.int64)
        depths = np.cumsum(steps) + self._depth
        if len(depths):
            self._depth = int(depths[-1])
        return self._outermost(places, steps, depths)

    def _outermost(
        self, places: NDArray[np.int64], steps: NDArray[np.int64], depths: NDArray[np.int64]
    ) -> list[int]:
        below = np.flatnonzero(depths < 0)
        if len(below):
            self._ended = True
            end = int(below[0])
            places, steps, depths = places[: end + 1], steps[: end + 1], depths[: end + 1]
        at = ((depths == 1) & (steps > 0)) | (depths <= 0)
        outer = depths[at] == 0
        return [int(place) for place in places[at] + outer]

    def _unmark_escaped(
        self, chunk: bytes, codes: NDArray[np.uint8], found: NDArray[np.bool_]
    ) -> None:
        """Unmark what follows an odd run of backslashes; such a run may reach over two chunks."""
        if self._odd_slashes or b"\\" in chunk:
            slashes = np.flatnonzero(codes == _BACKSLASH)
            breaks = np.flatnonzero(np.diff(slashes) != 1) + 1
            starts = slashes[np.concatenate(([0], breaks))] if len(slashes) else slashes
            ends = slashes[np.concatenate((breaks - 1, [-1]))] + 1 if len(slashes) else slashes
            if self._odd_slashes:
                if len(starts) and starts[0] == 0:
                    starts[0] = -1
                else:
                    found[0] = False
            escaped = ends[(ends - starts) % 2 == 1]
            self._odd_slashes = bool(len(escaped)) and int(escaped[-1]) == len(chunk)
            found[escaped[escaped < len(chunk)]] = False
