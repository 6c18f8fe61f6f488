"""Records of one's own: tokens with tags, or a text with spans, for one annotator or several.

The rows of a JSON file, of a Hugging Face dataset or of a table all come here as dictionaries. One row
may hold a column per annotator (``ner_tags_1``, ``ner_tags_2``), a nested object of annotators, or one
annotator's labels with their name in another column; rows of the same document are then put together.

Labels that nobody signed are named after the file, so that ``ann.jsonl`` and ``bob.jsonl`` make a crowd.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Extents, Notes, Opinion
from seqtruth.io.formats import column_names as names
from seqtruth.io.formats.checked_values import (
    list_at,
    mapping_at,
    name_of,
    number_of,
    shown,
    text_at,
    whole_of,
    words_at,
)
from seqtruth.io.formats.labelled_spans import By, Page, opinions_in, pairs_of
from seqtruth.io.formats.token_tags import align, join, visible

UNITS = ("characters", "tokens", "tokens-inclusive")
OPTIONS = {
    "id": "the column that names the document",
    "text": "the column with the text",
    "tokens": "the column with the list of tokens",
    "labels": "the columns with tags or spans, with commas between",
    "annotator_column": "the column that names the annotator",
    "annotator": "the annotator's name where the file gives none (the file's name)",
    "names": "what the label numbers mean, with commas between, from 0",
    "unit": f"what spans count: {', '.join(UNITS)}",
}


@dataclass
class Choices:
    """What the user said about the columns, and what the file's schema says of its label numbers."""

    annotator: str
    options: Mapping[str, object] = field(default_factory=dict)
    names: Mapping[str, list[str]] = field(default_factory=dict)
    #: Whose a column is, where a file says it; with an empty name it is whoever signs the row.
    owners: Mapping[str, By] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        unit = str(self.options.get("unit") or "")
        if unit and unit not in UNITS:
            raise InputError(f"unit must be one of {', '.join(UNITS)}", got=repr(unit))
        return unit

    def names_of(self, column: str) -> list[str] | None:
        given = self.options.get("names")
        if given is None:
            return self.names.get(column)
        parts = given.split(",") if isinstance(given, str) else given
        return [str(part).strip() for part in parts] if isinstance(parts, Iterable) else None


def choices(path: Path, options: Mapping[str, object], **more: Any) -> Choices:
    """Choices for a file; unknown options are refused."""
    for name in options:
        if name not in OPTIONS:
            raise InputError(
                f"there is no option {name!r} here",
                where=str(path),
                fix=f"known: {', '.join(OPTIONS)}",
            )
    return Choices(str(options.get("annotator") or stem(path)), options, **more)


def stem(path: Path) -> str:
    """A file's name without its endings.

    >>> stem(Path("data/bob.v2.jsonl.gz"))
    'bob.v2'
    """
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name or "annotator"


#: Lists of our own records that are no labels.
_BORDERS: set[str | None] = {"offsets", "sentences", "seen"}


class _Plan(NamedTuple):
    """Which column is what."""

    id: str | None
    text: str | None
    tokens: str | None
    annotator: str | None
    labels: tuple[names.LabelColumn, ...]


def documents_of(
    records: Iterable[tuple[Any, str]], choices: Choices, notes: Notes
) -> Iterator[Document]:
    """Documents of (record, place) pairs; together at the end where rows are by annotator."""
    plans: dict[tuple[str, ...], _Plan] = {}
    together: dict[tuple[str, str], Document] = {}
    seen: dict[str, str] = {}
    for number, (value, where) in enumerate(records):
        record = mapping_at(value, "a record", where)
        keys = tuple(key for key in record if record[key] is not None)
        if keys not in plans:
            plans[keys] = _plan(record, choices, where)
        plan = plans[keys]
        document = _document(record, plan, choices, notes, where)
        key = (document.id, "" if document.id else document.text)
        if key in together:
            together[key] = _merged(together[key], document)
            continue
        document = replace(document, id=_fresh(document, seen, number))
        if plan.annotator is None and not together:
            yield document
        else:
            together[key] = document
    yield from together.values()


def _fresh(document: Document, seen: dict[str, str], number: int) -> str:
    """An id that is used once: the document's own, or its number."""
    name = document.id or str(number)
    if document.id and name in seen:
        raise InputError(
            f"the id {document.id!r} is given twice", where=document.where, got=f"first at {seen[name]}",
            fix="name the column that tells annotators apart with annotator_column=, or another id=",
        )  # fmt: skip
    while name in seen:
        name += "'"
    seen[name] = document.where
    return name


def _merged(one: Document, two: Document) -> Document:
    if one.text != two.text or (two.tokens or one.tokens) != (one.tokens or two.tokens):
        place = next(
            (i for i, (a, b) in enumerate(zip(one.text, two.text, strict=False)) if a != b),
            min(len(one.text), len(two.text)),
        )
        raise InputError(
            f"the text of document {one.id!r} differs between annotators", where=two.where,
            got=f"from character {place} on, {shown(two.text[place : place + 20])} for "
            f"{shown(one.text[place : place + 20])} at {one.where}",
        )  # fmt: skip
    return replace(one, opinions=one.opinions + two.opinions)


def _plan(record: dict[str, Any], choices: Choices, where: str) -> _Plan:
    options = choices.options
    there = [key for key in record if record[key] is not None]

    def pick(
        option: str, wanted: Iterable[str], kind: type | tuple[type, ...], taken: Any
    ) -> str | None:
        said = names.chosen(options.get(option), option, record, where)
        if said:
            return said[0]
        fit = [key for key in there if isinstance(record[key], kind) and key not in taken]
        return names.find(names.plain_names(fit), wanted)

    tokens = pick("tokens", names.TOKENS, list, ())
    text = pick("text", names.TEXTS, str, ())
    annotator = pick("annotator_column", names.ANNOTATORS, (str, int), (text,))
    name = pick("id", names.IDS, (str, int, float), (text, annotator))
    if tokens is None and text is None:
        raise InputError(
            "the record has neither a text nor a list of tokens", where=where,
            got=f"keys {', '.join(map(str, record))}"[:160], fix="name the column with text= or tokens=",
        )  # fmt: skip
    said = names.chosen(options.get("labels"), "labels", record, where)
    labels = tuple(_labels(record, said, tokens, {text, tokens, annotator, name}))
    return _Plan(name, text, tokens, annotator, labels)


def _labels(
    record: dict[str, Any], said: list[str], tokens: str | None, taken: set[str | None]
) -> list[names.LabelColumn]:
    if said:
        known = {
            x.column: x for x in names.label_columns(said, names.TAGS if tokens else names.SPANS)
        }
        alone = len(said) == 1
        return [
            known.get(x) or names.LabelColumn(x, "" if alone else x, names.role_of(x)) for x in said
        ]
    taken = taken | _BORDERS
    fit = [key for key in record if isinstance(record[key], list | dict) and key not in taken]
    if tokens is not None:
        as_tags = [key for key in fit if _fits(record[key], record[tokens])]
        found = names.label_columns(as_tags, names.TAGS)
        if found:
            return [*found, *_gold(as_tags, found)]
        bio = [key for key in as_tags if looks_tagged(record[key])]
        if bio:
            return [names.LabelColumn(key, key, names.role_of(key)) for key in bio]
    found = names.label_columns(fit, names.SPANS)
    if found:
        return [*found, *_gold([key for key in fit if are_spans(record[key])], found)]
    marked = [key for key in fit if are_spans(record[key])]  # a column of spans for each annotator
    return [names.LabelColumn(key, key, names.role_of(key)) for key in marked]


def _gold(columns: list[str], found: list[names.LabelColumn]) -> list[names.LabelColumn]:
    """Further columns of labels that are called gold."""
    known = {one.column for one in found}
    gold = [key for key in columns if key not in known and names.role_of(key) == "gold"]
    return [names.LabelColumn(key, key, "gold") for key in gold]


def _fits(value: Any, tokens: list[Any]) -> bool:
    if isinstance(value, dict):
        return all(x is None or _fits(x, tokens) for x in value.values())
    if not isinstance(value, list):
        return False
    simple = all(x is None or isinstance(x, str | int) for x in value)
    return simple and (len(value) == len(tokens) or bool(value))


def looks_tagged(value: Any) -> bool:
    """Whether this is a list of tags such as ``B-PER`` and ``O``."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(x is None or (isinstance(x, str) and (x == "O" or x[1:2] == "-")) for x in value)
    )


def are_spans(value: Any) -> bool:
    """Whether this is a list of marks with offsets, or empty."""
    if not isinstance(value, list):
        return False
    if not value:
        return True
    if isinstance(value[0], dict):
        fields = names.normalised(value[0])
        return any(x in fields for x in names.STARTS) and any(
            x in fields for x in (*names.ENDS, *names.LENGTHS)
        )
    return isinstance(value[0], list) and len(value[0]) == 3


def _document(
    record: dict[str, Any], plan: _Plan, choices: Choices, notes: Notes, where: str
) -> Document:
    text, tokens, counts = _text(record, plan, notes, where)
    unit = choices.unit
    signed = _signature(record, plan.annotator, choices)
    page = Page(text, tokens, unit or ("characters" if plan.text else ""), notes, where, counts)
    opinions: list[Opinion] = []
    for column, owner, role in plan.labels:
        by = choices.owners.get(column)
        if by is None or not by.annotator:
            owner = owner if by is None else ""
            who = _both(signed, owner) or choices.annotator
            by = By(who, role if owner or role == "gold" else names.role_of(who))
        found = opinions_in(record[column], page, by._replace(names=choices.names_of(column)))
        opinions += _signed(found, record)
    return Document(
        (name_of(record[plan.id]) if plan.id is not None else None) or "",
        text, tuple(opinions), tokens, _extents(record.get("sentences"), text), where,
    )  # fmt: skip


def _signature(record: dict[str, Any], column: str | None, choices: Choices) -> str | None:
    """Who signed a row; by name, where the schema has names for the column's numbers."""
    if column is None:
        return None
    value, known = record[column], choices.names.get(column, ())
    if type(value) is int and 0 <= value < len(known):
        return known[value]
    return name_of(value)


def _both(signed: str | None, owner: str) -> str:
    return f"{signed}/{owner}" if signed and owner else signed or owner


def _signed(found: list[Opinion], record: dict[str, Any]) -> list[Opinion]:
    """Opinions with what a row of ours says beside the labels."""
    role, time = record.get("role"), record.get("time")
    if len(found) != 1 or role not in ("annotator", "model", "gold"):
        return found
    seen = pairs_of(record.get("seen"), found[0].seen)
    time = time if isinstance(time, str) and name_of(time) else None
    return [
        replace(found[0], role=role, seen=seen, score=number_of(record.get("score")), time=time)
    ]


def _text(
    record: dict[str, Any], plan: _Plan, notes: Notes, where: str
) -> tuple[str, Extents | None, list[int] | None]:
    """The text, its tokens, and how many of them stand before each of the file's, if some are empty."""
    text = text_at(record[plan.text], "the text", where) if plan.text is not None else None
    if plan.tokens is None:
        return text or "", None, None
    words, counts = visible(words_at(record[plan.tokens], "the tokens", where), notes, where)
    if text is not None:
        offsets = _extents(record.get("offsets"), text)
        if offsets is not None and len(offsets) == len(words):
            return text, offsets, counts
        borders = align(words, text)
        if borders is not None:
            return text, borders, counts
        notes.left_out("text that its tokens do not make up (the tokens are taken)", where)
    return *join(words), counts


def _extents(value: Any, text: str) -> Extents | None:
    """Pairs of borders in order, inside the text; None where there are none, or something else."""
    if not isinstance(value, list):
        return None
    found, last = [], 0
    for pair in list_at(value, "offsets", ""):
        if not isinstance(pair, list) or len(pair) != 2:
            return None
        a, b = whole_of(pair[0]), whole_of(pair[1])
        if a is None or b is None or not last <= a < b <= len(text):
            return None
        found.append((a, b))
        last = b
    return tuple(found)
