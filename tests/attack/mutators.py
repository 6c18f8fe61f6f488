"""Files changed on purpose: bytes, and structures (JSON trees, lines and cells, XML, zip members).

Everything is drawn from one generator, so that a number names a file for ever.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

#: Pieces that have broken readers of this kind before.
SPLICES = (
    b"\0",
    b"\xff",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b'"',
    b"'",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"null",
    b"NaN",
    b"1e999",
    b"-1",
    b"99999999999999999999",
    b"?",
    b"X-PER",
    b"B-",
    b"# id = s1\n",
    b"\\ud800",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xff\xfe",
    b"-DOCSTART-",
    b"# token\n",
    b" ",
    b"<",
    b">",
    b"&",
    b"&amp;",
    b"]]>",
    b"<!--",
    b"<!DOCTYPE x>",
    b"\x1b[31m",
    b"[" * 3000,
    b'{"a":' * 500,
    b"<a>" * 2000,
    b"9" * 400,
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"=1+2",
    b"../",
    b"\\",
    b"%00",
)
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    -1,
    0,
    1,
    10**30,
    -(10**12),
    1.5,
    1e308,
    float("nan"),
    "",
    "\ud800",
    "x",
    "O",
    "B-",
    "I-PER",
    "\n",
    "\t",
    "\x1b[2J",
    "a" * 5000,
    [],
    {},
    [[]],
    [None],
    {"a": {}},
    "[",
    ["x"] * 300,
    2**31,
    2**63,
)


def mutated(data: bytes, draw: Random) -> bytes:
    """One to three changes."""
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3))):
        kinds = [_bytes, _bytes, _lines, _cells, *_fitting(data)]
        data = draw.choice(kinds)(data, draw)
    return data


def _fitting(data: bytes) -> list[Callable[[bytes, Random], bytes]]:
    """Mutators that know the structure, twice each, so that they come often."""
    head = data[:200].lstrip()
    if data[:2] == b"PK":
        return [_zip] * 6
    if data[:2] == b"\x1f\x8b":
        return [_gzip] * 4
    if head[:1] in (b"{", b"["):
        return [_json] * 6
    if head[:1] == b"<":
        return [_xml] * 6
    return []


def _bytes(data: bytes, draw: Random) -> bytes:
    at = draw.randint(0, len(data))
    end = min(len(data), at + draw.randint(1, 30))
    kind = draw.randrange(7)
    if kind == 0 and data:
        at = min(at, len(data) - 1)
        return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]
    if kind == 1:
        return data[:at] + data[end:]
    if kind == 2:
        return data[:at]
    if kind == 3:
        return data[:at] + draw.choice(SPLICES) + data[at:]
    if kind == 4:
        return data[:at] + draw.choice(SPLICES) + data[end:]
    if kind == 5:
        return data[:at] + draw.randbytes(draw.randint(1, 6)) + data[at:]
    other = draw.randint(0, len(data))
    return data[:at] + data[other : other + draw.randint(1, 200)] + data[at:]


def _lines(data: bytes, draw: Random) -> bytes:
    lines = data.split(b"\n")
    a, b = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(6)
    if kind == 0:
        del lines[a]
    elif kind == 1:
        lines.insert(b, lines[a])
    elif kind == 2:
        lines[a], lines[b] = lines[b], lines[a]
    elif kind == 3:
        lines[a] = b""
    elif kind == 4:
        return draw.choice((b"\r", b"\r\n", b"\n\n")).join(lines)
    else:
        lines[a] = lines[a] * draw.choice((2, 50))
    return b"\n".join(lines)


def _cells(data: bytes, draw: Random) -> bytes:
    """Columns of CoNLL lines and tables."""
    lines = data.split(b"\n")
    at = draw.randrange(len(lines))
    separator = next((one for one in (b"\t", b",", b" ", b"|") if one in lines[at]), b"\t")
    cells = lines[at].split(separator)
    a, b = draw.randrange(len(cells)), draw.randrange(len(cells))
    kind = draw.randrange(6)
    if kind == 0:
        cells[a], cells[b] = cells[b], cells[a]
    elif kind == 1:
        del cells[a]
    elif kind == 2:
        cells.insert(b, cells[a])
    elif kind == 3:
        cells[a] = b""
    elif kind == 4:
        cells[a] = draw.choice(SPLICES[:-10])
    else:
        cells[a] = b'"' + cells[a] + draw.choice((b'"', b'""', b"\n"))
    lines[at] = separator.join(cells)
    return b"\n".join(lines)


def _json(data: bytes, draw: Random) -> bytes:
    """A value somewhere in the tree of a JSON file, or of one of its lines."""
    try:
        value: Any = json.loads(data)
        lines = None
    except (ValueError, RecursionError):
        lines = data.split(b"\n")
        at = draw.randrange(len(lines))
        try:
            value = json.loads(lines[at])
        except (ValueError, RecursionError):
            return _bytes(data, draw)
    text = json.dumps(changed(value, draw), ensure_ascii=draw.random() < 0.9)
    if draw.random() < 0.1:  # a key twice
        text = re.sub(r'("[^"]{1,20}": )', r"\1null, \1", text, count=1)
    found = text.encode("utf-8", "surrogatepass")
    if lines is None:
        return found
    lines[at] = found
    return b"\n".join(lines)


def changed(value: Any, draw: Random) -> Any:
    """The value with one place in it changed."""
    if isinstance(value, dict) and value and draw.random() < 0.92:
        key = draw.choice(list(value))
        kind = draw.random()
        if kind < 0.1:
            return {k: v for k, v in value.items() if k != key}
        if kind < 0.15:
            return value | {str(draw.choice(ODD)): value[key]}
        return value | {key: changed(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.9:
        at = draw.randrange(len(value))
        kind = draw.randrange(6)
        if kind == 0:
            return value[:at] + value[at + 1 :]
        if kind == 1:
            return [*value, value[at]]
        if kind == 2:
            return value[::-1]
        return [*value[:at], changed(value[at], draw), *value[at + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool) and draw.random() < 0.5:
        return value + draw.choice((-1, 1, -(2**31), 2**31, 1000))
    if isinstance(value, str) and draw.random() < 0.4:
        at = draw.randint(0, len(value))
        return value[:at] + str(draw.choice(ODD)) + value[at:]
    return draw.choice(ODD)


def _xml(data: bytes, draw: Random) -> bytes:
    tags = list(re.finditer(rb"<[^<>]{1,300}>", data))
    if not tags:
        return _bytes(data, draw)
    one, other = draw.choice(tags), draw.choice(tags)
    kind = draw.randrange(6)
    if kind == 0:
        return data[: one.start()] + data[one.end() :]
    if kind == 1:
        return data[: one.start()] + other[0] + data[one.start() :]
    if kind == 2:
        a, b = sorted((one.start(), other.start()))
        return data[:a] + data[b:]
    if kind == 3:  # an attribute's value
        odd = str(draw.choice(ODD)).encode("utf-8", "replace").replace(b'"', b"")
        new = re.sub(rb'="[^"]*"', b'="' + odd.replace(b"\\", b"") + b'"', one[0], count=1)
        return data[: one.start()] + new + data[one.end() :]
    if kind == 4:
        new = re.sub(rb"[\w:]+", draw.choice((b"x", b"xml:id", b"a:b")), one[0], count=1)
        return data[: one.start()] + new + data[one.end() :]
    entity = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    return data[: tags[0].start()] + entity + data[tags[0].start() :].replace(b"e", b"&b;", 3)


def _zip(data: bytes, draw: Random) -> bytes:
    """Members of a zip: changed, renamed, doubled, lost."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            members = {name: file.read(name) for name in file.namelist()}
    except Exception:
        return _bytes(data, draw)
    if not members:
        return _bytes(data, draw)
    name = draw.choice(list(members))
    kind = draw.randrange(5)
    content = members.pop(name)
    if kind == 0:
        name = draw.choice(("../" + name, "/" + name, name + "/", "x", name.upper(), "a\\" + name))
    if kind != 1:
        members[name] = mutated(content, draw) if kind > 1 and content else content
    buffer = io.BytesIO()
    with zipfile.ZipFile(
        buffer, "w", draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    ) as new:
        for key, value in members.items():
            new.writestr(key, value)
    return buffer.getvalue()


def _gzip(data: bytes, draw: Random) -> bytes:
    try:
        return gzip.compress(mutated(gzip.decompress(data), draw), 1)
    except Exception:
        return _bytes(data, draw)
