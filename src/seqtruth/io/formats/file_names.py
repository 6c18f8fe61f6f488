"""Names of files for documents and annotators, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import PurePath
from urllib.parse import unquote

MAX_BYTES = 180
_UNSAFE = re.compile(r'[\x00-\x1f\x7f%/\\:*?"<>|]|^[. ~-]|[. ]$|[\ud800-\udfff]')
#: Device names of Windows, with any ending.
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


def file_name(name: str) -> str:
    """A file name that says ``name`` and is legal everywhere: what is not is written as ``%2F``.

    Names that are too long are cut and given a digest; they alone do not come back.

    >>> file_name("2024/report.txt"), name_of("2024%2Freport.txt")
    ('2024%2Freport.txt', '2024/report.txt')
    """
    safe = _UNSAFE.sub(_quoted, name)
    if not safe or _RESERVED.match(safe):
        safe = _quoted(safe[:1]) + safe[1:]
    if len(safe.encode("utf-8", "replace")) > MAX_BYTES:
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        head = safe.encode("utf-8", "replace")[: MAX_BYTES - 17].decode("utf-8", "ignore")
        safe = f"{head.rpartition('%')[0] if '%' in head[-3:] else head}~{digest}"
    return safe


def name_of(file: str) -> str:
    """The name that :func:`file_name` wrote; any other file name is itself."""
    if file == "%":
        return ""
    name = unquote(file, errors="strict") if _decodable(file) else file
    return name if file_name(name) == file else file


def told_apart(paths: Iterable[PurePath]) -> dict[PurePath, str]:
    """Names for files of one name: the nearest folder in which all of them differ.

    >>> found = told_apart([PurePath("ann/all.jsonl"), PurePath("bob/all.jsonl"), PurePath("c.jsonl")])
    >>> list(found.values())
    ['ann', 'bob']
    """
    alike: dict[str, list[PurePath]] = {}
    for path in paths:
        alike.setdefault(path.name, []).append(path)
    found: dict[PurePath, str] = {}
    for files in alike.values():
        for parts in zip(*(path.parent.parts[::-1] for path in files), strict=False):
            if 1 < len(files) == len(set(parts)):
                found |= dict(zip(files, parts, strict=True))
                break
    return found


def _decodable(file: str) -> bool:
    try:
        unquote(file, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def _quoted(match: re.Match[str] | str) -> str:
    text = match if isinstance(match, str) else match[0]
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "replace")) or "%"
