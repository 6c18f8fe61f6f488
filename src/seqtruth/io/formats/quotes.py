"""Marked words that a tool gives without their places: found again in the text, or said to be lost.

A quote that stands once in the text is there. One that stands several times is taken where it fits
between its neighbours, if the tool lists quotes in reading order, or everywhere if it is listed as
often as it stands. What is still open is taken at its first place and counted, or left out if told so.
Blanks in a quote match any white space; nothing else is forgiven.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from seqtruth.io.documents import Notes

AMBIGUOUS = ("first", "all", "none")
#: Places of one quote, and quotes of one answer, that are looked at.
_PLACES = 1000
_QUOTES = 2000


def locate(
    quotes: Sequence[str], text: str, notes: Notes, where: str, ambiguous: str = "first"
) -> list[tuple[int, int]]:
    """Where the quotes stand, in reading order.

    >>> notes = Notes()
    >>> locate(["protect", "murdered", "protect"], "protect the murdered, protect", notes, "")
    [(0, 7), (12, 20), (22, 29)]
    >>> locate(["said", "he"], "he said that he ran", notes, "")
    [(3, 7), (13, 15)]
    """
    if len(quotes) > _QUOTES:
        notes.left_out(
            f"quote after the first {_QUOTES:,} of an answer", where, len(quotes) - _QUOTES
        )
        quotes = quotes[:_QUOTES]
    times = Counter(quotes)
    places = {quote: _places(quote, text) for quote in times}
    found = {
        place for quote in times if len(places[quote]) <= times[quote] for place in places[quote]
    }
    between = _between(quotes, places, len(text))
    for quote, (before, after) in zip(quotes, between, strict=True):
        there = places[quote]
        if not there:
            notes.left_out("quote that is not in the text", where)
        elif len(there) > times[quote]:
            fitting = [place for place in there if before <= place[0] and place[1] <= after]
            if len(fitting) == 1:
                found.update(fitting)
                continue
            notes.left_out(f"quote with several places (taken: {_TAKEN[ambiguous]})", where)
            found.update({"first": there[:1], "all": there, "none": []}[ambiguous])
    return sorted(found)


_TAKEN = {"first": "the first", "all": "all", "none": "none"}


def _between(
    quotes: Sequence[str], places: dict[str, list[tuple[int, int]]], length: int
) -> list[tuple[int, int]]:
    """For each quote, the end and start of the nearest quotes before and after it with one place."""
    before, after, end, start = [], [], 0, length
    for quote in quotes:
        before.append(end)
        end = places[quote][0][1] if len(places[quote]) == 1 else end
    for quote in reversed(quotes):
        after.append(start)
        start = places[quote][0][0] if len(places[quote]) == 1 else start
    return list(zip(before, reversed(after), strict=True))


def _places(quote: str, text: str) -> list[tuple[int, int]]:
    """All places of a quote: as whole words if it stands so anywhere, else also inside words."""
    words = quote.split()
    if not words:
        return []
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    found: list[tuple[int, int]] = []
    for match in pattern.finditer(text):
        found.append(match.span())
        if len(found) == _PLACES:
            break
    whole = [(a, b) for a, b in found if not _inside_word(text, a) and not _inside_word(text, b)]
    return whole or found


def _inside_word(text: str, place: int) -> bool:
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()
