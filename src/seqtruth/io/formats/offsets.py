"""Offsets of tools that do not count code points: UTF-16 units, and what a reader calls characters.

Java and JavaScript tools (INCEpTION, GATE, brat's and doccano's pages) count UTF-16 units, of
which a character beyond U+FFFF takes two. Tools that say "grapheme" count extended grapheme
clusters (Unicode annex 29): a letter with its accents, an emoji family or a flag is one.

A converter is made once for a text and gives None for an offset that is outside the text or
inside one of the units, as when a mark begins in the middle of an emoji; the caller says what
becomes of the mark. A point that has no unit of its own, inside a cluster, is None as well.

>>> to_points = utf16_to_points("a😀b")
>>> [to_points(unit) for unit in range(6)]
[0, 1, None, 2, 3, None]
>>> graphemes_to_points("👨‍👩‍👧 née")(1)
5
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable
from functools import cache

#: From one count to another; None where there is no such place.
Converter = Callable[[int], int | None]

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


def utf16_to_points(text: str) -> Converter:
    """From UTF-16 units to code points."""
    starts = [match.start() + i for i, match in enumerate(_ASTRAL.finditer(text))]
    length = len(text) + len(starts)
    if not starts:
        return lambda unit: unit if 0 <= unit <= length else None

    def convert(unit: int) -> int | None:
        if not 0 <= unit <= length:
            return None
        before = bisect_left(starts, unit)
        return None if before and starts[before - 1] == unit - 1 else unit - before

    return convert


def line_ends_to_points(text: str) -> Converter:
    """From code points of which ``\\r\\n`` takes one, as where a browser has made them equal."""
    starts = [i for i in range(len(text)) if text[i] != "\n" or text[i - 1 : i] != "\r"]
    starts.append(len(text))
    return lambda place: starts[place] if 0 <= place < len(starts) else None


def points_to_utf16(text: str) -> Converter:
    """From code points to UTF-16 units; None only outside the text."""
    astral = [match.start() for match in _ASTRAL.finditer(text)]
    length = len(text)
    return lambda point: point + bisect_left(astral, point) if 0 <= point <= length else None


def graphemes_to_points(text: str) -> Converter:
    """From grapheme clusters to code points."""
    borders = grapheme_borders(text)
    return lambda cluster: borders[cluster] if 0 <= cluster < len(borders) else None


def points_to_graphemes(text: str) -> Converter:
    """From code points to grapheme clusters; None where the point is inside a cluster."""
    borders = grapheme_borders(text)

    def convert(point: int) -> int | None:
        cluster = bisect_left(borders, point)
        return cluster if cluster < len(borders) and borders[cluster] == point else None

    return convert


def grapheme_borders(text: str) -> list[int]:
    """Where the clusters begin, and the length of the text.

    The rules are those of Unicode 15.0 and before, which the tools' libraries follow: conjuncts of
    Indic scripts (rule GB9c of 15.1) are not held together. Pictographs are taken by blocks, which
    differs from the exact list only for two arrows or signs joined by U+200D.

    >>> grapheme_borders("e\\u0301\\r\\n각")
    [0, 2, 4, 5]
    """
    if text.isascii() and "\r\n" not in text:
        return list(range(len(text) + 1))
    return [match.start() for match in _cluster().finditer(text)] + [len(text)]


# Characters whose class does not follow from their general category (Unicode 15).
_EXTEND = (
    "09BE 09D7 0B3E 0B57 0BBE 0BD7 0CC0 0CC2 0CC7-0CC8 0CCA-0CCB 0CD5-0CD6 0D3E 0D57 0DCF "
    "0DDF 1B35 200C 302E-302F FF9E-FF9F 1133E 11357 114B0 114BD 115AF 11930 1D165 "
    "1D16E-1D172 1F3FB-1F3FF E0020-E007F"
)
_NOT_SPACING = (
    "102B-102C 1038 1062-1064 1067-106D 1083 1087-108C 108F 109A-109C 1A61 1A63-1A64 AA7B "
    "AA7D 11720-11721"
)
_PREPEND = (
    "0600-0605 06DD 070F 0890-0891 08E2 0D4E 110BD 110CD 111C2-111C3 1193F 11941 11A3A "
    "11A84-11A89 11D46"
)
_PICTOGRAPHS = (
    "00A9 00AE 203C 2049 2122 2139 2190-21FF 2300-23FF 24C2 25A0-27BF 2900-297F 2B00-2BFF "
    "3030 303D 3297 3299 1F000-1F1E5 1F200-1F3FA 1F400-1FAFF 1FC00-1FFFD"
)


def _codes(ranges: str) -> set[int]:
    pairs = (part.split("-") for part in ranges.split())
    return {code for pair in pairs for code in range(int(pair[0], 16), int(pair[-1], 16) + 1)}


@cache
def _cluster() -> re.Pattern[str]:
    """A pattern that matches one cluster at a time, wherever it is begun."""
    kinds: dict[str, set[int]] = {}
    for code in (*range(0x20000), *range(0xE0000, 0xE1000)):
        kinds.setdefault(unicodedata.category(chr(code)), set()).add(code)
    prepend = _codes(_PREPEND)
    extend = (kinds["Mn"] | kinds["Me"] | _codes(_EXTEND)) - prepend
    joining = (
        extend | ((kinds["Mc"] | {0x0E33, 0x0EB3}) - _codes(_NOT_SPACING) - prepend) | {0x200D}
    )
    control = (kinds["Cc"] | kinds["Cf"] | kinds["Zl"] | kinds["Zp"]) - prepend - joining
    lv = "".join(chr(code) for code in range(0xAC00, 0xD7A4, 28))
    leading, vowel, trailing = (
        "[\u1100-\u115f\ua960-\ua97c]",
        "[\u1160-\u11a7\ud7b0-\ud7c6]",
        "[\u11a8-\u11ff\ud7cb-\ud7fb]",
    )
    after_lv = f"(?:[{lv}]{vowel}*|(?![{lv}])[\uac00-\ud7a3]|{vowel}+){trailing}*"
    hangul = f"{leading}*{after_lv}|{leading}+|{trailing}+"
    pictograph = _set(_codes(_PICTOGRAPHS))
    emoji = f"{pictograph}(?:{_set(extend)}*\u200d{pictograph})*"
    flag = "[\U0001f1e6-\U0001f1ff]{2}"
    core = f"(?:{hangul}|{flag}|{emoji}|[^{_set(control)[1:]})"
    tail = f"{_set(joining)}*"
    return re.compile(f"\r\n|{_set(prepend)}*{core}{tail}|.", re.DOTALL)


def _set(codes: set[int]) -> str:
    """A character class."""
    parts: list[list[int]] = []
    for code in sorted(codes):
        if parts and parts[-1][1] == code - 1:
            parts[-1][1] = code
        else:
            parts.append([code, code])
    return "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in parts) + "]"
