"""MessagePack, as much as spaCy's files need: plain values and nothing else."""

from __future__ import annotations

import struct
from typing import Any

MAX_DEPTH = 16
_FIXED = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
#: Bytes of the length that follows, for text, bytes, lists and maps.
_LENGTHS = {
    0xD9: ("text", ">B"), 0xDA: ("text", ">H"), 0xDB: ("text", ">I"), 0xC4: ("bytes", ">B"),
    0xC5: ("bytes", ">H"), 0xC6: ("bytes", ">I"), 0xDC: ("list", ">H"), 0xDD: ("list", ">I"),
    0xDE: ("map", ">H"), 0xDF: ("map", ">I"),
}  # fmt: skip


def unpack(data: bytes) -> Any:
    """The one value that ``data`` holds; ValueError where it is damaged or holds an extension type.

    >>> unpack(pack({"a": [1, -2, None, True], "b": b"raw"}))
    {'a': [1, -2, None, True], 'b': b'raw'}
    """
    reader = _Reader(data)
    value = reader.value(0)
    if reader.place != len(data):
        raise ValueError("bytes after the end")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def take(self, count: int) -> bytes:
        piece = self.data[self.place : self.place + count]
        if len(piece) < count:
            raise ValueError("the end is missing")
        self.place += count
        return piece

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError("nested too deep")
        sign = self.take(1)[0]
        if sign < 0x80:
            return sign
        if sign >= 0xE0:
            return sign - 0x100
        if sign < 0xC0:
            kind = "map" if sign < 0x90 else "list" if sign < 0xA0 else "text"
            return self.sized(kind, sign & (0x1F if kind == "text" else 0x0F), depth)
        if sign in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[sign]
        if sign in _FIXED:
            return self.number(_FIXED[sign])
        if sign in _LENGTHS:
            kind, form = _LENGTHS[sign]
            return self.sized(kind, self.number(form), depth)
        raise ValueError("a type that is not plain data")

    def sized(self, kind: str, length: int, depth: int) -> Any:
        if length > len(self.data) - self.place:
            raise ValueError("the end is missing")
        if kind == "text":
            return self.take(length).decode("utf-8")
        if kind == "bytes":
            return self.take(length)
        if kind == "list":
            return [self.value(depth + 1) for _ in range(length)]
        pairs = []
        for _ in range(length):
            key = self.value(depth + 1)
            if not isinstance(key, str | bytes | int):
                raise ValueError("a key that is neither text nor number")
            pairs.append((key, self.value(depth + 1)))
        return dict(pairs)


def pack(value: Any) -> bytes:
    """Plain values as MessagePack, each in its shortest form."""
    out = bytearray()
    _put(value, out)
    return bytes(out)


def _put(value: Any, out: bytearray) -> None:
    if value is None or isinstance(value, bool):
        out.append({None: 0xC0, False: 0xC2, True: 0xC3}[value])
    elif isinstance(value, int):
        _put_number(value, out)
    elif isinstance(value, float):
        out += struct.pack(">Bd", 0xCB, value)
    elif isinstance(value, str):
        data = value.encode("utf-8")
        _put_length(len(data), out, (0xA0, 32), (0xD9, 0xDA, 0xDB))
        out += data
    elif isinstance(value, bytes):
        _put_length(len(value), out, (0, 0), (0xC4, 0xC5, 0xC6))
        out += value
    elif isinstance(value, dict):
        _put_length(len(value), out, (0x80, 16), (0, 0xDE, 0xDF))
        for key, item in value.items():
            _put(key, out)
            _put(item, out)
    else:
        _put_length(len(value), out, (0x90, 16), (0, 0xDC, 0xDD))
        for item in value:
            _put(item, out)


def _put_number(value: int, out: bytearray) -> None:
    if -32 <= value < 128:
        out.append(value & 0xFF)
        return
    forms = ((0xCC, "B"), (0xCD, "H"), (0xCE, "I"), (0xCF, "Q"))
    if value < 0:
        forms = ((0xD0, "b"), (0xD1, "h"), (0xD2, "i"), (0xD3, "q"))
    for sign, form in forms:
        try:
            packed = struct.pack(f">{form}", value)
        except struct.error:
            continue
        out.append(sign)
        out += packed
        return
    raise ValueError("a number of more than 64 bits")


def _put_length(
    length: int, out: bytearray, short: tuple[int, int], signs: tuple[int, int, int]
) -> None:
    if length < short[1]:
        out.append(short[0] | length)
    elif length < 0x100 and signs[0]:
        out += struct.pack(">BB", signs[0], length)
    elif length < 0x10000:
        out += struct.pack(">BH", signs[1], length)
    else:
        out += struct.pack(">BI", signs[2], length)
