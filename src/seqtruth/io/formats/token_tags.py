"""Tokens with one tag each: how tags become marks, and marks tags.

Tags are read by ``conlleval``'s rules, whatever the scheme (IOB1, IOB2, BIOES, BMES, BILOU, IO): a mark
ends before a token that begins one, and where the type changes. Tags without a prefix (``PER``) are
taken as IO, and ``B``, ``I``, ``O`` alone as marks of one type. They are written as IOB2.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from seqtruth.io.documents import Document, Extents, Mark, Notes

#: The label of marks in files whose tags are only B, I and O.
UNTYPED = "span"
_TAG = re.compile(r"([BIESLUM])-(.+)", re.DOTALL)
_LETTERS = frozenset("BIESLUM")
_OUTSIDE = frozenset({"O", "o"})
#: Tokens written between others without a blank keep this joiner from falling apart.
_JOINERS = "\u200d"


def join(words: Iterable[str]) -> tuple[str, Extents]:
    """Words joined by one blank, and where they stand.

    >>> join(["New", "York"])
    ('New York', ((0, 3), (4, 8)))
    """
    words = list(words)
    borders, place = [], 0
    for word in words:
        borders.append((place, place + len(word)))
        place += len(word) + 1
    return " ".join(words), tuple(borders)


def visible(words: Sequence[str], notes: Notes, where: str) -> tuple[list[str], list[int] | None]:
    """The words that are not empty; and, where some are, how many of them stand before each word."""
    if "" not in words:
        return list(words), None
    notes.left_out("empty token", where, words.count(""))
    counts = [0, *accumulate(bool(word) for word in words)]
    return [word for word in words if word], counts


def align(words: Sequence[str], text: str) -> Extents | None:
    """Where the words stand in the text, one after the other; None where they do not."""
    borders, place = [], 0
    for word in words:
        start = text.find(word, place)
        if start < 0 or text[place:start].strip():
            return None
        place = start + len(word)
        borders.append((start, place))
    return None if text[place:].strip() else tuple(borders)


def marks_of_tags(tags: Sequence[str | None], tokens: Extents) -> tuple[Mark, ...]:
    """The marks that a sequence of tags means; None is a token without a tag.

    >>> marks_of_tags(["B-PER", "I-PER", "O", "I-LOC"], ((0, 3), (4, 7), (8, 9), (9, 12)))
    (Mark(start=0, end=7, label='PER', ...), Mark(start=9, end=12, label='LOC', ...))
    """
    found: list[Mark] = []
    untyped = (set(tags) - _OUTSIDE - {None}) <= _LETTERS
    begun: tuple[int, str] | None = None
    for number, tag in enumerate([*tags, None]):
        letter, kind = _split(tag, untyped)
        if begun and (kind != begun[1] or letter in "BSU"):
            found.append(Mark(tokens[begun[0]][0], tokens[number - 1][1], begun[1]))
            begun = None
        if kind and not begun:
            begun = (number, kind)
        if begun and letter in "ELSU":
            found.append(Mark(tokens[begun[0]][0], tokens[number][1], kind))
            begun = None
    return tuple(found)


def _split(tag: str | None, untyped: bool) -> tuple[str, str]:
    """What a tag does and the type it names; no type for outside."""
    if tag is None or tag in _OUTSIDE:
        return "O", ""
    if untyped:
        return tag, UNTYPED
    found = _TAG.fullmatch(tag)
    return (found[1], found[2]) if found else ("I", tag)


def seen_by_tags(tags: Sequence[str | None], tokens: Extents) -> Extents | None:
    """The stretches of tokens that have a tag; None where all have."""
    if None not in tags:
        return None
    stretches: list[tuple[int, int]] = []
    for number, tag in enumerate(tags):
        if tag is None:
            continue
        start, end = tokens[number]
        if number and tags[number - 1] is not None:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
    return tuple(stretches)


def tags_of_marks(
    marks: Iterable[Mark], tokens: Extents, notes: Notes, where: str, seen: Extents | None = None
) -> list[str | None]:
    """One IOB2 tag per token, the longest marks first; None for what was not seen.

    What tags cannot say is noted: a mark inside or across another one, one in pieces, one that ends
    inside a token.
    """
    tags: list[str | None] = ["O"] * len(tokens)
    if seen is not None:
        stretches = sorted(seen)
        starts = [start for start, _ in stretches]
        for number, (start, end) in enumerate(tokens):
            at = bisect_right(starts, start) - 1
            if at < 0 or stretches[at][1] < end:
                tags[number] = None
    first = {start: number for number, (start, _) in reversed(list(enumerate(tokens)))}
    last = {end: number + 1 for number, (_, end) in enumerate(tokens)}
    for mark in sorted(
        set(marks), key=lambda mark: (mark.start - mark.end, mark.start, mark.label)
    ):
        a, b = first.get(mark.start), last.get(mark.end)
        if mark.pieces:
            notes.left_out("discontinuous mark", where)
        elif a is None or b is None or a >= b:
            notes.left_out("mark that ends inside a token", where)
        elif {tags[a], tags[b - 1]} - {"O", None}:  # what is painted is longer: it holds an end
            notes.left_out("mark that overlaps another one", where)
        else:
            tags[a:b] = [f"B-{mark.label}"] + [f"I-{mark.label}"] * (b - a - 1)
    return tags


def tokens_of(document: Document) -> Extents:
    """The document's own tokens, or words and signs, with a border wherever a mark begins or ends."""
    if document.tokens is not None:
        return tuple(token for token in document.tokens if token[0] < token[1])
    cuts = {0, len(document.text)}
    for opinion in document.opinions:
        for mark in opinion.marks:
            cuts.update((mark.start, mark.end))
    borders = sorted(cuts | _word_borders(document.text))
    return tuple((a, b) for a, b in pairwise(borders) if not document.text[a:b].isspace())


def _word_borders(text: str) -> set[int]:
    """Where words, signs and white space meet; marks that combine stay with what they follow."""
    borders, kind = set(), ""
    for place, sign in enumerate(text):
        if sign.isalnum() or sign == "_":
            new = "word"
        elif sign.isspace():
            new = "blank"
        elif kind != "blank" and (unicodedata.category(sign)[0] == "M" or sign in _JOINERS):
            continue
        else:
            new = "sign"
        joined = place and text[place - 1] in _JOINERS and kind != "blank"
        if (new != kind or new == "sign") and not joined:
            borders.add(place)
        kind = new
    return borders
