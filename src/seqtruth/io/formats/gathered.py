"""Opinions on one document that stand in several files, each with its own copy of the text.

The copies are the same, or differ only in blanks (line ends, a blank at the end) or in how accents
are encoded (Unicode normalisation): then every mark is moved to the first copy. Any other
difference is refused, with its place.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace
from itertools import pairwise
from unicodedata import normalize

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Extents, Mark, Notes, Opinion
from seqtruth.io.formats.offsets import grapheme_borders

_BLANK = re.compile(r"\s")


@dataclass
class Gathered:
    """A document that grows file by file."""

    id: str
    text: str | None = None
    where: str = ""
    opinions: list[Opinion] = field(default_factory=list)
    tokens: Extents | None = None
    sentences: Extents | None = None

    def add(
        self, text: str, opinion: Opinion | None, where: str, tokens: Extents | None = None,
        sentences: Extents | None = None,
    ) -> None:  # fmt: skip
        """One more copy of the text, with what its annotator marked in it and the borders it gives."""
        if self.text is None:
            self.text, self.where = text, where
        elif text != self.text:
            move = moved_to(self.text, text, where, self.where)
            opinion = opinion and _moved(opinion, move)
            tokens, sentences = _moved_extents(tokens, move), _moved_extents(sentences, move)
        if opinion is not None:
            self.opinions.append(opinion)
        self.tokens = self.tokens or tokens
        self.sentences = self.sentences or sentences

    def document(self) -> Document:
        return Document(
            self.id, self.text or "", tuple(self.opinions), self.tokens, self.sentences, self.where
        )


def moved_to(text: str, other: str, where: str, first: str) -> Callable[[int, bool], int]:
    """From places in ``other`` to places in ``text``; an end stays after its last character."""
    cut = _letters if same_but_blanks(text, other) else _characters
    here, there = cut(text), cut(other)
    if [form for form, _, _ in here] != [form for form, _, _ in there]:
        raise _differ(text, other, where, first)
    starts, ends = [start for _, start, _ in there], [end for _, _, end in there]

    def move(place: int, end: bool) -> int:
        if end:
            before = bisect_left(starts, place)
            return here[before - 1][2] if before else 0
        index = bisect_right(ends, place)
        return here[index][1] if index < len(here) else len(text)

    return move


def _letters(text: str) -> list[tuple[str, int, int]]:
    """Code points that are no blanks, with their places."""
    return [(letter, i, i + 1) for i, letter in enumerate(text) if not letter.isspace()]


def _characters(text: str) -> list[tuple[str, int, int]]:
    """What a reader sees as characters, blanks apart, in normal form C, with their places."""
    pairs = pairwise(grapheme_borders(text))
    return [(normalize("NFC", text[a:b]), a, b) for a, b in pairs if not text[a:b].isspace()]


def same_but_blanks(text: str, other: str) -> bool:
    """Whether two texts are the same, blanks apart."""
    return _BLANK.sub("", text) == _BLANK.sub("", other)


def _moved(opinion: Opinion, move: Callable[[int, bool], int]) -> Opinion:
    def mark(old: Mark) -> Mark:
        pieces = tuple((move(a, False), move(b, True)) for a, b in old.pieces)
        return old._replace(start=move(old.start, False), end=move(old.end, True), pieces=pieces)

    marks = (mark(old) for old in opinion.marks)
    return replace(opinion, marks=tuple(new for new in marks if new.start < new.end))


def _moved_extents(extents: Extents | None, move: Callable[[int, bool], int]) -> Extents | None:
    moved = ((move(start, False), move(end, True)) for start, end in extents or ())
    return tuple((start, end) for start, end in moved if start < end) or None


def _differ(text: str, other: str, where: str, first: str) -> InputError:
    place = next(
        (i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b),
        min(len(text), len(other)),
    )
    return InputError(
        f"the text differs from that of {first} at character {place}", where=where,
        got=f"{other[place : place + 20]!r} instead of {text[place : place + 20]!r}",
        fix="annotators must have marked the same text",
    )  # fmt: skip


def gold_named(document: Document, name: str, same: Container[str], notes: Notes) -> Document:
    """The document with its one gold opinion under the name by which a tool knows gold.

    ``same`` are names that the tool takes for gold as well; nothing changes where the name is taken.
    """
    gold = [opinion for opinion in document.opinions if opinion.role == "gold"]
    taken = any(opinion.annotator == name for opinion in document.opinions)
    if len(gold) != 1 or taken or gold[0].annotator in same:
        return document
    notes.left_out(f"name of the gold annotator (written as {name})", document.where)
    opinions = (replace(o, annotator=name) if o is gold[0] else o for o in document.opinions)
    return replace(document, opinions=tuple(opinions))


def note_lost(document: Document, notes: Notes, gold: bool = False, seen: bool = False) -> None:
    """Count what most formats have no place for; ``gold`` and ``seen`` where this one has."""
    for opinion in document.opinions:
        if opinion.role == "model" or (opinion.role == "gold" and not gold):
            notes.left_out(f"role of an annotator ({opinion.role})", document.where)
        if opinion.seen is not None and not seen:
            notes.left_out("which parts of a text were seen", document.where)
        if opinion.score is not None or opinion.time is not None:
            notes.left_out("score or time of an opinion", document.where)


def checked_mark(text: str, start: int | None, end: int | None, label: str) -> Mark | str:
    """A mark, or the name of what is wrong with it, for :meth:`Notes.left_out`."""
    if start is None or end is None or start < 0 or end > len(text) or start > end:
        return "mark outside the text"
    if start == end:
        return "mark without text (zero-width)"
    return Mark(start, end, label)


def checked_pieces(
    text: str, pieces: list[tuple[int | None, int | None]], label: str
) -> Mark | str:
    """As :func:`checked_mark`, for a mark of several stretches; touching ones are joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(pieces, key=lambda piece: (piece[0] or 0, piece[1] or 0)):
        mark = checked_mark(text, start, end, label)
        if isinstance(mark, str):
            return mark
        if joined and mark.start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], mark.end))
        else:
            joined.append((mark.start, mark.end))
    if not joined:
        return "mark without text (zero-width)"
    hull = Mark(joined[0][0], joined[-1][1], label)
    return hull if len(joined) == 1 else hull._replace(pieces=tuple(joined))
