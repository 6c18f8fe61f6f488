"""Methods, predictors and formats by their words: ours, and those of other packages (entry points)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from seqtruth.errors import ParameterError, PluginWarning

T = TypeVar("T")


@cache
def _announced(group: str) -> tuple[EntryPoint, ...]:
    """What installed packages announce in a group; looked up once, nothing is imported."""
    return tuple(entry_points(group=group))


class Registry(Mapping[str, T], Generic[T]):
    """Things by the word a user types: ours first, then those that installed packages announce.

    Another package's thing is imported when its word is first used (or all are listed). One that cannot
    be imported is a :class:`~seqtruth.errors.PluginWarning` that names it, and is not there. Words are
    never taken over: ours stay ours, and of two packages with one word the first keeps it, both with a
    warning.

    Parameters
    ----------
    group : name of the entry points, such as ``seqtruth.methods``.
    kind : what the things are, for messages: ``method``.
    ours : ours by word.
    wanted : what a thing must have to be one of these; names of attributes.
    """

    def __init__(
        self, group: str, kind: str, ours: Mapping[str, T], wanted: tuple[str, ...] = ()
    ) -> None:
        self.group, self.kind = group, kind
        self._here: dict[str, T] = dict(ours)
        self._ours = frozenset(ours)
        self._wanted = wanted
        self._doors: dict[str, EntryPoint] | None = None

    def register(self, word: str, thing: T) -> T:
        """Add a thing for this process only, as in a notebook; a word that is taken is refused."""
        if word in self:
            raise ParameterError(f"there is a {self.kind} of this name already", got=repr(word))
        self._here[word] = thing
        return thing

    def unregister(self, word: str) -> None:
        """Take back what :meth:`register` added."""
        if word in self._ours:
            raise ParameterError(f"{word!r} is a {self.kind} of seqtruth's own")
        self._here.pop(word, None)

    def __getitem__(self, word: str) -> T:
        doors = self._announcements()
        if word not in self._here and word in doors:
            self._open(doors.pop(word))
        return self._here[word]

    def __iter__(self) -> Iterator[str]:
        doors = self._announcements()
        while doors:
            self._open(doors.pop(next(iter(doors))))
        return iter(tuple(self._here))

    def __len__(self) -> int:
        return len(tuple(iter(self)))

    def _announcements(self) -> dict[str, EntryPoint]:
        if self._doors is None:
            self._doors = {}
            for point in _announced(self.group):
                if point.name in self._ours or point.name in self._doors:
                    whose = "seqtruth's own" if point.name in self._ours else "another package's"
                    self._warn(point, f"is left out: the name is {whose}")
                else:
                    self._doors[point.name] = point
        return self._doors

    def _open(self, point: EntryPoint) -> None:
        try:
            thing = point.load()
        except Exception as error:  # whatever a stranger's module does when it is imported
            self._warn(point, f"cannot be imported ({type(error).__name__}: {error})")
            return
        missing = [name for name in self._wanted if not hasattr(thing, name)]
        if missing:
            self._warn(point, f"is no {self.kind}: it lacks {', '.join(missing)}")
            return
        self._here[point.name] = thing

    def _warn(self, point: EntryPoint, what: str) -> None:
        package = "" if point.dist is None else f" of the package {point.dist.name}"
        warnings.warn(f"{self.kind} {point.name!r}{package} {what}", PluginWarning, stacklevel=4)
