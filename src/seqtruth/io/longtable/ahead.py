"""Fetching the next piece while the present one is worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterable[T]) -> Iterator[T]:
    """The same items in the same order, each made in a thread while the one before is used.

    >>> list(ahead("abc"))
    ['a', 'b', 'c']
    """
    source, end = iter(items), object()
    with ThreadPoolExecutor(1, thread_name_prefix="seqtruth-ahead") as pool:
        pending = pool.submit(next, source, end)
        while (item := pending.result()) is not end:
            pending = pool.submit(next, source, end)
            yield item  # type: ignore[misc]
