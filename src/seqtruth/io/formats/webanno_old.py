"""WebAnno TSV 1 and 2, of the years before 2016, read.

Version 2 names its layers in the first line, begins a sentence with ``#id=`` and ``#text=``, and
writes a span as ``B-PER``, ``I-PER`` (``O`` or ``_`` where there is none), stacked ones divided
by ``|``::

     # de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity | value
    #id=1
    #text=Ms. Haag plays Elianti .
    1-1	Ms.	B-PER

Version 1 has no first line; its columns are number, word, lemma, part of speech, entity, entity
again and the dependency. Offsets are not in these files: words are looked for in the text of
their sentence, and sentences are put on lines of their own. Stacked spans carry no numbers: an
``I-`` goes on with the open span at the same place in the cell that has its label, or with any
that has it.
"""

from __future__ import annotations

import re

from seqtruth.errors import InputError
from seqtruth.io.documents import Notes
from seqtruth.io.formats.cas import NAMED_ENTITY, Cas, CasAnnotation

_VERSION_1 = {4: (NAMED_ENTITY, "value")}
_ROW = re.compile(r"(?:\d{1,9}-)?\d{1,9}\t")


def is_old(head: str) -> bool:
    """Whether a file begins like WebAnno TSV 1 or 2."""
    lines = [line for line in head.split("\n")[:4] if line.strip()]
    if lines and re.match(r" ?# \S+\.\S+ \| ", lines[0]):
        return True
    return (
        len(lines) > 2
        and lines[0].startswith("#id=")
        and lines[1].startswith("#text=")
        and _ROW.match(lines[2]) is not None
    )


def read_old(content: str, where: str, notes: Notes) -> Cas:
    rows = [row.removesuffix("\r") for row in content.split("\n")]
    columns = _columns(rows[0], notes, where)
    columns = columns or _VERSION_1
    cas = Cas("", declared={layer: [] for layer, _ in columns.values()})
    for layer, feature in columns.values():
        cas.declared[layer].append(feature)
    text: list[str] = []
    tokens: list[tuple[int, int]] = []
    sentences: list[tuple[int, int]] = []
    length = place = 0
    open_spans: dict[tuple[int, int], int] = {}
    for number, row in enumerate(rows, start=1):
        if row.startswith("#text="):
            length += len(text[-1]) + 1 if text else 0
            text.append(row[6:])
            sentences.append((length, length + len(row) - 6))
            place, open_spans = 0, {}
        elif row.strip() and not row.startswith(("#", " #")):
            if not text or not _ROW.match(row):
                raise InputError(
                    "not a line of tokens", where=f"{where}:{number}", got=repr(row[:60])
                )
            cells = row.split("\t")
            start = text[-1].find(cells[1], place)
            if start < 0 or text[-1][place:start].strip():
                raise InputError(
                    "the token is not in the text of its sentence", where=f"{where}:{number}",
                    got=repr(cells[1][:40]),
                )  # fmt: skip
            place = start + len(cells[1])
            tokens.append((length + start, length + place))
            open_spans = _spans(cas, cells, columns, tokens[-1], open_spans, f"{where}:{number}")
    cas.text = "\n".join(text)
    cas.tokens = tuple(token for token in tokens if token[0] < token[1]) or None
    cas.sentences = tuple(sentence for sentence in sentences if sentence[0] < sentence[1]) or None
    return cas


def _columns(first: str, notes: Notes, where: str) -> dict[int, tuple[str, str]]:
    """Column numbers with layer and feature, from the first line of version 2."""
    if not re.match(r" ?# \S+ \| ", first):
        return {}
    columns, place = {}, 2
    for part in re.split(r"(?:^| )# ", first.strip())[1:]:
        layer, *features = (field.strip() for field in part.split(" | "))
        relation = any(feature.startswith("AttachTo=") for feature in features)
        for feature in features:
            if not relation:
                columns[place] = (layer, feature)
            place += 1
        if relation:
            notes.left_out("layer of relations", f"{where}:1")
    return columns


def _spans(
    cas: Cas, cells: list[str], columns: dict[int, tuple[str, str]], token: tuple[int, int],
    open_spans: dict[tuple[int, int], int], where: str,
) -> dict[tuple[int, int], int]:  # fmt: skip
    """Begin and go on with spans at a token; those that may go on, by column and place in the cell."""
    now: dict[tuple[int, int], int] = {}
    for column, (layer, feature) in columns.items():
        cell = cells[column] if column < len(cells) else "_"
        for index, value in enumerate(cell.split("|")):
            if value in ("_", "O", "", "O-_"):
                continue
            sign, _, label = value.partition("-")
            if sign not in ("B", "I") or not label:
                sign, label = "B", value
            label = "" if label == f"{layer}_" else label
            same = [
                key for key, span in open_spans.items()
                if key[0] == column and key not in now
                and cas.annotations[span].features.get(feature, "") == label
            ]  # fmt: skip
            if sign == "I" and same:
                key = (column, index) if (column, index) in same else same[0]
                span = open_spans[key]
                cas.annotations[span] = cas.annotations[span]._replace(end=token[1])
            else:
                span = len(cas.annotations)
                features = {feature: label} if label else {}
                cas.annotations.append(CasAnnotation(layer, *token, features, where))
            now[column, index] = span
    return now
