"""What a tool's file says, before anything is cut into tokens: texts, and who marked what in them.

Readers of :mod:`seqtruth.io.formats` yield :class:`Document`, writers take them. Three things stay apart:
an annotator who saw a text and marked nothing has an :class:`Opinion` without marks; one who never saw
it (or skipped, cancelled, discarded it) has none; and where they saw only a part, ``seen`` says which.

Offsets count Unicode code points, as Python strings do, and ends are exclusive, whatever the tool counts.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from seqtruth.errors import DataWarning

#: Stretches of text: (start, end) pairs.
Extents = tuple[tuple[int, int], ...]
Role = Literal["annotator", "model", "gold"]


class Mark(NamedTuple):
    """A marked stretch of text.

    ``pieces`` holds the stretches of a discontinuous mark, of which ``start`` and ``end`` are the hull;
    it is empty for an ordinary one.
    """

    start: int
    end: int
    label: str
    pieces: Extents = ()
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Opinion:
    """One annotator's marks on one document.

    Parameters
    ----------
    annotator : the name.
    marks : in any order; overlaps and repeats are allowed here.
    role : ``"annotator"`` (a person or rule), ``"model"`` (a prediction or suggestion), ``"gold"`` (the
        tool calls it curated, reviewed or ground truth).
    seen : the stretches that were seen, where that is not the whole text.
    score : of the whole opinion, where the tool gives one.
    time : when it was made, ISO 8601, where the tool says.
    """

    annotator: str
    marks: tuple[Mark, ...] = ()
    role: Role = "annotator"
    seen: Extents | None = None
    score: float | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A text with all opinions on it.

    Parameters
    ----------
    id : unique in a file; the tool's own where it has one.
    text : as written, every blank kept.
    opinions : by annotator; the same annotator may stand twice (the last one counts).
    tokens, sentences : borders that the file itself gives; None where it gives none.
    where : ``file:line`` for messages.
    source : the record as it was read, for writers that put labels back into it; None where useless.
    remarks : what to tell whoever looks at it, for tools that have room for that.
    """

    id: str
    text: str
    opinions: tuple[Opinion, ...] = ()
    tokens: Extents | None = None
    sentences: Extents | None = None
    where: str = ""
    source: Mapping[str, Any] | None = None
    remarks: tuple[str, ...] = ()


@dataclass
class Notes:
    """What a reader or writer could not carry, counted by kind, with the first place of each.

    >>> notes = Notes()
    >>> notes.left_out("relation", "export.json:3"); notes.left_out("relation", "export.json:9")
    >>> notes.lines()
    ['2 × relation (first at export.json:3)']
    """

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def left_out(self, what: str, where: str = "", times: int = 1) -> None:
        """Count something that was passed over; ``what`` in the singular, as a short noun phrase."""
        self.counts[what] += times
        self.first.setdefault(what, where)

    def lines(self) -> list[str]:
        """One line a kind, most frequent first."""
        return [
            f"{number:,} × {what}" + (f" (first at {self.first[what]})" if self.first[what] else "")
            for what, number in self.counts.most_common()
        ]

    def warn(self, doing: str, stacklevel: int = 2) -> None:
        """Give all of it as one :class:`~seqtruth.errors.DataWarning`; nothing where there is nothing."""
        if self.counts:
            text = f"{doing}, left out: {'; '.join(self.lines())}"
            warnings.warn(text, DataWarning, stacklevel=stacklevel + 1)
