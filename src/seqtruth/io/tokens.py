"""Text cut into tokens, in any script, so that no mark begins or ends inside one.

A token is a number, a word with its accents, or any other visible character. Scripts that are written
without blanks between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan) are cut character by
character, because no rule finds their words; a character keeps its combining marks, and an emoji the
joiners, skin tones and selectors that belong to it. What is not white space is in exactly one token.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from seqtruth.io.documents import Extents

#: Letters of scripts without blanks between words.
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aad\ua9e0-\ua9ff"
    "\uaa60-\uaadf\u2e80-\u2fdf\u3005-\u3007\u3021-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u9fff"
    "\uf900-\ufaff\uff66-\uff9d\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
#: What changes the look of the emoji before it: skin tones, tags of flags.
_EMOJI_TAIL = "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
#: Join letters into one word, or pictures into one emoji.
_JOINERS = "\u200c\u200d\u00ad\u2060"


@functools.cache
def _marks() -> str:
    """Combining marks, as the inside of a character class."""
    points = [*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)]
    ranges: list[list[int]] = []
    for point in points:
        if unicodedata.category(chr(point))[0] != "M":
            continue
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in ranges)


@functools.cache
def _pattern() -> re.Pattern[str]:
    mark = _marks()
    letter = rf"(?:(?![{UNSPACED}])\w)"
    number = rf"\d+(?:[.,]\d+)+(?![\w{mark}])"
    word = rf"{letter}(?:{letter}|[{mark}]|[{_JOINERS}](?={letter}))*"
    flag = r"[\U0001f1e6-\U0001f1ff]{2}"
    single = rf"\S[{mark}{_EMOJI_TAIL}]*(?:\u200d[^\s\w][{mark}{_EMOJI_TAIL}]*)*"
    return re.compile(f"{number}|{word}|{flag}|{single}")


def is_complex(letter: str) -> bool:
    """Whether a letter may belong to the one before: combining marks, joiners, tails of emoji, flags."""
    return letter > "\u007f" and (
        unicodedata.category(letter)[0] == "M"
        or letter in _JOINERS
        or "\U0001f1e6" <= letter <= "\U0001f1ff"
        or "\U0001f3fb" <= letter <= "\U0001f3ff"
        or "\U000e0020" <= letter <= "\U000e007f"
    )


def tokenise(
    text: str, cuts: Iterable[int] = (), given: Sequence[tuple[int, int]] | None = None
) -> list[tuple[int, int]]:
    """Start and end of each token, with a border at each of the places in ``cuts``.

    Parameters
    ----------
    text : what to cut.
    cuts : where marks begin and end.
    given : tokens that the source itself has; they are kept, visible text between them is cut by our
        rules, and they are cut further where a mark needs it.

    Examples
    --------
    >>> text = "Dr. Smith-Jones paid $3.50."
    >>> [text[a:b] for a, b in tokenise(text, {7})]
    ['Dr', '.', 'Smi', 'th', '-', 'Jones', 'paid', '$', '3.50', '.']
    >>> [text[a:b] for a, b in tokenise(text, (), [(0, 3), (4, 15)])]
    ['Dr.', 'Smith-Jones', 'paid', '$', '3.50', '.']
    """
    if given is None:
        tokens = [found.span() for found in _pattern().finditer(text)]
    else:
        tokens = _with_gaps(text, given)
    places = sorted(set(cuts))
    if not places:
        return tokens
    out: list[tuple[int, int]] = []
    for start, end in tokens:
        first, last = bisect_right(places, start), bisect_left(places, end)
        for cut in places[first:last]:
            out += _without_blanks(text, start, cut)
            start = cut
        out += _without_blanks(text, start, end) if first < last else [(start, end)]
    return out


def _with_gaps(text: str, given: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The tokens given, in order and without overlaps, and ours where they leave text out."""
    tokens: list[tuple[int, int]] = []
    reached = 0
    for start, end in [*sorted(given), (len(text), len(text))]:
        start, end = max(start, reached), min(end, len(text))
        if start > reached:
            tokens += [found.span() for found in _pattern().finditer(text, reached, start)]
        tokens += _without_blanks(text, start, end)
        reached = max(reached, end)
    return tokens


def _without_blanks(text: str, start: int, end: int) -> Extents:
    """The stretch without white space at its edges; nothing where it is all white space."""
    start, end = trimmed(text, start, end)
    return ((start, end),) if start < end else ()


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch without the white space at its edges; empty where there is nothing else in it."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
