"""How much a packed file may become when it is unpacked, and how a user changes that.

A few megabytes of zip or gzip can stand for thousands as many. Everything that is unpacked (saved
results, taggers, checkpoints, zipped exports, ``.gz``) is held to the same limits:

=========================  =========  ===================================================================
variable                   default    meaning
=========================  =========  ===================================================================
``SEQTRUTH_MAX_UNPACKED``  8G         bytes of one file or archive when unpacked
``SEQTRUTH_MAX_RATIO``     200        how many times its packed size it may become, once above 256 MiB
``SEQTRUTH_MAX_MEMBERS``   100000     files in an archive or folder
``SEQTRUTH_MAX_RECORD``    256M       bytes of one line or JSON record; a parser needs ten times as much
=========================  =========  ===================================================================

Sizes may end in K, M, G or T.
"""

from __future__ import annotations

import os
import re

from seqtruth.errors import InputError, ParameterError

#: What is no larger than this when unpacked is never held to the ratio: small files pack very well.
SMALL = 256 << 20
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def max_unpacked() -> int:
    """Bytes that one file or archive may unpack to."""
    return _limit("SEQTRUTH_MAX_UNPACKED", 8 << 30)


def max_ratio() -> int:
    """How many times its packed size a large content may be."""
    return _limit("SEQTRUTH_MAX_RATIO", 200)


def max_members() -> int:
    """Files that an archive or folder may hold."""
    return _limit("SEQTRUTH_MAX_MEMBERS", 100_000)


def max_record() -> int:
    """Bytes that one line or JSON record may have."""
    return _limit("SEQTRUTH_MAX_RECORD", 256 << 20)


def most_unpacked(packed: int) -> int:
    """Bytes that may come out of a file of ``packed`` bytes.

    >>> most_unpacked(1000) == SMALL
    True
    """
    return min(max_unpacked(), max(SMALL, max_ratio() * packed))


def check_unpacked(unpacked: int, packed: int, where: str) -> None:
    """Raise where a file of ``packed`` bytes becomes too large, naming what to change."""
    if unpacked <= most_unpacked(packed):
        return
    name = "SEQTRUTH_MAX_UNPACKED" if unpacked > max_unpacked() else "SEQTRUTH_MAX_RATIO"
    raise InputError(
        "the file is too large when unpacked", where=where,
        got=f"{unpacked:,} bytes or more out of {packed:,}",
        fix=f"if you trust it, raise {name} (now {os.environ.get(name) or _SAID[name]})",
    )  # fmt: skip


def check_members(members: int, where: str) -> None:
    """Raise where an archive or folder holds too many files."""
    if members > max_members():
        raise InputError(
            "there are too many files in it", where=where, got=f"{members:,} or more",
            fix=f"if you trust it, raise SEQTRUTH_MAX_MEMBERS (now {max_members()})",
        )  # fmt: skip


_SAID = {"SEQTRUTH_MAX_UNPACKED": "8G", "SEQTRUTH_MAX_RATIO": "200"}


def _limit(name: str, usual: int) -> int:
    text = os.environ.get(name)
    if not text:
        return usual
    found = re.fullmatch(r"(\d{1,18})([KMGT]?)", text.strip().upper())
    if found is None:
        raise ParameterError(f"{name} must be a whole number, such as 500M", got=repr(text))
    return int(found[1]) * _UNITS[found[2]]
