"""What formats do that know only stretches of text, and records that may share an id."""

from __future__ import annotations

from collections.abc import Iterator

from seqtruth.io.documents import Document, Mark, Notes, Opinion


def contiguous(opinion: Opinion, notes: Notes, where: str) -> Iterator[Mark]:
    """The marks, each piece of a discontinuous one by itself."""
    if opinion.seen is not None:
        notes.left_out("note that only a part of a text was seen", where)
    for mark in opinion.marks:
        if mark.pieces:
            notes.left_out("bond between the pieces of a discontinuous mark", where)
            for start, end in mark.pieces:
                yield mark._replace(start=start, end=end, pieces=())
        else:
            yield mark


def ordered(marks: list[Mark]) -> tuple[Mark, ...]:
    """By place, longer first, for files whose order says nothing."""
    return tuple(sorted(marks, key=lambda mark: (mark.start, -mark.end, mark.label)))


def note_borders(document: Document, notes: Notes) -> None:
    """Note the borders of tokens and sentences, for formats without them."""
    if document.tokens is not None:
        notes.left_out("borders of tokens in a document", document.where or document.id)
    if document.sentences is not None:
        notes.left_out("borders of sentences in a document", document.where or document.id)


def note_score_and_time(
    opinion: Opinion, notes: Notes, where: str, score: bool = True, time: bool = True
) -> None:
    """Note what an opinion has beside its marks, for formats without room for it."""
    if score and opinion.score is not None:
        notes.left_out("score of an opinion", where)
    if time and opinion.time is not None:
        notes.left_out("time of an opinion", where)


class UniqueIds:
    """Ids that do not repeat: the second ``7`` becomes ``7#2``.

    >>> ids = UniqueIds(Notes())
    >>> [ids.take(name) for name in ("7", "7", "8")]
    ['7', '7#2', '8']
    """

    def __init__(self, notes: Notes) -> None:
        self._seen: dict[str, int] = {}
        self._notes = notes

    def take(self, name: str, where: str = "") -> str:
        count = self._seen[name] = self._seen.get(name, 0) + 1
        if count == 1:
            return name
        self._notes.left_out("id that stands twice (made different by #2, #3 ...)", where)
        return self.take(f"{name}#{count}", where)
