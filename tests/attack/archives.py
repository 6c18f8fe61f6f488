"""Saved files changed on purpose: any array, any value of the header, the zip kept whole."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

Members = dict[str, bytes]


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def pack(content: Members, path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, data in content.items():
            file.writestr(name, data)
    return path


def mutated(content: Members, draw: random.Random) -> Members:
    """One to three changes of a kind that a checksum does not find."""
    content = dict(content)
    for _ in range(draw.randint(1, 3)):
        name = draw.choice(list(content))
        if name.endswith(".npy"):
            content[name] = _array(_mutated_array(_read(content[name]), draw))
        elif name == "meta.json":
            content[name] = json.dumps(_mutated_json(json.loads(content[name]), draw)).encode()
        if draw.random() < 0.05:
            del content[name]
    return content


def _read(data: bytes) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)


def _array(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _mutated_array(array: np.ndarray, draw: random.Random) -> np.ndarray:
    kind = draw.randrange(9)
    if kind == 0:
        return array[: len(array) // 2] if array.ndim else array
    if kind == 1:
        return np.concatenate([array, array[:3]]) if array.ndim else array
    if kind == 2 and array.ndim > 1:
        return np.concatenate([array, array], axis=-1)
    if kind == 3:
        return array.astype(draw.choice([np.int64, np.float32, np.uint8, np.complex64, np.bool_]))
    if kind == 4 and array.size:
        array = array.copy()
        value = draw.choice([-(10**12), -2, -1, 10**12, 127, 255, 2**31 - 1])
        with np.errstate(all="ignore"):
            array.flat[draw.randrange(array.size)] = np.array(value).astype(array.dtype)
        return array
    if kind == 5 and array.dtype.kind == "f" and array.size:
        array = array.copy()
        array.flat[draw.randrange(array.size)] = draw.choice([np.nan, np.inf, -np.inf, 1e38])
        return array
    if kind == 6:
        return array.reshape(-1)
    if kind == 7:
        return np.zeros((0,), array.dtype)
    if array.dtype.kind in "iu":
        return array.astype(np.int64) * 10**12
    return array[::-1].copy() if array.ndim else array


def _mutated_json(value: Any, draw: random.Random) -> Any:
    """The value with one place in it changed."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        if draw.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: _mutated_json(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.8:
        at = draw.randrange(len(value))
        changed = draw.randrange(4)
        if changed == 0:
            return value[:at] + value[at + 1 :]
        if changed == 1:
            return [*value, value[at]]
        return [*value[:at], _mutated_json(value[at], draw), *value[at + 1 :]]
    return draw.choice([None, -1, 10**12, 1.5, "", "\x1b[31m", "I-X", [], {}, True, ["x"] * 200])
