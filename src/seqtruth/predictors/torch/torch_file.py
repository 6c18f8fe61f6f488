"""Tensors out of a file that torch wrote, without running anything in it.

Such files are pickles: opened by torch as they are meant to be, they can run any code. Here every class
and function that a file names becomes an empty shell that only remembers its state, whatever the name
promises; arrays are made by us from the raw numbers behind the pickle. Read are the format from before
torch 1.6 (pickles, then storages) and the zip that came after it, either also inside a wheel.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from seqtruth.errors import InputError
from seqtruth.kernels.arrays import F32
from seqtruth.limits import check_unpacked

MAGIC = 0x1950A86A20F9469CFC6C
#: Endings of the names of torch's files inside a wheel.
ENDINGS = (".bin", ".pt", ".pth")
#: Storages that are read.
STORED: dict[str, np.dtype[Any]] = {"FloatStorage": np.dtype("<f4"), "HalfStorage": np.dtype("<f2")}


class Shell:
    """In place of an object of a class that is not ours: the name of the class, and the state."""

    kind = ""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.state: Any = {}

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None:
        """Items of a strange dictionary are not kept."""

    def append(self, value: Any) -> None:
        """Nor are those of a strange list."""


class StoredTensor:
    """Where a tensor lies: its storage, the first number there, sizes and strides."""

    def __init__(self, storage: Any, first: Any, shape: Any, strides: Any, *further: Any) -> None:
        self.storage, self.first, self.shape, self.strides = storage, first, shape, strides

    def array(self, storages: Mapping[str, F32]) -> F32:
        """The numbers; ValueError where they are not all in the storage."""
        numbers = storages[self.storage]
        shape, strides = [int(n) for n in self.shape], [int(n) for n in self.strides]
        if len(shape) != len(strides) or min([0, int(self.first), *shape, *strides]) < 0:
            raise ValueError("a tensor has sizes below nothing")
        last = int(self.first) + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if 0 not in shape and last >= len(numbers):
            raise ValueError("a tensor is larger than its storage")
        seen = np.lib.stride_tricks.as_strided(
            numbers[int(self.first) :], shape, [step * numbers.itemsize for step in strides]
        )
        return np.array(seen, np.float32, order="C")


class _Unpickler(pickle.Unpickler):
    """Makes shells of everything but plain values, dictionaries in order, and tensors."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.types: dict[str, str] = {}
        self._shells: dict[str, type[Shell]] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch._utils" and name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
            return StoredTensor
        if module == "torch._utils" and name == "_rebuild_parameter":
            return _first
        if (module, name) == ("_codecs", "encode"):  # how old pickles spell bytes
            return _as_bytes
        if module == "torch" and name in STORED:
            return name
        return self._shells.setdefault(name, type("Shell", (Shell,), {"kind": name}))

    def persistent_load(self, pid: Any) -> Any:
        if pid[0] != "storage":  # a class, with its source
            return pid[1]
        self.types[str(pid[2])] = pid[1] if isinstance(pid[1], str) else ""
        return str(pid[2])


def _first(tensor: Any, *further: Any) -> Any:
    return tensor


def _as_bytes(text: Any, *further: Any) -> bytes:
    return str(text).encode("latin1")


class TorchFile:
    """What a file holds: plain values and shells, and the numbers behind its tensors."""

    def __init__(self, content: Any, storages: Mapping[str, F32]) -> None:
        self.content, self._storages = content, storages

    def array(self, tensor: Any) -> F32:
        """float32: the numbers of a tensor."""
        if not isinstance(tensor, StoredTensor):
            raise ValueError("a tensor is expected")
        return tensor.array(self._storages)

    def shells(self, kind: str) -> Iterator[Shell]:
        """All objects of the classes of this name, each once, in the order of the file."""
        seen: set[int] = set()
        stack = [self.content]
        while stack:
            one = stack.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            if isinstance(one, Shell):
                if one.kind == kind:
                    yield one
                stack.append(one.state)
            elif isinstance(one, dict):
                stack.extend(reversed(one.values()))
            elif isinstance(one, list | tuple):
                stack.extend(reversed(one))


def open_torch_file(path: str | Path) -> TorchFile:
    """Read a file of torch, or the one that is in a wheel; InputError where it is none."""
    try:
        return _opened(Path(path).expanduser().read_bytes(), str(path))
    except InputError:
        raise
    except OSError as error:
        raise InputError("cannot be read", where=str(path), got=str(error)) from error
    except Exception as error:  # a damaged pickle ends in any error at all
        raise InputError(
            "not a file of torch, or it is damaged", where=str(path),
            got=str(error) or type(error).__name__,
        ) from error  # fmt: skip


def _opened(content: bytes, where: str) -> TorchFile:
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return _old_format(io.BytesIO(content))
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = file.infolist()
        check_unpacked(sum(one.file_size for one in members), len(content), where)
        pickled = [one.filename for one in members if one.filename.endswith("/data.pkl")]
        if pickled:
            return _new_format(file, pickled[0].removesuffix("data.pkl"))
        inside = [one for one in members if one.filename.endswith(ENDINGS)]
        if not inside:
            raise ValueError("there is no file of torch in it")
        return _opened(file.read(max(inside, key=lambda one: one.file_size)), where)


def _old_format(file: BinaryIO) -> TorchFile:
    if _Unpickler(file).load() != MAGIC:
        raise ValueError("it does not begin as one")
    for _ in ("protocol", "system"):
        _Unpickler(file).load()
    main = _Unpickler(file)
    content, keys = main.load(), _Unpickler(file).load()
    storages: dict[str, F32] = {}
    for key in keys:
        kind = _dtype(main.types[key])
        size = int.from_bytes(file.read(8), "little")
        storages[key] = _numbers(file.read(size * kind.itemsize), kind, size)
    return TorchFile(content, storages)


def _new_format(file: zipfile.ZipFile, folder: str) -> TorchFile:
    main = _Unpickler(io.BytesIO(file.read(f"{folder}data.pkl")))
    content = main.load()
    storages: dict[str, F32] = {}
    for key, name in main.types.items():
        kind, numbers = _dtype(name), file.read(f"{folder}data/{key}")
        storages[key] = _numbers(numbers, kind, len(numbers) // kind.itemsize)
    return TorchFile(content, storages)


def _dtype(name: str) -> np.dtype[Any]:
    if name not in STORED:
        raise ValueError("a tensor holds neither float32 nor float16")
    return STORED[name]


def _numbers(content: bytes, kind: np.dtype[Any], size: int) -> F32:
    if len(content) != size * kind.itemsize:
        raise ValueError("it ends in the middle of a tensor")
    return np.frombuffer(content, kind).astype(np.float32)
