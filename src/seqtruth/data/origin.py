"""What a corpus remembers of the tool's file it was read from, for writing labels back into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple


class Discontinuous(NamedTuple):
    """A mark in several pieces: its hull is labelled in the crowd, its pieces are kept here.

    ``start``, ``end`` and ``pieces`` count characters of the document's text.
    """

    document: str
    annotator: str
    start: int
    end: int
    label: str
    pieces: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Origin:
    """Where documents came from.

    Parameters
    ----------
    format : name of the format; empty where there was no tool's file.
    records : the record of each document that has one, as JSON text without the document's own text.
    models : annotators who are models, not people.
    discontinuous : the marks in several pieces; those of annotator ``""`` are what most have.
    tokens, sentences : whether the file itself gave borders of these.
    times : when each annotator labelled each document (ISO 8601), by annotator and document.
    """

    format: str = ""
    records: Mapping[str, str] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    discontinuous: tuple[Discontinuous, ...] = ()
    tokens: bool = False
    sentences: bool = False
    times: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self) | {"discontinuous": [list(found) for found in self.discontinuous]}

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> Origin:
        """The inverse of :meth:`to_dict`."""
        found = [
            Discontinuous(document, annotator, start, end, label, tuple((a, b) for a, b in pieces))
            for document, annotator, start, end, label, pieces in known["discontinuous"]
        ]
        return cls(
            known["format"], dict(known["records"]), tuple(known["models"]), tuple(found),
            bool(known["tokens"]), bool(known["sentences"]),
            {str(who): {str(k): str(v) for k, v in when.items()}
             for who, when in known.get("times", {}).items()},
        )  # fmt: skip

    @staticmethod
    def together(origins: Sequence[Origin]) -> Origin:
        """That of corpora put together."""
        return Origin(
            next((one.format for one in origins if one.format), ""),
            {name: record for one in origins for name, record in one.records.items()},
            tuple(dict.fromkeys(name for one in origins for name in one.models)),
            tuple(dict.fromkeys(found for one in origins for found in one.discontinuous)),
            any(one.tokens for one in origins),
            any(one.sentences for one in origins),
            _times_together(origins),
        )


def _times_together(origins: Sequence[Origin]) -> dict[str, dict[str, str]]:
    out: dict[str, dict[str, str]] = {}
    for one in origins:
        for annotator, when in one.times.items():
            out.setdefault(annotator, {}).update(when)
    return out
