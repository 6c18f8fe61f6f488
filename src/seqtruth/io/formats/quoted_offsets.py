"""Offsets that come with the words they mark, which tell what the offsets count."""

from __future__ import annotations

from seqtruth.io.formats.offsets import Converter


def fitted(
    text: str, start: int, end: int | None, quote: str | None, to_points: Converter
) -> tuple[int, int] | None:
    """The stretch in code points: as given if the words stand there, else counted in UTF-16 units.

    ``end`` may be missing, where ``quote`` gives the length. None where neither way fits; offsets
    without words are taken as code points.

    >>> from seqtruth.io.formats.offsets import utf16_to_points
    >>> fitted("😀 Ann", 3, 6, "Ann", utf16_to_points("😀 Ann"))
    (2, 5)
    """
    if quote is None:
        return (start, end) if end is not None else None
    points = (start, start + len(quote))
    if text[max(0, points[0]) : points[1]] == quote and (end is None or end == points[1]):
        return points
    first = to_points(start)
    if first is not None and text[first : first + len(quote)] == quote:
        return first, first + len(quote)
    return None
