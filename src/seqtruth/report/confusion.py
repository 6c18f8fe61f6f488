"""What annotators say where the result has a type: who mixes up what."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.kernels.arrays import Tags

#: Types with a row of their own; rarer ones are left out.
MAX_TYPES = 12


class Cell(NamedTuple):
    """A share of a row, and whether it is the type itself."""

    share: float
    same: bool


class Row(NamedTuple):
    """What was said of tokens that the result gives one type."""

    name: str
    tokens: int
    cells: tuple[Cell, ...]


def confusion(crowd: Crowd, tags: Tags) -> dict[str, Any] | None:
    """All annotators' labels against the result's types, ``tags`` numbered by the crowd's scheme.

    The most frequent types have a row; the last column is ``O``. None where fewer than two annotators
    labelled anything, or the result has no type.
    """
    types = crowd.scheme.types
    if crowd.n_annotators < 2 or not types:
        return None
    _, flat = gather(crowd.corpus.token_offsets, crowd.row_sentence.astype(np.int64))
    kind = np.append(crowd.scheme.type_of, -1)  # the last one is of -1, "not labelled"
    truth, said = kind[tags][flat], kind[crowd.tags]
    known = (tags[flat] >= 0) & (crowd.tags >= 0)
    n = len(types)
    counts = np.bincount(
        (truth[known].astype(np.int64) % (n + 1)) * (n + 1) + said[known] % (n + 1),
        minlength=(n + 1) ** 2,
    ).reshape(n + 1, n + 1)
    often = counts[:n].sum(axis=1) + 1e-9 * counts[:, :n].sum(axis=0)
    said_of = np.argsort(-often, kind="stable")
    said_of = said_of[often[said_of] > 0][:MAX_TYPES].tolist()
    order = [k for k in said_of if counts[k].any()]
    if not order:
        return None
    has_outside = crowd.scheme.outside >= 0
    columns = [*said_of, *([n] if has_outside else [])]
    rows = [_row(counts, k, columns, types[k]) for k in order]
    if has_outside and counts[n].sum():
        rows.append(_row(counts, n, columns, "O"))
    mixed = [
        (float(counts[a, b] / counts[a].sum()), types[a], types[b])
        for a in order
        for b in said_of
        if a != b
    ]
    return {
        "columns": [*(types[k] for k in said_of), *(["O"] if has_outside else [])],
        "rows": rows,
        "worst": max(mixed, default=None),
        "more": int((counts[:n].sum(axis=1) > 0).sum()) - len(order),
    }


def _row(counts: np.ndarray, number: int, columns: list[int], name: str) -> Row:
    total = max(int(counts[number].sum()), 1)
    cells = tuple(Cell(float(counts[number, k]) / total, k == number) for k in columns)
    return Row(name, total, cells)
