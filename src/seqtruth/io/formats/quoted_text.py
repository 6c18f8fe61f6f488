"""Finding quoted text in a document: where it stands, whether that is one place, and nothing guessed.

A quote is found as it is written, at the borders of words where the script has such (so that ``he`` is
not found in ``the``). Where that fails and is asked for, it is found with other blanks, case, accents,
quotation marks and dashes (``fuzzy="spelling"``), or by similarity to the words (``fuzzy=0.9``).
"""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal, NamedTuple

from seqtruth.errors import InputError

Problem = Literal["not in the text", "only inside a word", "ambiguous", "too long to compare"]
#: Characters to search in one document, and stretches to compare; more would take minutes.
MAX_STEPS = 1_000_000_000
MAX_WINDOWS = 100_000
#: How much longer it takes to bring a character to one spelling than to search it.
FOLDING = 100
#: Of a quote that is compared by similarity.
MAX_LENGTH = 500
#: Scripts that set no blanks between words (Thai, Lao, Burmese, Khmer, kana, Han and their kin).
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u31ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]"
)
_WORDS = re.compile(r"\S+")
_SIGNS = str.maketrans("‘’‚‛“”„‟«»‐‑‒–—―−", "''''" + '""""""' + "-------")


class Place(NamedTuple):
    start: int
    end: int


class Quotes:
    """Finds quotes in one text.

    >>> Quotes("the hero, he said").places("he")
    [Place(start=10, end=12)]
    """

    def __init__(self, text: str, where: str = "", fuzzy: str | float = "no") -> None:
        self.text, self.where, self.fuzzy = text, where, fuzzy
        self._steps = self._windows = 0
        self._known: dict[str, list[Place] | Problem] = {}

    def places(self, quote: str) -> list[Place] | Problem:
        """All places of a quote, or why there is none."""
        if quote not in self._known:
            self._known[quote] = self._search(quote)
        return self._known[quote]

    def _search(self, quote: str) -> list[Place] | Problem:
        found = self._exact(self.text, quote)
        if not found and self.fuzzy != "no":
            folded, origins = self._folded
            self._steps += FOLDING * len(quote)
            wanted = _fold(quote)[0].strip()
            found = [
                Place(origins[start], origins[end - 1] + 1)
                for start, end in (self._exact(folded, wanted) if wanted else [])
            ]
        if found:
            words = [place for place in found if _at_borders(self.text, place)]
            return words or "only inside a word"
        return self._similar(quote) if isinstance(self.fuzzy, float) else "not in the text"

    def _exact(self, text: str, quote: str) -> list[Place]:
        self._steps += len(text) + 1
        if self._steps > MAX_STEPS:
            raise InputError(
                "too many different quotes for so long a text", where=self.where,
                got=f"{len(self._known):,} quotes, {len(text):,} characters",
                fix="give shorter documents, with their own answers each",
            )  # fmt: skip
        places = []
        start = text.find(quote)
        while start >= 0:
            places.append(Place(start, start + len(quote)))
            start = text.find(quote, start + len(quote))
        return places

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        self._steps += FOLDING * len(self.text)
        return _fold(self.text)

    @cached_property
    def _words(self) -> list[tuple[int, int]]:
        return [match.span() for match in _WORDS.finditer(self.text)]

    def _similar(self, quote: str) -> list[Place] | Problem:
        """The one stretch of words that is most similar to the quote, if similar enough."""
        if len(quote) > MAX_LENGTH:
            return "too long to compare"
        matcher = SequenceMatcher(autojunk=False)
        matcher.set_seq2(quote.casefold())
        size = len(quote.split())
        best = float(self.fuzzy)
        places: set[Place] = set()
        for count in {max(1, size - 1), size, size + 1}:
            for first in range(len(self._words) - count + 1):
                self._windows += 1
                if self._windows > MAX_WINDOWS:
                    return "too long to compare"
                start, end = self._words[first][0], self._words[first + count - 1][1]
                start, end = _trimmed(self.text, start, end)
                if not 0.5 < (end - start + 1) / (len(quote) + 1) < 2:
                    continue
                matcher.set_seq1(self.text[start:end].casefold())
                if matcher.real_quick_ratio() < best or matcher.quick_ratio() < best:
                    continue
                ratio = matcher.ratio()
                if ratio > best:
                    best, places = ratio, set()
                if ratio == best:
                    places.add(Place(start, end))
        if not places:
            return "not in the text"
        return "ambiguous" if len(places) > 1 else list(places)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Without the signs around it."""
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return start, end


def _at_borders(text: str, place: Place) -> bool:
    return not (_joined(text, place.start) or _joined(text, place.end))


def _joined(text: str, border: int) -> bool:
    """Whether a word goes on over a border."""
    if not 0 < border < len(text):
        return False
    left, right = text[border - 1], text[border]
    if _UNSPACED.match(left) or _UNSPACED.match(right):
        return False
    return (left.isalnum() or left == "_") and (right.isalnum() or right == "_")


def _fold(text: str) -> tuple[str, list[int]]:
    """The text in one spelling, with the place that each of its characters came from."""
    letters: list[str] = []
    origins: list[int] = []
    blank = True
    for place, letter in enumerate(text):
        if letter.isspace():
            if not blank:
                letters.append(" ")
                origins.append(place)
            blank = True
            continue
        blank = False
        for folded in unicodedata.normalize("NFKD", letter).casefold().translate(_SIGNS):
            if not unicodedata.combining(folded):
                letters.append(folded)
                origins.append(place)
    return "".join(letters), origins
