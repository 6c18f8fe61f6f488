"""What the arrays of a file must be, declared once and looked at before anything else.

Kernels walk arrays without looking at their bounds, so whoever takes arrays out of a file declares each
of them as a :class:`Column` and has them looked at by :func:`check`. An array that nobody declared is
refused as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Column:
    """What an array of a file must be.

    Parameters
    ----------
    kind : ``"int"``, ``"float"``, ``"bytes"``, or exactly a dtype, such as ``"float64"``.
    shape : sizes, as numbers or by name (``"labels"``, ``"sentences+1"``); the same name is the same
        size everywhere in the file.
    low, below : entries are at least ``low`` and less than ``below``, a number or the name of a size.
    rising : entries never decrease.
    nan : floats may be nan (never infinite).
    optional : the array may be missing.
    """

    kind: str
    shape: tuple[int | str, ...]
    low: float | None = None
    below: float | str | None = None
    rising: bool = False
    nan: bool = False
    optional: bool = False


def strings(name: str, size: int | str, optional: bool = False) -> dict[str, Column]:
    """The two arrays of a column of so many strings, as :func:`seqtruth.archive.pack_strings` makes them."""
    return {
        f"{name}.bytes": Column("bytes", (f"bytes of {name}",), optional=optional),
        f"{name}.offsets": Column("int", (f"{size}+1",), 0, rising=True, optional=optional),
    }


@dataclass(frozen=True)
class Schema:
    """All arrays of a file.

    Parameters
    ----------
    columns : the arrays by name.
    sizes : sizes that are known beforehand, by name.
    folders : arrays below these names (``"tagger"``) are somebody else's, who looks at them.
    further : called with the arrays when they fit; raises ValueError, KeyError or TypeError where what
        is in a folder, or how arrays hang together, is not right.
    """

    columns: Mapping[str, Column]
    sizes: Mapping[str, int] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    further: Callable[[Any], object] | None = None

    def check(
        self, arrays: Mapping[str, Any], sizes: Mapping[str, int] = MappingProxyType({})
    ) -> dict[str, int]:
        """Raise where the arrays are not what they must be; returns all sizes.

        Parameters
        ----------
        arrays : what the file holds.
        sizes : further sizes that are known.
        """
        for name in arrays:
            if name not in self.columns and name.partition("/")[0] not in self.folders:
                raise ValueError(f"{name} does not belong here")
        found = check(arrays, self.columns, {**self.sizes, **sizes})
        if self.further is not None:
            self.further(arrays)
        return found


def like(arrays: Mapping[str, npt.NDArray[Any]], low: float | None = None) -> dict[str, Column]:
    """Columns for arrays of exactly the same types and shapes as these."""
    return {name: Column(a.dtype.name, a.shape, low) for name, a in arrays.items()}


def under(columns: Mapping[str, Column], folder: str, optional: bool = False) -> dict[str, Column]:
    """The same columns below ``folder/``."""
    return {
        f"{folder}/{name}": replace(column, optional=column.optional or optional)
        for name, column in columns.items()
    }


_KINDS = {"int": "iu", "float": "f", "bytes": "u"}


def check(
    arrays: Mapping[str, Any], columns: Mapping[str, Column], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Raise ValueError, naming the array, where one is not what it must be; returns all sizes.

    >>> columns = {"tags": Column("int", ("tokens",), -1, "labels")}
    >>> check({"tags": np.array([0, 2])}, columns, {"labels": 3})["tokens"]
    2
    >>> check({"tags": np.array([0, 3])}, columns, {"labels": 3})
    Traceback (most recent call last):
    ...
    ValueError: tags must be below 3
    """
    known = dict(sizes)
    for name, column in columns.items():
        if name not in arrays:
            if column.optional:
                continue
            raise ValueError(f"{name} is missing")
        array = arrays[name]
        _check_kind(name, array.dtype, column.kind)
        _check_shape(name, array.shape, column.shape, known)
        _check_entries(name, array, column, known)
    return known


def _check_kind(name: str, dtype: np.dtype[Any], kind: str) -> None:
    if kind not in _KINDS:
        if dtype.name != kind or not dtype.isnative:
            raise ValueError(f"{name} must be {kind}, not {dtype}")
    elif dtype.kind not in _KINDS[kind] or not dtype.isnative:
        raise ValueError(f"{name} must hold {kind}s, not {dtype}")
    elif kind == "bytes" and dtype != np.uint8:
        raise ValueError(f"{name} must hold bytes, not {dtype}")


def _check_shape(
    name: str, found: tuple[int, ...], wanted: tuple[int | str, ...], known: dict[str, int]
) -> None:
    fits = len(found) == len(wanted)
    for size, want in zip(found, wanted, strict=False):
        if isinstance(want, str):
            stem, _, more = want.partition("+")
            want = known.setdefault(stem, size - int(more or 0)) + int(more or 0)
        fits = fits and size == want
    if not fits:
        raise ValueError(f"{name} has shape {found}, not ({', '.join(map(str, wanted))})")


def _check_entries(
    name: str, array: npt.NDArray[Any], column: Column, known: Mapping[str, int]
) -> None:
    if not array.size or array.dtype.kind not in "iuf" or column.kind == "bytes":
        return
    below = known[column.below] if isinstance(column.below, str) else column.below
    if array.dtype.kind == "f":
        strange = np.isinf(array).any() if column.nan else not np.isfinite(array).all()
        if strange:
            raise ValueError(f"{name} must be finite")
        if column.nan:
            array = array[~np.isnan(array)]
    if not array.size:
        return
    if column.low is not None and array.min() < column.low:
        raise ValueError(f"{name} must be at least {column.low:g}")
    if below is not None and array.max() >= below:
        raise ValueError(f"{name} must be below {below:g}")
    if column.rising and (np.diff(array) < 0).any():
        raise ValueError(f"{name} must never decrease")
