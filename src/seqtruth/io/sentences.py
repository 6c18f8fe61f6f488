"""Documents cut into sentences by rules of punctuation and lines, without a language model.

A cut never falls inside a mark of anybody: the sentences on both sides stay one. Sentences, one after the
other, are the whole text; the blanks after a sentence belong to it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from seqtruth.errors import ParameterError
from seqtruth.io.documents import Extents

SPLITS = ("sentences", "lines", "none")

#: Ends a sentence where a blank follows: Latin, Greek, Arabic, Armenian, Urdu, Devanagari, Ethiopic, Khmer …
_ENDS = ".!?…‼⁇⁈⁉؟۔։।॥።፧፨។៕"
#: Ends a sentence whatever follows (Chinese and Japanese; half-width form too).
WIDE_ENDS = "。！？｡"
_CLOSERS = "\"'”’»›)]）」』】》〉"
_CLOSER = f"[{re.escape(_CLOSERS)}]"
# look back and never give back, so that a million full stops take no longer than they should; begin with a
# set of characters, which is what is searched for fast
_END = re.compile(rf"[{_ENDS}](?<![{_ENDS}][{_ENDS}])[{_ENDS}]*+{_CLOSER}*+\s++(?=\S)")
_WIDE_END = re.compile(
    rf"[{WIDE_ENDS}](?<![{WIDE_ENDS}][{WIDE_ENDS}])[{WIDE_ENDS}]*+{_CLOSER}*+\s*+(?=\S)"
)
#: Before these no sentence ends, as before small letters.
_GOING_ON = ",;:)]"
#: Characters at which a line may end, and a page.
BREAKS = "\n\r\u2028\u2029\x85\f"
_BLANK_LINE = re.compile(r"\n[^\S\n]*(?:\n\s*)+|\r[^\S\r]*(?:\r\s*)+|[\u2029\f]\s*")
_LINE = re.compile(r"(?:\r\n|[\n\r\u2028\u2029\x85])\s*")
#: More letters than this before a full stop are no abbreviation.
LONGEST_WORD = 40
#: Words whose full stop rarely ends a sentence, in small letters.
_ABBREVIATIONS = frozenset(
    re.findall(
        r"\S+",
        """
        mr mrs ms dr prof sr jr st rev gen col capt lt sgt hon messrs mme mlle vs etc al fig figs eq eqs
        no nos vol p pp ca cf approx dept univ inc ltd co corp bros jan feb mar apr jun jul aug sep
        sept oct nov dec mon tue wed thu fri sat sun z.b d.h u.a bzw usw nr abs art bd hr hrn fr sra dra ud
        uds av p.ej pág núm e.g i.e a.m p.m u.s u.k p.s ph.d m.d
        """,
    )
)
#: So many letters in a row are in no abbreviation.
LONG_WORD = max(map(len, _ABBREVIATIONS)) + 1
#: A line longer than this is a paragraph, not one that was broken to fit.
_WRAPPED = 120


def split_text(
    text: str, split: str, given: Extents | None = None, marks: Iterable[tuple[int, int]] = ()
) -> list[tuple[int, int]]:
    """Start and end of each sentence.

    Parameters
    ----------
    split : ``"none"``: the whole text; ``"lines"``: at every line end; ``"sentences"``: at the borders
        that the source itself gives, else after full stops, question marks and the like of any script,
        and at empty lines and the ends of paragraphs.
    given : sentences of the source.
    marks : stretches that no border may cut.

    Examples
    --------
    >>> text = "Dr. Ng left. She ran! 她跑了。我没有。"
    >>> [text[a:b] for a, b in split_text(text, "sentences")]
    ['Dr. Ng left. ', 'She ran! ', '她跑了。', '我没有。']
    >>> [text[a:b] for a, b in split_text(text, "sentences", marks=[(7, 16)])]
    ['Dr. Ng left. She ran! ', '她跑了。', '我没有。']
    """
    check_split(split)
    if split == "none" or not text.strip():
        return [(0, len(text))]
    if split == "lines":
        borders = set(line_borders(text))
    elif given:
        borders = set(source_borders(text, given))
    else:
        borders = {*sentence_ends(text), *paragraph_borders(text)}
    kept = _uncut(sorted(b for b in borders if 0 < b < len(text)), marks)
    starts = merged_blanks(text, kept)
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


def check_split(split: str) -> None:
    """Refuse what is no way to split."""
    if split not in SPLITS:
        raise ParameterError(f"split must be one of {', '.join(SPLITS)}", got=repr(split))


def merged_blanks(text: str, borders: list[int]) -> list[int]:
    """Starts of sentences between borders; one without anything visible goes to the one before."""
    starts = [0]
    for border, after in zip(borders, [*borders, len(text)][1:], strict=True):
        if text[starts[-1] : border].strip() and text[border:after].strip():
            starts.append(border)
    return starts


def line_borders(text: str) -> Iterable[int]:
    """Beginnings of lines."""
    return (found.end() for found in _LINE.finditer(text))


def source_borders(text: str, given: Extents) -> set[int]:
    """The first visible character of every sentence given, and of what stands between them."""
    borders = {start for start, _ in given}
    for _, end in given:
        while end < len(text) and text[end].isspace():
            end += 1
        borders.add(end)
    return borders


def sentence_ends(text: str) -> Iterable[int]:
    """Places after full stops, question marks and the like that end a sentence."""
    for found in _END.finditer(text):
        if _is_end(text, found):
            yield found.end()
    if not text.isascii():
        yield from (found.end() for found in _WIDE_END.finditer(text))


def _is_end(text: str, found: re.Match[str]) -> bool:
    start, end = found.span()
    if text[end].islower() or text[end] in _GOING_ON:
        return False
    if text[start] != "." or not text[start + 1].isspace():
        return True
    if start >= LONG_WORD and text[start - LONG_WORD : start].isalpha():
        return True
    return not is_shortened(text, _word_before(text, start), start, end)


def is_shortened(text: str, place: int, start: int, end: int) -> bool:
    """Whether the word before a full stop is an abbreviation, an initial or the number of an item.

    Parameters
    ----------
    text : all of it.
    place, start, end : where the word begins, where the full stop stands, and where the text goes on.
    """
    name = text[place:start].lower()
    if name in _ABBREVIATIONS or not 0 < len(name) <= 2:
        return name in _ABBREVIATIONS
    if len(name) == 1 and name.isalpha() and text[end].isupper() and text[start - 1].isupper():
        return True
    return name.isdigit() and _opens_line(text, place)


def signs_of(letter: str) -> int:
    """What a character may mean for the end of a sentence, as bits; see ``kernels/cpp/sentences.hpp``."""
    told = (
        letter in _ENDS, letter in WIDE_ENDS, letter in _CLOSERS, letter == ".",
        letter.islower() or letter in _GOING_ON,
        letter.isalpha(), letter.isalnum() or letter in "._", letter.isspace(),
    )  # fmt: skip
    return sum(1 << bit for bit, so in enumerate(told) if so)


def _word_before(text: str, end: int) -> int:
    """Where the letters, digits and full stops before a place begin; full stops in front are left away."""
    start, least = end, max(0, end - LONGEST_WORD)
    while start > least and (text[start - 1].isalnum() or text[start - 1] in "._"):
        start -= 1
    while start < end and text[start] == ".":
        start += 1
    return start


def _opens_line(text: str, place: int) -> bool:
    """Whether only blanks stand before it on its line: ``1. First item``."""
    while place and text[place - 1] in " \t":
        place -= 1
    return place == 0 or text[place - 1] in "\n\r"


def paragraph_borders(text: str) -> Iterable[int]:
    """Empty lines, and line ends that are not there only to make lines fit a page."""
    yield from (found.end() for found in _BLANK_LINE.finditer(text))
    lines = list(_LINE.finditer(text))
    if not lines:
        return
    starts = [0, *(found.end() for found in lines)]
    lengths = [found.start() - start for found, start in zip(lines, starts, strict=False)]
    longest = max([*lengths, len(text) - starts[-1]])
    for found, length in zip(lines, lengths, strict=True):
        goes_on = found.end() < len(text) and text[found.end()].islower()
        wrapped = longest <= _WRAPPED and length >= 0.6 * longest and length > 40
        if not goes_on and not wrapped:
            yield found.end()


def _uncut(borders: list[int], marks: Iterable[tuple[int, int]]) -> list[int]:
    """The borders that lie inside no mark."""
    cut = [False] * len(borders)
    reached = 0
    for start, end in sorted(marks):
        for place in range(max(reached, bisect_right(borders, start)), bisect_left(borders, end)):
            cut[place] = True
            reached = place + 1
    return [border for border, inside in zip(borders, cut, strict=True) if not inside]
