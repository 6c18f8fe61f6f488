"""Warnings, kept as well as shown."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from seqtruth.errors import SeqTruthWarning


@contextmanager
def noticed() -> Iterator[list[str]]:
    """The texts of our own warnings given inside, each once; all warnings are shown when it ends.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with noticed() as said:
    ...         warnings.warn("few annotators", SeqTruthWarning)
    >>> said
    ['few annotators']
    """
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SeqTruthWarning)
        try:
            yield said
        finally:
            ours = [one for one in caught if issubclass(one.category, SeqTruthWarning)]
            said += dict.fromkeys(str(one.message) for one in ours)
    for one in caught:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
