"""Writing documents as a table with a row per span."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from seqtruth.errors import ParameterError
from seqtruth.io.documents import Document, Notes
from seqtruth.io.formats import delimited

HEADER = ["doc", "annotator", "role", "start", "end", "label", "pieces", "score", "quote", "text"]


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    """Write CSV, or TSV to ``.tsv``; the text stands in the first row of each document."""
    rows = (row for document in documents for row in _rows(document, notes))
    unknown = set(options) - set(delimited.WRITE_OPTIONS)
    if unknown:
        raise ParameterError("there is no such option here", got=", ".join(sorted(unknown)))
    delimited.write_delimited(path, HEADER, rows, options)


def _rows(document: Document, notes: Notes) -> Iterator[list[str]]:
    where, text = document.where or document.id, document.text
    if not text:
        notes.left_out("document without text", where)
    for what, lost in (("token", document.tokens), ("sentence", document.sentences)):
        if lost is not None:
            notes.left_out(f"{what} borders of a document", where)
    first = text
    if not document.opinions:
        yield [document.id, *[""] * 8, text]
    for opinion in document.opinions:
        voice = [document.id, opinion.annotator, opinion.role]
        if opinion.seen is not None:
            notes.left_out("part that was not seen", where)
        if opinion.time is not None:
            notes.left_out("time of labelling", where)
        if opinion.score is not None:
            notes.left_out("score of a whole labelling", where)
        if not opinion.marks:
            yield [*voice, *[""] * 6, first]
            first = ""
        for mark in opinion.marks:
            pieces = ";".join(f"{a}-{b}" for a, b in mark.pieces)
            score = "" if mark.score is None else repr(mark.score)
            quote = text[mark.start : mark.end]
            place = [str(mark.start), str(mark.end), mark.label, pieces, score]
            yield [*voice, *place, quote, first]
            first = ""
