"""Saved results, taggers and checkpoints: one zip file of JSON and plain arrays.

Nothing in it is ever executed: arrays are read with pickling off, strings are bytes and offsets, and
the zip's own checksums find a truncated or altered file. Times are left out of the file, so that the
same content gives the same bytes.

Whoever takes arrays out of a file declares what they must be (:mod:`seqtruth.schema`) and has them looked
at before anything else. What a file may unpack to is limited (:mod:`seqtruth.limits`).
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.atomic import atomic_path
from seqtruth.errors import InputError
from seqtruth.limits import check_members, check_unpacked

Arrays = dict[str, npt.NDArray[Any]]
VERSION = 1
_EPOCH = (1980, 1, 1, 0, 0, 0)
#: The header may be so large: names of documents and annotators, and the history.
MAX_HEADER = 256 << 20


def save(path: str | Path, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write whole or not at all. ``kind`` is checked when reading."""
    head = {"format": f"seqtruth-{kind}", "version": VERSION, **meta}
    with atomic_path(Path(path)) as temporary, zipfile.ZipFile(temporary, "w") as file:
        _member(file, "meta.json", json.dumps(head, indent=1).encode())
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
            head = file.read(39)
            return head[:2] == b"PK" and head[30:] == b"meta.json"  # the first member of ours
    except OSError:
        return False


def kind_of(path: str | Path) -> str | None:
    """``"result"``, ``"tagger"`` …: what a file says it is; None where it is none of ours."""
    try:
        with zipfile.ZipFile(path) as file:
            return str(_header(file, str(path))["format"]).removeprefix("seqtruth-")
    except Exception:  # as in load
        return None


def load(path: str | Path, kind: str) -> tuple[dict[str, Any], Arrays]:
    """Read what :func:`save` wrote; anything else is an :class:`InputError`."""
    where = str(path)
    if not Path(path).is_file():
        raise InputError("no such file", where=where)
    try:
        with zipfile.ZipFile(path) as file:
            members = file.infolist()
            check_members(len(members), where)
            check_unpacked(sum(m.file_size for m in members), Path(path).stat().st_size, where)
            meta = _header(file, where)
            _check_header(meta, kind, where)
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(_content(file, name)), allow_pickle=False
                )
                for name in file.namelist()
                if name.endswith(".npy")
            }
    except InputError:
        raise
    except Exception as error:  # zipfile, zlib, json and NumPy raise a dozen kinds on damaged bytes
        raise InputError(
            f"this is not a saved {kind}, or it is damaged ({_short(error)})", where=where,
            fix="save it again",
        ) from error  # fmt: skip
    return meta, arrays


def _content(file: zipfile.ZipFile, name: str) -> bytes:
    """A member, and never more of it than its header says."""
    member = file.getinfo(name)
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name} is packed in another way than ours")
    with file.open(member) as content:
        return content.read(member.file_size + 1)


def _header(file: zipfile.ZipFile, where: str) -> dict[str, Any]:
    size = file.getinfo("meta.json").file_size
    if size > MAX_HEADER:
        raise InputError("the header is too large", where=where, got=f"{size:,} bytes")
    meta = json.loads(_content(file, "meta.json"))
    if not isinstance(meta, dict):
        raise ValueError("meta.json is no object")
    return meta


def _check_header(meta: dict[str, Any], kind: str, where: str) -> None:
    if (found := meta.get("format")) != f"seqtruth-{kind}":
        raise InputError(f"this is not a saved {kind}", where=where, got=repr(found)[:100])
    if (version := meta.get("version")) != VERSION or version is True:
        raise InputError(
            f"saved by another version of the format (this one reads {VERSION})", where=where,
            got=repr(version)[:100], fix="upgrade seqtruth, or save it again",
        )  # fmt: skip


def _short(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:200]


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


def within(arrays: Arrays, folder: str) -> Arrays:
    """The arrays whose names begin with ``folder/``, without it."""
    return {
        k.removeprefix(folder + "/"): v for k, v in arrays.items() if k.startswith(folder + "/")
    }


def under(arrays: Mapping[str, npt.NDArray[Any]], folder: str) -> Arrays:
    """The same arrays with ``folder/`` put before their names."""
    return {f"{folder}/{name}": array for name, array in arrays.items()}
