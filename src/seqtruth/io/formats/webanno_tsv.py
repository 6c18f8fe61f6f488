"""WebAnno TSV 3.x, read: INCEpTION's and WebAnno's table of tokens, a file a document and user.

::

    #FORMAT=WebAnno TSV 3.3
    #T_SP=webanno.custom.Span|value

    #Text=Alice met Bob.
    1-1	0-5	Alice	PER[1]|TITLE[2]
    1-2	6-9	met	PER[1]
    1-3	10-13	Bob	_
    1-3.1	10-11	B	*

A cell holds the values of all annotations at this token, divided by ``|``; a number in brackets
ties the tokens of one annotation together. ``_`` is nothing, ``*`` an annotation without value,
``1-3.1`` a part of a token. Offsets are UTF-16 units (files of scripts that counted code points
are recognised by their words). Relations (``#T_RL``), chains (``#T_CH``) and links between
annotations are counted and left out.

The text between sentences is not in the file: as in INCEpTION, it is taken to be a line break and
blanks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from seqtruth.errors import InputError
from seqtruth.io.documents import Notes
from seqtruth.io.formats.cas import Cas, CasAnnotation, in_order
from seqtruth.io.formats.offsets import Converter, utf16_to_points

_ITEMS = re.compile(r"(?:\\.|[^|\\]|\\$)*", re.DOTALL)
_NUMBER = re.compile(r"\[(\d{1,9})\]$")
_VALUE_ESCAPE = re.compile(r"\\(->|[\[\]|_;tn*\\])")
_TEXT_ESCAPE = re.compile(r"\\([tnfrb\\\x00-\x1f])")
_JAVA_ESCAPE = re.compile(r"\\(u+[0-9A-Fa-f]{4}|[tnfrb\\\"'/])")
_CONTROL = {"t": "\t", "n": "\n", "f": "\f", "r": "\r", "b": "\b"}
_UNIT = re.compile(r"\d{1,9}-\d{1,9}(\.\d{1,9})?\t(\d{1,12})-(\d{1,12})\t")


@dataclass
class _Column:
    """A column: whose feature it is, and what kind of value it has."""

    layer: str
    feature: str
    kind: str  # "value", "relation", "chain", "link" (the roles of links) or "target" (their ends)


@dataclass
class _Unit:
    """A token or a part of one, as written."""

    start: int
    end: int
    form: str
    part: bool
    cells: list[str]
    line: int


@dataclass
class _Sentence:
    lines: list[str] = field(default_factory=list)
    units: list[_Unit] = field(default_factory=list)
    line: int = 0


def read_tsv3(content: str, where: str, notes: Notes) -> Cas:
    """The content of a file whose first line is ``#FORMAT=WebAnno TSV 3.…``."""
    rows = [row.removesuffix("\r") for row in content.split("\n")]
    version = re.match(r"#FORMAT=WebAnno TSV 3\.(\d)", rows[0])
    if version is None:
        raise InputError("not WebAnno TSV 3", where=f"{where}:1", got=repr(rows[0][:60]))
    columns = _columns(rows)
    sentences = _sentences(rows, columns, int(version[1]), where)
    text, starts, convert = _layout(sentences, where)
    cas = Cas(text)
    for column in columns:
        if column.kind == "value":
            cas.declared.setdefault(column.layer, [])
            if column.feature:
                cas.declared[column.layer].append(column.feature)
    units = [unit for sentence in sentences for unit in sentence.units]
    cas.annotations = _annotations(units, columns, convert, where, notes)
    tokens = ((convert(unit.start), convert(unit.end)) for unit in units if not unit.part)
    cas.tokens = in_order(tokens, len(text))
    ends = (start + len("\n".join(s.lines)) for start, s in zip(starts, sentences, strict=True))
    cas.sentences = in_order(zip(starts, ends, strict=True), len(text))
    return cas


def _columns(rows: list[str]) -> list[_Column]:
    columns = []
    for row in rows[1:]:
        if not row.startswith(("#T_SP=", "#T_RL=", "#T_CH=")):
            if row.strip():
                break
            continue
        layer, *fields = row[6:].split("|")
        kind = {"SP": "value", "RL": "relation", "CH": "chain"}[row[3:5]]
        names = [name for name in fields if name] or [""]
        for i, name in enumerate(names):
            roles = kind == "value" and name.startswith("ROLE_")
            ends = kind == "value" and i > 0 and names[i - 1].startswith("ROLE_")
            columns.append(_Column(layer, name, "link" if roles else "target" if ends else kind))
    return columns


def _sentences(rows: list[str], columns: list[_Column], minor: int, where: str) -> list[_Sentence]:
    sentences: list[_Sentence] = []
    begun = False  # whether the sentence at the end of the list has its tokens
    for number, row in enumerate(rows, start=1):
        if row.startswith("#Text="):
            if not sentences or begun:
                sentences.append(_Sentence(line=number))
                begun = False
            sentences[-1].lines.append(unescape_text(row[6:], minor))
        elif row.strip() and not row.startswith("#"):
            if not sentences:
                raise InputError(
                    "a token before any #Text= line", where=f"{where}:{number}", got=repr(row[:60])
                )
            sentences[-1].units.append(_unit(row, len(columns), where, number))
            begun = True
    return [sentence for sentence in sentences if sentence.units]


def _unit(row: str, columns: int, where: str, line: int) -> _Unit:
    found = _UNIT.match(row)
    if found is None:
        raise InputError(
            "not a line of tokens", where=f"{where}:{line}", got=repr(row[:60]),
            fix="expected '1-1<tab>0-5<tab>word<tab>...'",
        )  # fmt: skip
    form, *values = row[found.end() :].split("\t")
    if len(values) < columns:
        raise InputError(
            f"{len(values)} columns of annotations where the header names {columns}",
            where=f"{where}:{line}", got=repr(row[:60]),
        )  # fmt: skip
    return _Unit(int(found[2]), int(found[3]), form, found[1] is not None, values, line)


def _layout(sentences: list[_Sentence], where: str) -> tuple[str, list[int], Converter]:
    """The text, where its sentences begin, and how to count: in UTF-16 units, or as the words say."""
    try:
        return _laid_out(sentences, where, wide=True)
    except InputError as error:
        try:
            return _laid_out(sentences, where, wide=False)
        except InputError:
            raise error from None


def _laid_out(
    sentences: list[_Sentence], where: str, wide: bool
) -> tuple[str, list[int], Converter]:
    pieces: list[str] = []
    starts: list[int] = []
    units = length = 0  # of what is laid out: in the file's units, and in code points
    for sentence in sentences:
        begin = sentence.units[0].start
        gap = begin - units
        if not 0 <= gap <= 1_000_000:
            raise InputError(
                "the sentence begins inside the one before" if gap < 0 else "too long a gap",
                where=f"{where}:{sentence.units[0].line}", got=f"offset {begin} after {units}",
                fix="offsets must count from the beginning of the document, as INCEpTION writes them",
            )  # fmt: skip
        text = "\n".join(sentence.lines)
        pieces += ["\n" if units else " "] * min(gap, 1) + [" " * (gap - 1), text]
        starts.append(length + gap)
        length += gap + len(text)
        units = begin + len(text) + sum(letter > "\uffff" for letter in text) * wide
    text = "".join(pieces)
    convert = (
        utf16_to_points(text) if wide else lambda place: place if 0 <= place <= len(text) else None
    )
    for unit in (unit for sentence in sentences for unit in sentence.units):
        if not unit.part and not _there(text, unit, convert):
            raise InputError(
                "the token is not in the text at this place", where=f"{where}:{unit.line}",
                got=f"{unit.form[:40]!r} at {unit.start}-{unit.end}",
                fix="#Text= and the tokens must be those of INCEpTION's export, unchanged",
            )  # fmt: skip
    return text, starts, convert


def _there(text: str, unit: _Unit, convert: Converter) -> bool:
    start, end = convert(unit.start), convert(unit.end)
    return start is not None and end is not None and text[start:end] == unit.form


def _annotations(
    units: list[_Unit], columns: list[_Column], convert: Converter, where: str, notes: Notes
) -> list[CasAnnotation]:
    found: dict[tuple[object, ...], CasAnnotation] = {}
    for unit in units:
        if all(cell in ("_", "") for cell in unit.cells):
            continue
        start, end, place = convert(unit.start), convert(unit.end), f"{where}:{unit.line}"
        for column, cell in zip(columns, unit.cells, strict=False):
            if cell in ("_", ""):
                continue
            for index, (value, number) in enumerate(_stacked(cell)):
                if value == "_" and not number:
                    continue
                _count(column, notes, place)
                if column.kind not in ("value", "link"):
                    continue
                key = (column.layer, number) if number else (column.layer, unit.line, index)
                old = found.get(key) or CasAnnotation(column.layer, start, end, {}, place)
                if value not in ("*", "_") and column.kind == "value" and column.feature:
                    old.features[column.feature] = unescape_value(value)
                found[key] = old._replace(end=end)
    return list(found.values())


def _count(column: _Column, notes: Notes, where: str) -> None:
    """Note what a column holds besides values, once for each thing."""
    if column.kind == "relation" and column.feature.startswith("BT_"):
        notes.left_out("relation", where)
    elif column.kind == "chain" and column.feature == "referenceRelation":
        notes.left_out("link of a chain", where)
    elif column.kind == "link":
        notes.left_out("links of a mark", where)


def _stacked(cell: str) -> list[tuple[str, str]]:
    """The values of a cell with the numbers in their brackets."""
    items = []
    place = 0
    while place <= len(cell):
        item = _ITEMS.match(cell, place)
        assert item is not None  # it can match nothing
        number = _NUMBER.search(item[0], max(0, len(item[0]) - 11))
        value = item[0][: number.start()] if number else item[0]
        escaped = (
            len(value) - len(value.rstrip("\\"))
        ) % 2 == 1  # the bracket belongs to the value
        items.append((value, number[1]) if number and not escaped else (item[0], ""))
        place = item.end() + 1
    return items


def unescape_value(value: str) -> str:
    return _VALUE_ESCAPE.sub(lambda m: _CONTROL.get(m[1], m[1]), value)


def unescape_text(text: str, minor: int) -> str:
    if minor >= 2:
        return _TEXT_ESCAPE.sub(lambda m: _CONTROL.get(m[1], m[1]), text)
    found = _JAVA_ESCAPE.sub(
        lambda m: chr(int(m[1].lstrip("u"), 16)) if m[1][0] == "u" else _CONTROL.get(m[1], m[1]),
        text,
    )
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
