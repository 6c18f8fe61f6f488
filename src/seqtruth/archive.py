"""Saved results, taggers and checkpoints: one zip file of JSON and plain arrays.

Nothing in it is ever executed: arrays are read with pickling off, strings are bytes and offsets, and
the zip's own checksums find a truncated or altered file. Times are left out of the file, so that the
same content gives the same bytes.

Kernels walk arrays without looking at their bounds, so whoever takes arrays out of a file declares what
they must be, as :class:`Column`, and has them looked at by :func:`check` before anything else.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.atomic import atomic_path
from seqtruth.errors import InputError

Arrays = dict[str, npt.NDArray[Any]]
VERSION = 1
_EPOCH = (1980, 1, 1, 0, 0, 0)
#: What reading a zip that is none, or a damaged one, may raise.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, OSError, NotImplementedError,
    RuntimeError, MemoryError,
)  # fmt: skip


def save(path: str | Path, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write whole or not at all. ``kind`` is checked when reading."""
    head = {"format": f"seqtruth-{kind}", "version": VERSION, **meta}
    with atomic_path(Path(path)) as temporary, zipfile.ZipFile(temporary, "w") as file:
        _member(file, "meta.json", json.dumps(head, indent=1, sort_keys=True).encode())
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            _member(file, f"{name}.npy", buffer.getvalue())


def _member(file: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = 0o644 << 16
    file.writestr(info, content, zipfile.ZIP_DEFLATED, compresslevel=4)


def is_archive(path: str | Path) -> bool:
    """Whether a file looks like one of these (and unlike any file of labels)."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"PK"
    except OSError:
        return False


def kind_of(path: str | Path) -> str | None:
    """``"result"``, ``"tagger"`` …: what a file says it is; None where it is none of ours."""
    try:
        with zipfile.ZipFile(path) as file:
            head = json.loads(file.read("meta.json"))
        return str(head["format"]).removeprefix("seqtruth-")
    except (*_DAMAGE, TypeError, AttributeError):
        return None


def load(path: str | Path, kind: str) -> tuple[dict[str, Any], Arrays]:
    """Read what :func:`save` wrote; anything else is an :class:`InputError`."""
    where = str(path)
    if not Path(path).is_file():
        raise InputError("no such file", where=where)
    try:
        with zipfile.ZipFile(path) as file:
            meta = json.loads(file.read("meta.json"))
            if not isinstance(meta, dict) or meta.get("format") != f"seqtruth-{kind}":
                found = meta.get("format") if isinstance(meta, dict) else None
                raise InputError(f"this is not a saved {kind}", where=where, got=repr(found))
            if meta.get("version") != VERSION:
                raise InputError(
                    f"saved by another version of the format (this one reads {VERSION})",
                    where=where,
                    got=repr(meta.get("version")),
                    fix="upgrade seqtruth, or save it again",
                )
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(file.read(name)), allow_pickle=False
                )
                for name in file.namelist()
                if name.endswith(".npy")
            }
    except _DAMAGE as error:
        raise InputError(
            f"this is not a saved {kind}, or it is damaged ({error})",
            where=where,
            fix="save it again",
        ) from error
    return meta, arrays


def pack_strings(name: str, strings: pa.Array) -> Arrays:
    """A string column as two arrays: UTF-8 bytes and offsets."""
    column = strings.cast(pa.large_string())
    offsets = np.frombuffer(column.buffers()[1] or bytes(8), np.int64)
    offsets = offsets[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    return {f"{name}.bytes": data, f"{name}.offsets": offsets - offsets[0]}


def unpack_strings(name: str, arrays: Arrays, where: str) -> pa.Array:
    """Inverse of :func:`pack_strings`, checked."""
    try:
        data = np.ascontiguousarray(arrays[f"{name}.bytes"], np.uint8)
        offsets = np.ascontiguousarray(arrays[f"{name}.offsets"], np.int64)
        if offsets[0] != 0 or offsets[-1] != len(data) or (np.diff(offsets) < 0).any():
            raise ValueError("offsets out of range")
        column = pa.LargeStringArray.from_buffers(
            len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data)
        )
        column.validate(full=True)
    except (KeyError, IndexError, ValueError, pa.ArrowInvalid) as error:
        raise InputError(f"the column {name!r} is damaged ({error})", where=where) from error
    return column


@dataclass(frozen=True)
class Column:
    """What an array of a file must be.

    Parameters
    ----------
    kind : ``"int"``, ``"float"`` or ``"bytes"``.
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
        if array.dtype.kind not in _KINDS[column.kind]:
            raise ValueError(f"{name} must hold {column.kind}s, not {array.dtype}")
        _check_shape(name, array.shape, column.shape, known)
        _check_entries(name, array, column, known)
    return known


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
    if not array.size or column.kind == "bytes":
        return
    below = known[column.below] if isinstance(column.below, str) else column.below
    if column.kind == "float":
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


def within(arrays: Arrays, folder: str) -> Arrays:
    """The arrays whose names begin with ``folder/``, without it."""
    return {
        k.removeprefix(folder + "/"): v for k, v in arrays.items() if k.startswith(folder + "/")
    }


def under(arrays: Mapping[str, npt.NDArray[Any]], folder: str) -> Arrays:
    """The same arrays with ``folder/`` put before their names."""
    return {f"{folder}/{name}": array for name, array in arrays.items()}
