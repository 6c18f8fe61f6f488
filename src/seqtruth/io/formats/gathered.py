"""Opinions on one document that stand in several files, each with its own copy of the text.

Copies may differ as :mod:`seqtruth.io.same_text` says; every mark is moved to the first copy.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, replace

from seqtruth.io.documents import Document, Extents, Mark, Notes, Opinion
from seqtruth.io.same_text import joined

_BLANK = re.compile(r"\s")


@dataclass
class Gathered:
    """A document that grows file by file."""

    id: str
    notes: Notes
    _first: Document | None = None

    def add(
        self, text: str, opinion: Opinion | None, where: str, tokens: Extents | None = None,
        sentences: Extents | None = None,
    ) -> None:  # fmt: skip
        """One more copy of the text, with what its annotator marked in it and the borders it gives."""
        opinions = () if opinion is None else (opinion,)
        copy = Document(self.id, text, opinions, tokens or None, sentences or None, where)
        self._first = copy if self._first is None else joined(self._first, copy, self.notes)

    def document(self) -> Document:
        """All copies as one."""
        found = Document(self.id, "") if self._first is None else self._first
        return replace(found, id=self.id)


def same_but_blanks(text: str, other: str) -> bool:
    """Whether two texts are the same, blanks apart."""
    return _BLANK.sub("", text) == _BLANK.sub("", other)


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
