"""One document, several copies of its text: marks moved from one copy to the other where that is safe.

Copies may differ in white space, in Unicode normalisation (``é`` as one character or two), and in a few
small edits that no mark touches. Everything else is refused, with the place of the first difference.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Extents, Mark, Notes, Opinion
from seqtruth.io.tokens import trimmed

#: Copies that share less than this are different texts.
ALIKE = 0.5
#: Edits may make up this share of a text.
MAX_EDITED = 0.1
#: A stretch between equal lines that is longer than this is not compared character by character.
MAX_STRETCH = 1000
#: Nor more than this of one text.
MAX_COMPARED = 20_000
_LINES = re.compile(r"[^\n.!?。]*[\n.!?。]*\s*")


class Block(NamedTuple):
    """Bare characters that are the same in both copies: from ``there`` on, and from ``here`` on."""

    there: int
    here: int
    length: int


class Pair(NamedTuple):
    """Two stretches that say the same: letter by letter, or one character written in two ways."""

    there: tuple[int, int]
    here: tuple[int, int]

    @property
    def letter_by_letter(self) -> bool:
        return self.there[1] - self.there[0] == self.here[1] - self.here[0]


class Alignment:
    """From places in one copy of a text to places in another.

    Examples
    --------
    >>> way = align_texts("Zoe\\u0301  ran.", "Zo\\xe9 ran!")
    >>> way.mark(Mark(0, 3, "PER"))
    Mark(start=0, end=4, label='PER', pieces=(), score=None)
    >>> way.mark(Mark(4, 8, "X")) is None   # its last character is another one here
    True
    """

    def __init__(self, pairs: Sequence[Pair], there: str) -> None:
        self._pairs, self._there = pairs, there
        self._starts = [pair.there[0] for pair in pairs]

    def _pair(self, place: int) -> Pair | None:
        number = bisect_right(self._starts, place) - 1
        if number < 0 or place >= self._pairs[number].there[1]:
            return None
        return self._pairs[number]

    def stretch(self, start: int, end: int) -> tuple[int, int] | None:
        """A stretch here, blanks at its edges apart; None where its first or last character is not here."""
        start, end = trimmed(self._there, max(start, 0), min(end, len(self._there)))
        first, last = self._pair(start), self._pair(end - 1)
        if first is None or last is None or start >= end:
            return None
        a = first.here[0] + (start - first.there[0] if first.letter_by_letter else 0)
        b = last.here[1] - (last.there[1] - end if last.letter_by_letter else 0)
        return (a, b) if a < b else None

    def mark(self, mark: Mark) -> Mark | None:
        """A mark here; None where one of its borders is not."""
        hull = self.stretch(mark.start, mark.end)
        pieces = [self.stretch(*piece) for piece in mark.pieces]
        if hull is None or None in pieces:
            return None
        return mark._replace(start=hull[0], end=hull[1], pieces=tuple(p for p in pieces if p))


def align_texts(here: str, there: str) -> Alignment | None:
    """The way from ``there`` to ``here``; None where too much differs to be safe."""
    if here == there:
        return Alignment([Pair((0, len(here)), (0, len(here)))], there)
    ours, our_places = _bare(here)
    theirs, their_places = _bare(there)
    blocks = [Block(0, 0, len(ours))] if ours == theirs else _blocks(ours, theirs)
    if blocks is None:
        return None
    return Alignment(_in_texts(blocks, our_places, their_places), there)


def _bare(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Normalised text without white space, and the stretch of ``text`` behind each character."""
    letters: list[str] = []
    places: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and end - start < 32 and _belongs(text[end]):
            end += 1
        piece = text[start:end]
        normal = piece if piece.isascii() else unicodedata.normalize("NFKC", piece)
        for letter in normal:
            if not letter.isspace():
                letters.append(letter)
                places.append((start, end))
        start = end
    return "".join(letters), places


def _belongs(letter: str) -> bool:
    """Whether it is one with the letter before, when normalised: combining marks, Korean vowels and ends."""
    return letter > "\u02ff" and (
        unicodedata.category(letter)[0] == "M" or "\u1160" <= letter <= "\u11ff"
    )


def _blocks(ours: str, theirs: str) -> list[Block] | None:
    """What two texts share, if it is nearly everything: first whole sentences, then letters between.

    Both steps are bounded: sentences are compared by their hashes, and stretches of letters only where they
    are short.
    """
    blocks: list[Block] = []
    compared = edited = 0
    for a, b, c, d in _changed(theirs, ours, blocks):
        length = max(b - a, d - c)
        compared += length
        if length > MAX_STRETCH or compared > MAX_COMPARED:
            return None
        matcher = SequenceMatcher(None, theirs[a:b], ours[c:d], autojunk=False)
        same = matcher.get_matching_blocks()
        edited += length - sum(n for _, _, n in same)
        if edited > 1 + MAX_EDITED * len(ours):
            return None
        blocks += [Block(a + i, c + j, n) for i, j, n in same]
    return sorted(blocks)


def _changed(theirs: str, ours: str, blocks: list[Block]) -> list[tuple[int, int, int, int]]:
    """Stretches that differ, by pieces of text; those that are the same go to ``blocks``."""
    ours_cut, theirs_cut = _pieces(ours), _pieces(theirs)
    first = _common(ours_cut[0], theirs_cut[0])
    last = _common(ours_cut[0][first:][::-1], theirs_cut[0][first:][::-1])
    a, b = theirs_cut[1][first], theirs_cut[1][len(theirs_cut[0]) - last]
    c, d = ours_cut[1][first], ours_cut[1][len(ours_cut[0]) - last]
    blocks += [Block(0, 0, c), Block(b, d, len(ours) - d)]
    middle = [cut[0][first : len(cut[0]) - last] for cut in (theirs_cut, ours_cut)]
    if max(map(len, middle)) > MAX_STRETCH:
        return [(a, b, c, d)]
    out = []
    for kind, i, j, k, m in SequenceMatcher(None, middle[0], middle[1], False).get_opcodes():
        x, y = theirs_cut[1][first + i], theirs_cut[1][first + j]
        u, v = ours_cut[1][first + k], ours_cut[1][first + m]
        if kind == "equal":
            blocks.append(Block(x, u, y - x))
        else:
            out.append((x, y, u, v))
    return out


def _pieces(text: str) -> tuple[list[str], list[int]]:
    pieces = [found.group() for found in _LINES.finditer(text) if found.group()]
    places = [0]
    for piece in pieces:
        places.append(places[-1] + len(piece))
    return pieces, places


def _common(one: Sequence[str], two: Sequence[str]) -> int:
    """How many pieces at the beginning are the same."""
    n = 0
    while n < min(len(one), len(two)) and one[n] == two[n]:
        n += 1
    return n


def _in_texts(
    blocks: Iterable[Block], ours: list[tuple[int, int]], theirs: list[tuple[int, int]]
) -> list[Pair]:
    """Blocks of bare characters as pairs of stretches of the texts."""
    out: list[Pair] = []
    for there, here, length in blocks:
        for k in range(length):
            new = Pair(theirs[there + k], ours[here + k])
            old = out[-1] if out else None
            if old is not None and new.there[0] < old.there[1]:
                continue  # a further letter of the same character
            goes_on = (
                old is not None
                and (old.there[1], old.here[1]) == (new.there[0], new.here[0])
                and old.letter_by_letter
                and new.letter_by_letter
            )
            if old is not None and goes_on:
                out[-1] = Pair((old.there[0], new.there[1]), (old.here[0], new.here[1]))
            else:
                out.append(new)
    return out


def alike(here: str, there: str) -> bool:
    """Whether two texts are copies of one at all."""
    one, two = here.split(), there.split()
    if not one or not two:
        return one == two
    return len(set(one) & set(two)) / max(len(set(one)), len(set(two))) >= ALIKE


def first_difference(here: str, there: str) -> int:
    """The first place at which two texts differ."""
    shorter = min(len(here), len(there))
    low, high = 0, shorter
    while low < high:  # by halves, as slices are compared at once
        middle = (low + high + 1) // 2
        low, high = (middle, high) if here[:middle] == there[:middle] else (low, middle - 1)
    return low


def moved(opinion: Opinion, way: Alignment, notes: Notes, where: str) -> Opinion:
    """An opinion on one copy, on the other; marks that an edit touches are counted."""
    marks = []
    for mark in opinion.marks:
        new = way.mark(mark)
        if new is None:
            notes.left_out("mark on text that differs between copies of a document", where)
        else:
            marks.append(new)
    seen = opinion.seen
    if seen is not None:
        stretches = [way.stretch(*stretch) for stretch in seen]
        seen = tuple(stretch for stretch in stretches if stretch is not None)
    return replace(opinion, marks=tuple(marks), seen=seen)


def joined(first: Document, second: Document, notes: Notes) -> Document:
    """Two records of one document as one, the second's marks and borders moved to the first's text."""
    opinions, tokens, sentences = second.opinions, second.tokens, second.sentences
    if first.text != second.text:
        way = align_texts(first.text, second.text)
        if way is None:
            raise differs(first, second)
        where = second.where or second.id
        opinions = tuple(moved(opinion, way, notes, where) for opinion in opinions)
        tokens, sentences = _moved_extents(tokens, way), _moved_extents(sentences, way)
    return replace(
        first,
        opinions=(*first.opinions, *opinions),
        tokens=tokens if first.tokens is None else first.tokens,
        sentences=sentences if first.sentences is None else first.sentences,
        source=first.source if first.source is not None else second.source,
    )


def _moved_extents(extents: Extents | None, way: Alignment) -> Extents | None:
    found = (way.stretch(*extent) for extent in extents or ())
    return tuple(stretch for stretch in found if stretch is not None) or None


def differs(first: Document, second: Document) -> InputError:
    """The refusal, with the place."""
    place = first_difference(first.text, second.text)
    return InputError(
        f"the text of document {second.id!r} differs at character {place:,} from that at "
        f"{first.where or 'its first place'}",
        where=second.where or None,
        got=f"{second.text[place : place + 20]!r} instead of {first.text[place : place + 20]!r}",
        fix="annotators must have marked the same text; give different documents different ids",
    )
