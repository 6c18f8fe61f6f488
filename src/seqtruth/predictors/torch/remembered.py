"""What a reader made of a text is kept: the folds of a corpus ask for the same texts again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from seqtruth.kernels.arrays import F32

#: Tokens whose vectors are remembered.
MEMORY = 1_000_000
Words = tuple[str, ...]


class Remembered:
    """Vectors of texts, each read once.

    Parameters
    ----------
    read : from texts, none of them empty, to float32[n, D] of each.
    """

    def __init__(self, read: Callable[[list[Words]], list[F32]]) -> None:
        self._read = read
        self._known: dict[Words, F32] = {}
        self._size, self._lock = 0, Lock()

    def __len__(self) -> int:
        """Tokens that are remembered."""
        return self._size

    def vectors(self, texts: Sequence[Words]) -> list[F32]:
        """float32[n, D] of each text that is not empty, in their order."""
        with self._lock:
            new = sorted({text for text in texts if text and text not in self._known})
            found = dict(zip(new, self._read(new), strict=True)) if new else {}
            out = [found[t] if t in found else self._known[t] for t in texts if t]
            size = sum(map(len, found.values()))
            if self._size + size > MEMORY:
                self._known, self._size = {}, 0
            if size <= MEMORY:
                self._known |= found
                self._size += size
        return out
