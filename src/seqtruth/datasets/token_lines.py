"""Lines ``token … label`` with blank ones between sentences, as CoNLL and the crowd write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from seqtruth.datasets.alignment import Line
from seqtruth.datasets.members import decoded

LABELS = frozenset(
    ["O", *(f"{edge}-{kind}" for edge in "BI" for kind in ("LOC", "MISC", "ORG", "PER"))]
)
#: A sentence: its tokens and their labels.
Labelled = list[tuple[str, str]]


def parse_line(line: str) -> Line:
    """Token and label of a line; a label alone has an empty token, a strange label is O.

    >>> parse_line("Oslo B-LOC"), parse_line(" O"), parse_line("Oslo ?"), parse_line("")
    (('Oslo', 'B-LOC'), ('', 'O'), ('Oslo', 'O'), None)
    """
    fields = line.split()
    if not fields:
        return None
    if len(fields) == 1:
        return ("", fields[0]) if fields[0] in LABELS else (fields[0], "O")
    return fields[0], fields[-1] if fields[-1] in LABELS else "O"


def sentences_of(lines: Iterable[Line]) -> Iterator[Labelled]:
    """Runs of lines between blank ones, without the lines that have no token."""
    run: Labelled = []
    for line in [*lines, None]:
        if line is None and run:
            yield run
            run = []
        elif line is not None and line[0]:
            run.append(line)


def read_lines(content: bytes) -> list[Line]:
    """All lines of a file."""
    return [parse_line(line) for line in decoded(content).splitlines()]


def read_sentences(content: bytes) -> list[Labelled]:
    """All sentences of a file."""
    return list(sentences_of(read_lines(content)))
