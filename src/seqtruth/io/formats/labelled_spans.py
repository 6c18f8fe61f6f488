"""Spans as people write them in JSON: objects or triples, names of every taste, one annotator or many.

Understood are lists of objects with a start, an end and a label under the usual names; triples
``[start, end, label]`` and ``[label, start, end]``; an object of three lists, as ``datasets`` makes
of a list of objects; and annotators inside: ``{"ann": [spans], "bob": null}`` or a list of
``{"annotator": "ann", "spans": [...]}``.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.documents import Extents, Mark, Notes, Opinion, Role
from seqtruth.io.formats import column_names as names
from seqtruth.io.formats.checked_values import (
    first_of,
    mark_of,
    name_of,
    number_of,
    shown,
    whole_of,
)
from seqtruth.io.formats.offsets import utf16_to_points
from seqtruth.io.formats.quoted_offsets import fitted
from seqtruth.io.formats.token_tags import marks_of_tags, seen_by_tags

#: Where a span says which words it marks.
_QUOTES = (
    "text",
    "span_text",
    "surface",
    "mention",
    "covered_text",
    "entity_text",
    "quote",
    "text_span",
)
#: Tags that mean "no label here" where tags are numbers.
MISSING = frozenset({-100, -1})


class Page(NamedTuple):
    """The text that labels are about, and how to speak of it.

    Parameters
    ----------
    unit : what spans count: ``characters``, ``tokens`` (end exclusive), ``tokens-inclusive``, or ""
        where nobody said.
    counts : where the file has empty tokens, how many others stand before each token of the file.
    """

    text: str
    tokens: Extents | None
    unit: str
    notes: Notes
    where: str
    counts: list[int] | None = None


class By(NamedTuple):
    """Whose labels a column holds, where the labels do not say it themselves, and the numbers' names."""

    annotator: str
    role: Role = "annotator"
    names: list[str] | None = None


def opinions_in(value: Any, page: Page, by: By) -> list[Opinion]:
    """All opinions in a column of labels; none where it is null."""
    if not isinstance(value, dict):
        return _of_list(value, page, by)
    columns = _columns(value, page)
    if columns is not None:
        return _of_spans(columns, page, by)
    found = []
    for who, said in value.items():
        name = name_of(who)
        if name is None:
            page.notes.left_out("annotator without a name", page.where)
            continue
        said = said if not isinstance(said, dict) else _columns(said, page)
        found += _of_list(said, page, By(name, names.role_of(name), by.names))
    return found


def _of_list(value: Any, page: Page, by: By) -> list[Opinion]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError("labels must be a list", where=page.where, got=shown(value))
    value = [part for one in value for part in _points(one)]
    signed = [one for one in value if isinstance(one, dict) and not _is_span(one)]
    if value and len(signed) == len(value):
        return [opinion for one in signed for opinion in _of_signed(one, page, by)]
    return _said(value, page, by)


def _points(one: Any) -> list[Any]:
    """A label with several stretches under ``points``, as DataTurks has it, as a span for each."""
    if not isinstance(one, dict) or not isinstance(one.get("points"), list):
        return [one]
    return [
        {**point, "label": one.get("label")} for point in one["points"] if isinstance(point, dict)
    ]


def _said(value: list[Any], page: Page, by: By) -> list[Opinion]:
    """Tags where there is one for each token, else spans."""
    if page.tokens is None or not all(one is None or isinstance(one, str | int) for one in value):
        return _of_spans(value, page, by)
    if page.counts is not None and len(value) == len(page.counts) - 1:
        value = [one for one, (a, b) in zip(value, pairwise(page.counts), strict=True) if a < b]
    if len(value) == len(page.tokens):
        unlabelled = bool(value) and all(
            one is None or one in MISSING or one == "" for one in value
        )
        return [] if unlabelled else [_of_tags(value, page, by)]
    if not value and page.text:
        return [Opinion(by.annotator, (), by.role)]  # an empty list of spans
    raise InputError(
        "there must be one tag for each token", where=page.where,
        got=f"{len(value)} tags for {len(page.tokens)} tokens",
    )  # fmt: skip


def _is_span(one: dict[str, Any]) -> bool:
    fields = names.normalised(one)
    return any(name in fields for name in names.STARTS)


def _columns(value: dict[str, Any], page: Page) -> list[Any] | None:
    """An object of lists as a list of triples; None where it is something else."""
    fields = names.normalised(value)
    starts, ends = first_of(fields, names.STARTS), first_of(fields, names.ENDS)
    labels = first_of(fields, names.LABELS)
    if not (isinstance(starts, list) and isinstance(ends, list) and isinstance(labels, list)):
        return None
    if not len(starts) == len(ends) == len(labels):
        raise InputError(
            "starts, ends and labels must be equally many", where=page.where,
            got=f"{len(starts)}, {len(ends)} and {len(labels)}",
        )  # fmt: skip
    return [list(one) for one in zip(starts, ends, labels, strict=True)]


def _of_signed(one: dict[str, Any], page: Page, by: By) -> list[Opinion]:
    """An object with an annotator and their labels."""
    fields = names.normalised(one)
    who = name_of(first_of(fields, names.ANNOTATORS)) or by.annotator
    keys = (*names.SPANS, *names.TAGS)
    key = next((key for key in keys if isinstance(fields.get(key), list)), None)
    if key is None:
        page.notes.left_out("annotation without spans", page.where)
        return []
    said, time = fields.get("role"), fields.get("time")
    role = said if said in ("annotator", "model", "gold") else _either(who, by.role)
    return [
        replace(
            opinion,
            role=role,
            seen=pairs_of(fields.get("seen"), opinion.seen),
            score=number_of(first_of(fields, names.SCORES)),
            time=time if isinstance(time, str) and name_of(time) else None,
        )
        for opinion in _said(fields[key], page, By(who, role, by.names))
    ]


def _either(who: str, role: Role) -> Role:
    """What the name says, else what the column said."""
    return "gold" if names.role_of(who) == "gold" else role


def pairs_of(value: Any, otherwise: Extents | None) -> Extents | None:
    """Stretches that were seen, where a record lists them."""
    if not isinstance(value, list):
        return otherwise
    pairs = [(whole_of(x[0]), whole_of(x[1])) for x in value if isinstance(x, list) and len(x) == 2]
    return tuple((a, b) for a, b in pairs if a is not None and b is not None)


def _of_tags(value: list[Any], page: Page, by: By) -> Opinion:
    assert page.tokens is not None
    tags = [_tag(one, by.names, page.where) for one in value]
    marks = marks_of_tags(tags, page.tokens)
    return Opinion(by.annotator, marks, by.role, seen_by_tags(tags, page.tokens))


def _tag(value: Any, names_of: list[str] | None, where: str) -> str | None:
    if value is None or value == "" or (isinstance(value, int) and value in MISSING):
        return None
    if isinstance(value, str):
        return value
    return _named(value, names_of, where)


def _named(value: int, names_of: list[str] | None, where: str) -> str:
    if names_of is None:
        raise InputError(
            "the labels are numbers, and the file does not say what they mean", where=where,
            got=str(value)[:20],
            fix="give names=O,B-PER,I-PER,... in the order of the numbers, or use the Parquet file "
            "or folder of the same dataset, which holds the names",
        )  # fmt: skip
    if not 0 <= value < len(names_of):
        raise InputError(
            f"there is no label number {str(value)[:20]}", where=where,
            got=f"{len(names_of)} names, from 0 to {len(names_of) - 1}",
        )  # fmt: skip
    return names_of[value]


def _of_spans(value: list[Any], page: Page, by: By) -> list[Opinion]:
    by_annotator: dict[str, list[Mark]] = {}
    _check_unit(value, page)
    for one in value:
        read = _span_fields(one)
        if read is None:
            page.notes.left_out("label of the whole document", page.where)
            continue
        start, end, label, fields = read
        if isinstance(label, list):
            label = label[0] if len(label) == 1 else None
        if isinstance(label, int) and not isinstance(label, bool) and by.names is not None:
            label = _named(label, by.names, page.where)
        mark = _mark(page, start, end, label, fields)
        signed = name_of(first_of(fields, names.ANNOTATORS)) if fields else None
        who = signed or by.annotator
        marks = by_annotator.setdefault(who, [])
        if mark is not None:
            marks.append(mark)
    if not by_annotator:
        return [Opinion(by.annotator, (), by.role)]
    return [
        Opinion(who, tuple(marks), _either(who, by.role)) for who, marks in by_annotator.items()
    ]


def _check_unit(value: list[Any], page: Page) -> None:
    """Spans beside tokens without a text may count either; only large numbers tell."""
    if page.unit or page.tokens is None:
        return
    ends = [whole_of(fields[1]) for fields in map(_span_fields, value) if fields is not None]
    if ends and max(end or 0 for end in ends) <= len(page.tokens):
        raise InputError(
            "the record has tokens and no text, so its spans may count tokens or characters",
            where=page.where, got=shown(value[0]),
            fix="say unit=tokens, unit=tokens-inclusive (the end is the last token) or "
            "unit=characters",
        )  # fmt: skip


def _span_fields(one: Any) -> tuple[Any, Any, Any, dict[str, Any]] | None:
    if isinstance(one, dict):
        fields = names.normalised(one)
        start, end = first_of(fields, names.STARTS), first_of(fields, names.ENDS)
        if end is None:
            end = end_of(start, first_of(fields, names.LENGTHS))
        return start, end, first_of(fields, names.LABELS), fields
    if isinstance(one, list | tuple) and len(one) >= 3:
        if whole_of(one[0]) is None and whole_of(one[1]) is not None:
            return one[1], one[2], one[0], {}
        return one[0], one[1], one[2], {}
    return None


def end_of(start: Any, length: Any) -> int | None:
    """The end of a span that is given by start and length."""
    a, b = whole_of(start), whole_of(length)
    return None if a is None or b is None else a + b


def _quoted(page: Page, start: int, end: int, quote: Any) -> tuple[int, int]:
    """Where a quote stands: as the offsets say, with the end as the last character, or in UTF-16 units."""
    text = page.text
    if not isinstance(quote, str) or text[max(start, 0) : end] == quote:
        return start, end
    if start >= 0 and text[start : end + 1] == quote:
        return start, end + 1
    found = None if text.isascii() else fitted(text, start, None, quote, utf16_to_points(text))
    if found is None and text[max(start, 0) : end].split() != quote.split():
        page.notes.left_out("quoted text that differs from the text at its offsets", page.where)
    return found or (start, end)


def _mark(page: Page, start: Any, end: Any, label: Any, fields: dict[str, Any]) -> Mark | None:
    a, b = whole_of(start), whole_of(end)
    if (
        page.unit.startswith("tokens")
        and page.tokens is not None
        and a is not None
        and b is not None
    ):
        b += page.unit == "tokens-inclusive"
        counts = page.counts or range(len(page.tokens) + 1)
        if not 0 <= a < b < len(counts) or counts[a] == counts[b]:
            page.notes.left_out("mark outside the text", page.where)
            return None
        a, b = page.tokens[counts[a]][0], page.tokens[counts[b] - 1][1]
    elif a is not None and b is not None and (quote := first_of(fields, _QUOTES)):
        a, b = _quoted(page, a, b, quote)
    mark = mark_of(page.text, a, b, label, page.notes, page.where)
    if mark is None or not fields:
        return mark
    pieces = pairs_of(fields.get("pieces"), ()) or ()
    score = number_of(first_of(fields, names.SCORES))
    if pieces and (min(x for x, _ in pieces), max(y for _, y in pieces)) != (mark.start, mark.end):
        page.notes.left_out("pieces that do not make up their mark", page.where)
        pieces = ()
    return mark._replace(pieces=pieces, score=score) if pieces or score is not None else mark
