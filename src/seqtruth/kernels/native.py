"""How Python calls the compiled kernels of ``cpp/``.

``call("name", …)`` runs a kernel, without the GIL, on arrays, numbers, and NamedTuples of them. Which of
its versions that is (tags of one byte or two, scores of four or eight) is found by what the arguments are;
arguments that no version takes are a TypeError. The library is plain C as seen from here (ctypes), so
that one build serves every version of Python; ``cpp/binding.hpp`` is the other side.
"""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqtruth.errors import KernelsError
from seqtruth.kernels import build

#: What an argument that is one number is called, by its type.
_NUMBERS: dict[type, str] = {
    bool: "?",
    np.bool_: "?",
    int: "q",
    np.int8: "q",
    np.int16: "q",
    np.int32: "q",
    np.int64: "q",
    np.uint64: "Q",
    float: "d",
    np.float64: "d",
}
#: What an array's type is called, by NumPy's letter for it.
_LETTERS = {letter: np.dtype(letter).str[1:] for letter in "?bhilqBQLfd"}
_AXES = [f":{axes}" for axes in range(8)]


class Packed:
    """Arguments made ready once, for many calls: ``Packed(crowd)`` stands for ``crowd``.

    kinds : what each is, as in the signatures of ``cpp/binding.hpp``.
    words : their addresses, sizes and values.
    fixed : places of those that no kernel may write to.
    """

    __slots__ = ("fixed", "kept", "kinds", "words")

    def __init__(self, *arguments: Any) -> None:
        self.kinds: list[str] = []
        self.words: list[Any] = []
        self.fixed: list[int] = []
        self.kept: list[Any] = [arguments]  # what the words point to must stay
        self._add(arguments)

    def _add(self, arguments: tuple[Any, ...]) -> None:
        kinds, words = self.kinds, self.words
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                flags = argument.flags
                if not (flags.c_contiguous and flags.writeable):
                    self.fixed.append(len(kinds))
                    argument = np.ascontiguousarray(argument)
                    self.kept.append(argument)
                kinds.append(_LETTERS[argument.dtype.char] + _AXES[argument.ndim])
                words += (argument.ctypes.data, *argument.shape)
            elif isinstance(argument, Packed):
                self.fixed += [len(kinds) + place for place in argument.fixed]
                kinds += argument.kinds
                words += argument.words
            elif isinstance(argument, tuple):
                self._add(argument)
            else:
                kind = _NUMBERS[type(argument)]
                kinds.append(kind)
                words.append(float(argument) if kind == "d" else int(argument))


class _Version(NamedTuple):
    """One version of a kernel: its function, how its arguments are packed, which it writes to, its answer."""

    run: Any
    layout: struct.Struct
    written: frozenset[int]
    answer: type[ctypes.c_int64] | type[ctypes.c_double]


def call(name: str, *arguments: Any) -> Any:
    """Run a kernel; returns its number, or 0 where it has none."""
    given, versions = Packed(*arguments), _versions()[name]
    version = versions.get(" ".join(given.kinds))
    if version is None:
        raise TypeError(
            f"the kernel {name} does not take ({' '.join(given.kinds)}); it takes "
            + " or ".join(f"({kinds})" for kinds in versions)
        )
    if given.fixed and not version.written.isdisjoint(given.fixed):
        raise TypeError(f"the kernel {name} writes to an array that is read-only or not in C order")
    answer = version.answer()
    failure = version.run(version.layout.pack(*given.words), ctypes.byref(answer))
    if failure:
        kind, _, text = failure.decode().partition(": ")
        raise {"MemoryError": MemoryError, "IndexError": IndexError}[kind](f"{name}: {text}")
    return answer.value


def _layout(kinds: str) -> struct.Struct:
    """Words of eight bytes: a pointer and sizes for an array, one for a number."""
    words = {"d": "d", "Q": "Q"}
    return struct.Struct(
        "="
        + "".join("q" * (1 + int(k[3:])) if ":" in k else words.get(k, "q") for k in kinds.split())
    )


class _Kernel(ctypes.Structure):
    """``struct Kernel`` of ``cpp/binding.hpp``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("describe", ctypes.CFUNCTYPE(None, ctypes.c_char_p)),
        ("run", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)),
    )


@cache
def _versions() -> dict[str, dict[str, _Version]]:
    """Every kernel's versions by what they take; reads the library when the first is called."""
    library = _library()
    library.seqtruth_kernels.restype = ctypes.POINTER(_Kernel)
    size = ctypes.c_int64()
    # kernels for any machine of the kind, instead of those for this one's vector registers
    plain = int(os.environ.get("SEQTRUTH_VECTORS") == "plain")
    table = library.seqtruth_kernels(plain, ctypes.byref(size))
    found: dict[str, dict[str, _Version]] = {}
    text = ctypes.create_string_buffer(1024)
    for kernel in table[: size.value]:
        kernel.describe(text)
        signature, _, answer = text.value.decode().partition(" > ")
        kinds = signature.replace("!", "")
        version = _Version(
            kernel.run,
            _layout(kinds),
            frozenset(n for n, kind in enumerate(signature.split()) if kind.endswith("!")),
            ctypes.c_double if answer == "d" else ctypes.c_int64,
        )
        found.setdefault(kernel.name.decode(), {})[kinds] = version
    return found


@cache
def _library() -> ctypes.CDLL:
    """The library, if it is there and was built from the sources beside it (a wheel has none).

    ``SEQTRUTH_KERNELS`` names another one, such as one with bounds checks.
    """
    place = Path(os.environ.get("SEQTRUTH_KERNELS") or build.LIBRARY)
    fix = "run `make kernels` in the source tree, or install seqtruth again"
    try:
        library = ctypes.CDLL(str(place))
    except OSError as error:
        what = f"cannot be loaded ({error})" if place.exists() else "are missing"
        raise KernelsError(f"the compiled kernels {what}", where=str(place), fix=fix) from error
    library.seqtruth_build.restype = ctypes.c_char_p
    if build.SOURCES.is_dir() and library.seqtruth_build().split()[0].decode() != build.digest():
        raise KernelsError(
            "the compiled kernels are not those of the sources beside them",
            where=str(place),
            fix=fix,
        )
    return library


def built() -> str:
    """Which kernels run here, for people who ask."""
    checked = _library().seqtruth_build().endswith(b" checked")
    return "compiled ahead of time" + (", with bounds checks" if checked else "")
