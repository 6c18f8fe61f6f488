"""A cascade of hand-written rules over word lists, in the manner of GATE's ANNIE.

Four phases, each reading what the one before it left: *lookup* of known names, *chunks* of
capitalised words, *grammar* that gives a chunk its type by the words in and around it, and the
*orthomatcher*, which finds in the rest of a document the names it has met once.

References
----------
Cunningham, Maynard, Bontcheva & Tablan (2002), GATE: a framework and graphical development
environment for robust NLP tools and applications, ACL. doi:10.3115/1073083.1073112
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import ClassVar

from seqtruth.data.corpus import Corpus
from seqtruth.datasets.annotators.base import (
    Mention,
    bio,
    documents,
    is_capital,
    is_shouted,
    ordinary_words,
    sentences,
    version_of,
)
from seqtruth.datasets.annotators.gazetteer import Gazetteer
from seqtruth.datasets.annotators.lists import entries, words_of
from seqtruth.datasets.annotators.names import INITIAL, PARTICLES
from seqtruth.datasets.annotators.places import plural

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ACRONYM = re.compile(r"[A-Z]{2,6}|(?:[A-Z]\.){3,}|[A-Z]&[A-Z]")
_NUMBER = re.compile(r"[-+]?[\d.,:/-]*\d[\d.,:/-]*")
_WORD = re.compile(r"[^\W\d_][\w.'&/-]*")
_IN = frozenset(
    ("in", "at", "from", "near", "across", "outside", "throughout", "toward", "towards")
)
_SMALL = PARTICLES | {"of", "for", "&"}
_SAYS = frozenset(("said", "says", "told", "added", "who", "insisted", "scored", "won", "beat"))


@dataclass(frozen=True)
class RuleCascade:
    """Rules over lists of our own; always there.

    Strong where names carry their type on them (titles, company endings, given names), blind to a
    single unknown name without context.
    """

    name: ClassVar[str] = "rules"
    kind: ClassVar[str] = "NER system"
    needs: ClassVar[str] = "nothing"
    source: ClassVar[str] = "rules and word lists written for SeqTruth (Apache-2.0)"

    def version(self) -> str:
        return version_of()

    def annotate(self, corpus: Corpus) -> list[list[str]]:
        text = sentences(corpus)
        ordinary = ordinary_words(text)
        tags: list[list[str]] = [[] for _ in text]
        for numbers in documents(corpus):
            found = [sure_spans(text[n], ordinary) for n in numbers]
            known = orthomatcher(
                (" ".join(text[n][a:b]), kind)
                for n, spans in zip(numbers, found, strict=True)
                for a, b, kind in spans
            )
            for n, spans in zip(numbers, found, strict=True):
                words = text[n]
                again = known.find(words, ordinary)
                tags[n] = bio(
                    len(words), [*spans, *again, *guesses(words, ordinary, spans + again)]
                )
        return tags


def sure_spans(words: list[str], ordinary: frozenset[str]) -> list[Mention]:
    """Names whose type the lists or the words themselves tell."""
    dateline = _dateline(words)
    if dateline:
        return dateline
    lookups = _lookup().find(words, ordinary)
    if is_headline(words):
        return lookups
    spans: list[Mention] = []
    for start, end in chunks(words, ordinary):
        spans += _by_grammar(words, start, end)
    return sorted(spans + [one for one in lookups if not _touches(one, spans)])


def is_headline(words: list[str]) -> bool:
    """Whether most words are shouted, so that capitals say nothing."""
    return 2 * sum(map(is_shouted, words)) > sum(word[:1].isalpha() for word in words)


def chunks(words: list[str], ordinary: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Runs of capitalised words, with small words between them; an ordinary first word is cut off."""
    start = 0
    while start < len(words):
        end = start
        while end < len(words) and _is_name_word(words[end]):
            end = _over_small_words(words, end + 1)
        first = start
        while first < end and words[first].lower() in ordinary:
            first += 1
        if first < end:
            yield first, end
        start = max(end, start + 1)


def guesses(words: list[str], ordinary: frozenset[str], spans: list[Mention]) -> Iterator[Mention]:
    """Types of the chunks that are left, by their context."""
    if is_headline(words):
        return
    for start, end in chunks(words, ordinary):
        here = Mention(start, end, "PER")
        if _touches(here, spans):
            continue
        before = words[start - 1].lower() if start else ""
        after = words[end].lower() if end < len(words) else ""
        inner = words[start:end]
        if end - start == 1 and _ACRONYM.fullmatch(inner[0]) and start:
            yield here._replace(type="ORG")
        elif before in _IN and start:
            yield here._replace(type="LOC")
        elif _looks_like_a_person(inner) or (after in _SAYS and start):
            yield here
        elif start == 0 and end < len(words) and all(map(_NUMBER.fullmatch, words[end:])):
            yield here._replace(type="ORG")  # a row of a table of teams


def orthomatcher(known: Iterator[tuple[str, str]]) -> Gazetteer:
    """Names met in a document, persons also by their last word, organisations by their initials."""
    names: list[tuple[str, str]] = []
    for name, kind in known:
        words = name.split()
        names.append((name, kind))
        if kind == "PER":
            names.append((words[-1], kind))
        elif kind == "ORG":
            initials = "".join(word[0] for word in words if is_capital(word))
            names += [(initials, kind)] if len(initials) > 2 else []
    return Gazetteer.of(names)


def _by_grammar(words: list[str], start: int, end: int) -> list[Mention]:
    """The spans in a chunk, or none where nothing in it tells a type."""
    inner = [word.lower() for word in words[start:end]]
    titles = 0
    while titles < len(inner) - 1 and inner[titles] in words_of("titles"):
        titles += 1
    before = words[start - 1].lower() if start else ""
    if (titles or before in words_of("titles")) and "of" not in inner:
        return [Mention(start + titles, end, "PER")]
    if len(inner) > 1:
        kind = _by_keyword(inner)
        if kind:
            return [Mention(start, end, kind)]
    first = words[start]
    if len(inner) > 1 and (inner[0] in words_of("given names") or INITIAL.fullmatch(first)):
        return [Mention(start, end, "PER")]
    return []


def _by_keyword(inner: list[str]) -> str | None:
    """Type by a telling word at the end or, for organisations and places, at the head."""
    head = inner[inner.index("of") - 1] if "of" in inner[1:] else inner[-1]
    if tuple(inner) in _lookup().types:
        return None
    if inner[-1] in words_of("company endings"):
        return "ORG"
    if head in words_of("event words") or inner[-1] in words_of("event words"):
        return "MISC"
    if head in words_of("organisation words"):
        return "ORG"
    if head in words_of("place words") or inner[0] in ("lake", "mount", "cape", "fort", "port"):
        return "LOC"
    return None


def _dateline(words: list[str]) -> list[Mention]:
    """``CITY , Country 1996-08-22``: where a report comes from."""
    if not (2 <= len(words) <= 8 and _DATE.fullmatch(words[-1]) and is_shouted(words[0])):
        return []
    places = [place for place, word in enumerate(words[:-1]) if word == ","]
    edges = [-1, *places, len(words) - 1]
    return [Mention(a + 1, b, "LOC") for a, b in pairwise(edges) if b > a + 1]


def _looks_like_a_person(inner: list[str]) -> bool:
    return len(inner) in (2, 3) and not any(map(is_shouted, inner))


def _is_name_word(word: str) -> bool:
    return is_capital(word) and bool(_WORD.fullmatch(word))


def _over_small_words(words: list[str], place: int) -> int:
    """The next part of a name behind small words, or ``place`` where they do not join anything."""
    end = place
    while end < len(words) and words[end] in _SMALL:
        end += 1
    return end if end < len(words) and _is_name_word(words[end]) else place


def _touches(one: Mention, others: list[Mention]) -> bool:
    return any(one.start < other.end and other.start < one.end for other in others)


@cache
def _lookup() -> Gazetteer:
    peoples = [form for people in entries("peoples") for form in (people, plural(people))]
    names = [(name, "MISC") for name in peoples]
    for places in ("everyday places", "countries", "regions", "cities"):
        names += [(name, "LOC") for name in entries(places)]
    return Gazetteer.of(names)
