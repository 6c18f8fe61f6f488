"""The results of a Label Studio annotation: which are spans, of which text, and where they stand.

A result names a control tag (``from_name``), the object it marks (``to_name``) and holds a ``value``.
``labels`` of a ``<Text>`` are spans of the text in the file; marks in hypertext and paragraphs count in what
is shown of it (:mod:`.label_studio_rendered`), and everything else is about a whole document, another mark
or a picture.

Which key of ``data`` holds the text is in the project's configuration, which no export contains: it is
the one the result names, the one called like the object, ``text``, or the only text that fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.documents import Mark, Notes
from seqtruth.io.formats.checked_values import name_of, number_of, shown, whole_of
from seqtruth.io.formats.label_studio_rendered import rendered
from seqtruth.io.formats.offsets import Converter, line_ends_to_points, utf16_to_points

_ADDRESS = re.compile(r"(?:(?:https?|s3|gs|azure-blob)://|/data/)\S+")
_LABELS = ("labels", "hypertextlabels", "paragraphlabels")
_RELATION = "relation"
TAXONOMY = "taxonomy"


_VALUE = ("start", "end", "labels", "text")
_RESULT = ("from_name", "to_name", "source", "score")


@dataclass(frozen=True)
class Asked:
    """What the user said about results."""

    control: frozenset[str] | None
    gold: bool
    units: str


class Region(NamedTuple):
    """A result that marks text, before the text is known."""

    start: int
    end: int
    labels: list[str]
    said: str | None
    object: str
    source: str | None
    score: float | None
    control: str = ""
    kind: str = "labels"
    #: where a mark stands in what is shown, for pages and dialogues
    shown: dict[str, Any] | None = None


def span_of(result: object, notes: Notes, where: str) -> Region | None:
    """The span of a result; noted where it is something else."""
    if not isinstance(result, dict):
        notes.left_out("result that is no object", where)
        return None
    kind, value = result.get("type"), result.get("value")
    if kind == "labels" and type(value) is dict and (span := _usual(result, value)) is not None:
        return span
    if kind == _RELATION or "from_id" in result:
        notes.left_out("relation", where)
    elif not isinstance(value, dict):
        notes.left_out("result without value", where)
    elif "start" not in value or "end" not in value or "channel" in value:
        notes.left_out(f"result that marks no text ({shown(kind)})", where)
    elif not any(isinstance(value.get(key), list) for key in _LABELS):
        notes.left_out(f"attribute of a mark ({shown(kind)})", where)
    else:
        return _span(result, value, notes, where)
    return None


def controls_of(spans: Iterable[Region]) -> dict[str, list[str]]:
    """The control tag, object and kind under which each label stood, for writing it back."""
    return {
        label: [span.control, span.object, span.kind] for span in spans for label in span.labels
    }


def with_taxonomies(results: list[Any]) -> list[Any]:
    """The results, with labels where a taxonomy labels stretches itself (``labeling="true"``).

    Otherwise a taxonomy is an attribute of a mark, whose id it shares. A path is a label with ``/`` between.
    """
    if not any(isinstance(one, dict) and one.get("type") == TAXONOMY for one in results):
        return results
    objects = [one for one in results if isinstance(one, dict)]
    marked = {name_of(one.get("id")) for one in objects if one.get("type") in _LABELS}
    return [
        _of_taxonomy(one) if isinstance(one, dict) and name_of(one.get("id")) not in marked else one
        for one in results
    ]


def _of_taxonomy(result: dict[str, Any]) -> dict[str, Any]:
    value = result.get("value")
    if result.get("type") != TAXONOMY or not isinstance(value, dict) or "start" not in value:
        return result
    if not isinstance(value.get(TAXONOMY), list):
        return result
    paths = [path for path in value[TAXONOMY] if isinstance(path, list)]
    labels = ["/".join(map(str, path)) for path in paths]
    return {**result, "value": {**value, "labels": labels}}


def _usual(result: dict[str, Any], value: dict[str, Any]) -> Region | None:
    """The span of a result that is as most are; None where one has to look closer."""
    given: tuple[Any, ...] = (*map(value.get, _VALUE), *map(result.get, _RESULT))
    start, end, labels, said, control, object_, source, score = given
    plain = (
        type(start) is int and type(end) is int and type(labels) is list and len(labels) == 1
        and type(labels[0]) is str and labels[0] and type(said) is str
        and type(control) is str and type(object_) is str and source is None and score is None
        and "startOffset" not in value and "channel" not in value and "from_id" not in result
        and "globalOffsets" not in value
    )  # fmt: skip
    return Region(start, end, labels, said, object_, None, None, control) if plain else None


def _span(result: dict[str, Any], value: dict[str, Any], notes: Notes, where: str) -> Region | None:
    start, end = value["start"], value["end"]
    kind = "labels" if "labels" in value else next(key for key in _LABELS if key in value)
    labels = value[kind]
    on_page = value if "startOffset" in value or "globalOffsets" in value else None
    if on_page is not None:
        start = end = 0
    elif type(start) is not int or type(end) is not int:  # the usual case goes fast
        start, end = whole_of(start), whole_of(end)
    if not all(type(label) is str and label for label in labels):
        labels = [name for name in map(name_of, labels) if name is not None]
    if start is None or end is None:
        notes.left_out("mark without offsets", where)
        return None
    if not labels:
        notes.left_out("mark without a label", where)
        return None
    source, said, score = result.get("source"), value.get("text"), result.get("score")
    return Region(
        start, end, labels,
        said if type(said) is str else None,
        name_of(result.get("to_name")) or "",
        source[1:] if type(source) is str and source[:1] == "$" else None,
        None if score is None else number_of(score),
        name_of(result.get("from_name")) or "",
        TAXONOMY if result.get("type") == TAXONOMY else kind, on_page,
    )  # fmt: skip


@dataclass
class TextKeys:
    """Which key of ``data`` holds the text of which object, found once and then remembered."""

    chosen: str | None = None
    known: dict[str, str] = field(default_factory=dict)
    #: those of pages and dialogues, which are rendered
    pages: set[str] = field(default_factory=set)

    def find(self, data: dict[str, Any], spans: list[Region], where: str) -> str | None:
        """The key of the text that these spans, all of one object, mark; None where there is no text."""
        wanted = spans[0].object if spans else ""
        key = self.chosen or self.known.get(wanted)
        if any(span.shown is not None for span in spans):
            key = self._guess_shown(data, spans, key)
            if key is not None:
                self.known.setdefault(wanted, key)
                self.pages.add(key)
                return key
        if key in self.pages and data.get(key):
            return key
        if key is None or not isinstance(data.get(key), str):
            if self.chosen:
                raise InputError(
                    f"no text under {self.chosen!r} in the task's data", where=where,
                    got=", ".join(map(repr, list(data)[:10])), fix="name the right key with text_key=",
                )  # fmt: skip
            key = self._guess(data, spans, where)
        if key is not None:
            self.known.setdefault(wanted, key)
            if spans and _ADDRESS.fullmatch(data[key]):
                raise InputError(
                    "the text is not in the file, only its address", where=where, got=shown(data[key]),
                    fix="put the texts into the tasks' data, then export again",
                )  # fmt: skip
        return key

    def _guess_shown(
        self, data: dict[str, Any], spans: list[Region], key: str | None
    ) -> str | None:
        """The key of a page or dialogue in which the marks can be placed: the first best."""
        named = [key, *(span.source for span in spans[:1]), spans[0].object, "html", "text"]
        keys = [
            name for name in (*dict.fromkeys(named), *data) if name is not None and name in data
        ]
        marks = [span.shown for span in spans if span.shown is not None]
        best: tuple[int, str] | None = None
        for name in dict.fromkeys(keys):
            page = rendered(data[name])
            placed = 0 if page is None else sum(page.place(mark) is not None for mark in marks)
            if placed == len(marks):
                return name
            if page is not None and (best is None or placed > best[0]):
                best = placed, name
        return None if best is None else best[1]

    def _guess(self, data: dict[str, Any], spans: list[Region], where: str) -> str | None:
        texts = [key for key, value in data.items() if isinstance(value, str)]
        named = {span.source for span in spans} | {span.object for span in spans}
        for key in (*(key for key in texts if key in named), *(self.known.values()), "text"):
            if key in texts and (key in named or _fit(data[key], spans)):
                return key
        fitting = [key for key in texts if _fit(data[key], spans)]
        for one in (fitting, texts):
            if len(one) == 1 or "text" in one:
                return one[0] if len(one) == 1 else "text"
        if not texts or not spans:
            return None
        raise InputError(
            "cannot tell which of the task's data is the text", where=where,
            got=", ".join(map(repr, texts[:10])), fix="name its key with text_key=",
        )  # fmt: skip


def _fit(text: str, spans: list[Region]) -> bool:
    return not spans or any(
        text[span.start : span.end] == span.said if span.said else span.end <= len(text)
        for span in spans
    )


class Placer:
    """Puts the spans of one text in their places.

    New versions of the tool count code points, old ones UTF-16 units; they differ where there are
    emoji, and there the text that a span is said to cover decides. So it does where a line ends in two
    characters, which count as one where the text was pasted or uploaded through a browser.
    """

    def __init__(self, data: Any, notes: Notes, where: str, units: str, page: bool) -> None:
        self.page = rendered(data) if page else None
        text = data if self.page is None else self.page.text
        self.text, self.notes, self.where, self.units = text, notes, where, units
        wide = units != "points" and len(text.encode("utf-16-le")) > 2 * len(text)
        self._ways: list[Converter] = [utf16_to_points(text)] if wide else []
        if units == "auto" and "\r\n" in text:
            self._ways.append(line_ends_to_points(text))

    def marks(self, span: Region) -> list[Mark]:
        if self.page is not None and span.shown is not None:
            place = self.page.place(span.shown)
            if place is None:
                self.notes.left_out("mark that cannot be found in the rendered text", self.where)
                return []
            return [Mark(*place, label, score=span.score) for label in span.labels]
        start, end = self._place(span)
        if start == end:
            self.notes.left_out("zero-width mark", self.where)
        elif not 0 <= start < end <= len(self.text):
            self.notes.left_out("mark outside the text", self.where)
        else:
            if span.said is not None and not _same(span.said, self.text[start:end]):
                self.notes.left_out(
                    "quoted text that differs from the text at its offsets", self.where
                )
            return [Mark(start, end, label, (), span.score) for label in span.labels]
        return []

    def _place(self, span: Region) -> tuple[int, int]:
        if self.units == "utf16" and self._ways:
            start, end = self._ways[0](span.start), self._ways[0](span.end)
            return (-1, -2) if start is None or end is None else (start, end)
        said = span.said
        if said is None or not self._ways or _same(said, self.text[span.start : span.end]):
            return span.start, span.end
        for way in self._ways:
            start, end = way(span.start), way(span.end)
            if start is not None and end is not None and _same(said, self.text[start:end]):
                return start, end
        return span.start, span.end


def _same(said: str, text: str) -> bool:
    """Blanks apart, which the tool may write differently (line ends as two letters)."""
    return said == text or _plain(said) == _plain(text)


def _plain(text: str) -> str:
    return "".join(text.replace("\\n", " ").split())
