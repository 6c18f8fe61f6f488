"""A knowledge base of persons' names: given names and surnames of the US census."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from seqtruth.data.corpus import Corpus
from seqtruth.datasets.annotators.base import (
    Mention,
    bio,
    documents,
    installed,
    is_capital,
    ordinary_words,
    sentences,
    version_of,
)

INITIAL = re.compile(r"(?:[A-Z]\.-?)+")
PARTICLES = frozenset(("al", "bin", "da", "de", "del", "della", "der", "di", "dos", "du", "la", "van",
                       "von"))  # fmt: skip


@dataclass(frozen=True)
class PersonNames:
    """Marks persons only: a given name or initials, then a surname; then that surname alone.

    A surname standing alone is a person's where its document also has the full name.
    """

    name: ClassVar[str] = "names"
    kind: ClassVar[str] = "knowledge base"
    needs: ClassVar[str] = "names"
    source: ClassVar[str] = "US census 1990 (public domain) in the package names (MIT)"

    def version(self) -> str:
        _lists()
        return version_of("names")

    def annotate(self, corpus: Corpus) -> list[list[str]]:
        text = sentences(corpus)
        ordinary = ordinary_words(text)
        tags: list[list[str]] = [[] for _ in text]
        for numbers in documents(corpus):
            found = {number: full_names(text[number], ordinary) for number in numbers}
            surnames = {text[n][span.end - 1].lower() for n in numbers for span in found[n]}
            for n in numbers:
                words = text[n]
                alone = [
                    Mention(place, place + 1, "PER")
                    for place, word in enumerate(words)
                    if is_capital(word) and word.lower() in surnames
                ]
                tags[n] = bio(len(words), found[n] + alone)
        return tags


def full_names(words: list[str], ordinary: frozenset[str]) -> list[Mention]:
    """Given names and initials followed by a surname, particles between them allowed."""
    found: list[Mention] = []
    start = 0
    while start < len(words):
        end = _name_end(words, start, ordinary)
        if end:
            found.append(Mention(start, end, "PER"))
        start = max(end, start + 1)
    return found


def _name_end(words: list[str], start: int, ordinary: frozenset[str]) -> int:
    """Where the full name that begins here ends; 0 where there is none."""
    given, surnames = _lists()
    end = start
    while end < len(words) and _is_given(words[end], given):
        end += 1
    last = end
    while start < last < len(words) - 1 and words[last].lower() in PARTICLES:
        last += 1
    if start < last < len(words) and _is_surname(words[last], surnames, ordinary):
        return last + 1
    # the last of several given names may be the surname
    if end - start > 1 and _is_surname(words[end - 1], surnames, ordinary):
        return end
    return 0


def _is_given(word: str, given: frozenset[str]) -> bool:
    return is_capital(word) and (
        all(part in given for part in word.lower().split("-")) or bool(INITIAL.fullmatch(word))
    )


def _is_surname(word: str, surnames: frozenset[str], ordinary: frozenset[str]) -> bool:
    lower = word.lower()
    return is_capital(word) and lower not in ordinary and lower.replace("'", "") in surnames


@cache
def _lists() -> tuple[frozenset[str], frozenset[str]]:
    """Given names and surnames in lower case."""
    folder = Path(installed("names", "names", "the annotator of persons' names").__file__).parent

    def column(file: str) -> frozenset[str]:
        text = (folder / file).read_text(encoding="ascii")
        return frozenset(line.split()[0].lower() for line in text.splitlines() if line)

    given = column("dist.male.first") | column("dist.female.first")
    return given, column("dist.all.last")
