"""Columns that grow part by part in one piece of memory; joining parts at the end would need it twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.errors import DataError
from seqtruth.io.text_batch import Texts

#: How much is added when there is no room: one part in so many.
_MORE = 16


class Growing:
    """A column of numbers.

    Parameters
    ----------
    dtype : of the numbers; parts of other types are turned into it.
    width : numbers in a row, for a table.
    """

    def __init__(self, dtype: npt.DTypeLike, width: int = 0) -> None:
        self._held = np.empty((0, width) if width else 0, dtype)
        self._given = False
        self.size = 0

    def append(self, part: npt.ArrayLike) -> None:
        """Add numbers, or rows, at the end."""
        values = np.asarray(part)
        end = self.size + len(values)
        if self._given:  # somebody has it as it is
            self._held, self._given = self._held.copy(), False
        if end > len(self._held):
            self._held.resize((end + end // _MORE, *self._held.shape[1:]), refcheck=False)
        self._held[self.size : end] = values
        self.size = end

    def reserve(self, n: int) -> None:
        """Take room for so many before there are any: memory that is not written to is not used."""
        if not self.size:
            self._held = np.empty((n, *self._held.shape[1:]), self._held.dtype)

    def widen(self, dtype: npt.DTypeLike) -> None:
        """Go on with larger numbers."""
        if np.dtype(dtype).itemsize > self._held.dtype.itemsize:
            self._held, self._given = self._held[: self.size].astype(dtype), False

    def whole(self) -> npt.NDArray[Any]:
        """All of it."""
        if not self._given:
            self._held.resize((self.size, *self._held.shape[1:]), refcheck=False)
            self._given = True
        return self._held


class GrowingTexts:
    """A column of strings."""

    def __init__(self) -> None:
        self._offsets, self._data = Growing(np.int64), Growing(np.uint8)
        self._offsets.append([0])

    @property
    def size(self) -> int:
        """Number of strings."""
        return self._offsets.size - 1

    def reserve(self, n: int, n_bytes: int) -> None:
        """Take room for so many strings with so many bytes before there are any."""
        if not self.size:
            self._offsets, self._data = Growing(np.int64), Growing(np.uint8)
            self._offsets.reserve(n + 1)
            self._offsets.append([0])
            self._data.reserve(n_bytes)

    def append(self, texts: Texts) -> None:
        """Add strings that are bytes already."""
        ends = np.cumsum(texts.sizes, dtype=np.int64)
        ends += self._data.size
        self._offsets.append(ends)
        self._data.append(texts.data)

    def extend(self, strings: list[str]) -> None:
        """Add strings."""
        whole = "".join(strings)
        if whole.isascii():
            sizes = np.fromiter(map(len, strings), np.int32, len(strings))
            self.append(Texts(sizes, np.frombuffer(whole.encode(), np.uint8)))
            return
        try:
            parts = [text.encode() for text in strings]
        except UnicodeEncodeError:
            raise DataError("a text holds half a surrogate pair") from None
        sizes = np.fromiter(map(len, parts), np.int32, len(parts))
        self.append(Texts(sizes, np.frombuffer(b"".join(parts), np.uint8)))

    def whole(self) -> pa.Array:
        """All of them."""
        buffers = [None, pa.py_buffer(self._offsets.whole()), pa.py_buffer(self._data.whole())]
        return pa.Array.from_buffers(pa.large_string(), self.size, buffers)


def string_array(strings: Iterable[str]) -> pa.Array:
    """Strings as a column; ``pa.array`` and ``pa.scalar`` would load pandas first, where it is installed."""
    found = GrowingTexts()
    found.extend(list(strings))
    return found.whole()


def counting(n: int) -> pa.Array:
    """The numbers from 0 to n - 1 as strings.

    >>> counting(11)[-2:].to_pylist()
    ['9', '10']
    """
    found = GrowingTexts()
    first, digits = 0, 1
    while first < n:
        end = min(n, 10**digits)
        values = np.arange(first, end)
        signs = np.empty((len(values), digits), np.uint8)
        for place in range(digits - 1, -1, -1):
            values, signs[:, place] = np.divmod(values, 10)
        signs += ord("0")
        found.append(Texts(np.full(len(values), digits, np.int32), signs.ravel()))
        first, digits = end, digits + 1
    return found.whole()
