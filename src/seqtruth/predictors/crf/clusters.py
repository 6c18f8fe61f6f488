"""Which words are used alike: clusters of GloVe vectors, shipped as a small table.

``clusters.npz`` is made by ``tools/make_clusters.py`` from GloVe 6B (public domain): 70,000 lower-case
words in 1,000 fine, 128 middle and 24 coarse clusters.

References
----------
Pennington, Socher & Manning (2014), GloVe: global vectors for word representation, EMNLP.
doi:10.3115/v1/D14-1162
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_name("clusters.npz")


def clusters(word: str) -> tuple[str, str, str] | tuple[()]:
    """Names of a word's fine, middle and coarse cluster; nothing for a word not in the table.

    >>> clusters("London") == clusters("london") != clusters("quickly")
    True
    """
    fine = _table().get(word.lower())
    return () if fine is None else _names()[fine]


def frequent_words(n: int) -> list[str]:
    """The n most frequent words, in lower case.

    >>> frequent_words(3)
    ['the', 'of', 'to']
    """
    return list(_table())[:n]


@cache
def _load() -> dict[str, np.ndarray]:
    with np.load(TABLE, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@cache
def _table() -> dict[str, int]:
    data = _load()
    words = data["words"].tobytes().decode().split("\n")
    return dict(zip(words, data["fine"].tolist(), strict=True))


@cache
def _names() -> list[tuple[str, str, str]]:
    data = _load()
    out = []
    for fine, middle in enumerate(data["middle"].tolist()):
        out.append((f"k{fine}", f"K{middle}", f"KK{data['coarse'][middle]}"))
    return out
