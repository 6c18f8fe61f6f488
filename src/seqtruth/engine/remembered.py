"""Functions of a part that remember their answers for as long as the part lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from seqtruth.data.crowd import Crowd

T = TypeVar("T")


class Remembered(Generic[T]):
    """A pure function of a part that is asked about the same part several times.

    A crowd in memory is one object through all passes, so that nothing is worked out twice; a part
    that comes from disk or from another machine is a new object in every pass, and what was
    remembered of it goes with it. What is remembered does not travel to other machines.

    Parameters
    ----------
    function : pure; its answer must not hold on to the part.

    Examples
    --------
    >>> crowd, asked = Crowd.of({"ann": [["O"]]}, [["yes"]]), []
    >>> count = Remembered(lambda part: asked.append(part) or part.n_tokens)
    >>> count(crowd) + count(crowd), len(asked)
    (2, 1)
    """

    def __init__(self, function: Callable[[Crowd], T]) -> None:
        self.function = function
        self._answers: WeakKeyDictionary[Crowd, T] = WeakKeyDictionary()

    def __call__(self, part: Crowd) -> T:
        if part not in self._answers:
            self._answers[part] = self.function(part)
        return self._answers[part]

    def __reduce__(self) -> tuple[Any, ...]:
        return Remembered, (self.function,)
