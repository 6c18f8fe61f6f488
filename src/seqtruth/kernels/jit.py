"""How our loops become machine code: plain functions over flat arrays, compiled by Numba without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.event import Event, Listener, register

P = ParamSpec("P")
R = TypeVar("R")

#: Every kernel of the modules imported so far.
_KERNELS: list[Any] = []


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` with Numba: no GIL, cached on disk, IEEE division."""
    return _compiled(function, inline=False)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """As :func:`kernel`, for what is called once a sentence or token: its code goes where it is called.

    A call hands over every array of a NamedTuple one by one, and counts references to each; inlined,
    only what is used is left of that.
    """
    return _compiled(function, inline=True)


def _compiled(function: Callable[P, R], inline: bool) -> Callable[P, R]:
    made = numba.njit(nogil=True, error_model="numpy", forceinline=inline)(function)
    # Where no folder can be written to (a hardened container), each process compiles for itself.
    with suppress(RuntimeError):
        made.enable_caching()
    _KERNELS.append(made)
    return cast(Callable[P, R], made)


def kernels_are_cached() -> bool:
    """Whether an earlier run has left compiled kernels of the modules imported so far.

    They are beside the source, or in the user's own cache where that folder cannot be written to.
    """
    places = {made.stats.cache_path for made in _KERNELS}
    folders = {Path(place) for place in places if place is not None}
    return any(True for folder in folders for _ in folder.glob("*.nbi"))


class _Teller(Listener):
    """Calls a function when a kernel is first compiled; one read from the cache does not count."""

    tell: Callable[[], None] | None = None

    def on_start(self, event: Event) -> None:
        if self.tell is not None and event.data["dispatcher"] in _KERNELS:
            tell, self.tell = self.tell, None
            tell()

    def on_end(self, event: Event) -> None:
        pass


_TELLER = _Teller()
cast(Any, register)("numba:compile", _TELLER)


def when_compiling(tell: Callable[[], None] | None) -> None:
    """From now on call ``tell`` once, when (and if) a kernel has to be compiled; None: nobody."""
    _TELLER.tell = tell
