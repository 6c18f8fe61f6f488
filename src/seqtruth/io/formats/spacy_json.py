"""spaCy's JSON: lists of texts with entities (v3 examples), and the training format of v2.

Lists, as in spaCy's tutorials, with a text and what is in it::

    [["Who is Shaka Khan?", {"entities": [[7, 17, "PERSON"]]}]]

or the same below ``"annotations"`` beside ``"classes"``, as the "NER annotator for spaCy" writes,
or one a line. ``{"spans": {"sc": [...]}}`` is read where there are no entities (``spans=KEY``
chooses the group).

``Doc.to_json()``, ``{"text", "ents", "tokens", "sents", "spans"}``, is read as well: alone, in a list or a
line each.

Version 2 has documents, paragraphs, sentences and tokens, with BILUO tags; ``-`` means that
nobody looked (``seen`` leaves the token out), and ``raw`` holds the text, which is otherwise the
words with blanks between.

The annotator is the file's name. Written is the first shape, one annotator's marks
(``annotator=`` chooses).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Extents, Mark, Notes, Opinion
from seqtruth.io.files import read_text, write_chunks
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.checked_values import list_at
from seqtruth.io.formats.gathered import checked_mark, note_lost
from seqtruth.io.json_records import JsonRecord, json_records, parse_json

_PAIR = re.compile(rb'\s*\[\s*\[?\s*"(?:[^"\\]|\\.)*"\s*,\s*\{\s*"(?:entities|spans|cats|links)"')
_DOC = re.compile(rb'\s*\[?\s*\{\s*"text"')
_TAG = re.compile(r"([BILUESMO])-(.+)", re.DOTALL)
#: What the Penn Treebank writes for signs of the text.
_TREEBANK = {
    "``": ('"', "“", "''"), "''": ('"', "”"), "`": ("'", "‘"), "-LRB-": ("(",), "-RRB-": (")",),
    "-LSB-": ("[",), "-RSB-": ("]",), "-LCB-": ("{",), "-RCB-": ("}",),
}  # fmt: skip


def tell(glimpse: Glimpse) -> float:
    head = glimpse.head
    if glimpse.tree is not None:
        return 0.0
    if _PAIR.match(head):
        return 0.95
    if b'"paragraphs"' in head and (
        b'"orth"' in head or (b'"sentences"' in head and b'"raw"' in head)
    ):
        return 0.95
    if b'"ents"' in head and b'"tokens"' in head and b'"text"' in head and _DOC.match(head):
        return 0.9
    beside = b'"classes"' in head and b'"annotations"' in head and b'"entities"' in head
    return 0.9 if beside and head.lstrip()[:1] == b"{" else 0.0


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    name = str(options.get("annotator") or path.stem)
    group = str(options["spans"]) if options.get("spans") else None
    number = 0
    for record in _records(path):
        value = record.value
        if isinstance(value, dict) and isinstance(value.get("paragraphs"), list):
            yield from _version_2(record, name, number, notes)
            number += 1
        elif isinstance(value, dict) and isinstance(value.get("annotations"), list):
            for item in value["annotations"]:
                if item is not None:
                    number += 1
                    yield _example(item, record.where, name, number, group, notes)
        elif isinstance(value, dict) and isinstance(value.get("text"), str):
            number += 1
            yield _doc(value, record.where, name, number, group, notes)
        else:
            number += 1
            yield _example(value, record.where, name, number, group, notes)


def _doc(
    value: dict[str, Any], where: str, name: str, number: int, group: str | None, notes: Notes
) -> Document:
    """What ``Doc.to_json`` gives; entities are there even if they were never set."""
    text, spans = value["text"], value.get("spans")
    entities = value.get("ents")
    groups = {key: some for key, some in spans.items() if some} if isinstance(spans, dict) else {}
    if group is not None or (not entities and groups):
        entities = {"spans": groups}
    else:
        entities = {"entities": [] if entities is None else entities}
    if value.get("cats"):
        notes.left_out("category or link of a document", where)
    document = _example([text, entities], where, name, number, group, notes)
    return replace(
        document,
        tokens=_extents(list_at(value.get("tokens"), "tokens", where), len(text)),
        sentences=_extents(list_at(value.get("sents"), "sents", where), len(text)),
    )


def _extents(found: list[Any], length: int) -> Extents | None:
    """Borders that are in order; None where there are none."""
    pairs = [(one.get("start"), one.get("end")) for one in found if isinstance(one, dict)]
    place, out = 0, []
    for start, end in pairs:
        if type(start) is not int or type(end) is not int or not place <= start < end <= length:
            continue
        out.append((start, end))
        place = end
    return tuple(out) or None


def _records(path: Path) -> Iterator[JsonRecord]:
    """The examples of a list; or those of lines that are examples themselves."""
    text = read_text(path).decode()
    if re.match(r'\s*\[\s*"', text):
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    yield JsonRecord(parse_json(line), f"{path}:{number}")
                except (ValueError, RecursionError) as error:
                    raise InputError(
                        "not JSON", where=f"{path}:{number}", got=str(error)[:100]
                    ) from None
    else:
        try:
            yield from json_records(path)
        except ValueError as error:  # a number of thousands of digits
            raise InputError("not JSON", where=str(path), got=str(error)[:100]) from None


def _example(
    value: Any, where: str, name: str, number: int, group: str | None, notes: Notes
) -> Document:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
        raise InputError(
            "not an example of spaCy's", where=where, got=repr(value)[:60],
            fix='expected ["text", {"entities": [[start, end, "LABEL"]]}]',
        )  # fmt: skip
    text, annotations = value
    annotations = annotations if isinstance(annotations, dict) else {}
    if "cats" in annotations or "links" in annotations:
        notes.left_out("category or link of a document", where)
    found = annotations.get("entities") if group is None else None
    spans = annotations.get("spans")
    if found is None and isinstance(spans, dict):
        if group is None and len(spans) > 1:
            raise InputError(
                "several groups of spans", where=where, got=", ".join(map(repr, spans))[:100],
                fix="choose one with spans=KEY",
            )  # fmt: skip
        found = spans.get(group) if group is not None else next(iter(spans.values()), None)
    opinions = () if found is None else (Opinion(name, tuple(_marks(text, found, where, notes))),)
    return Document(str(number), _whole(text, where), opinions, where=where)


def _whole(text: str, where: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError("the text holds half a character (a lone surrogate)", where=where)
    return text


def _marks(text: str, found: Any, where: str, notes: Notes) -> Iterator[Mark]:
    for entity in found if isinstance(found, list) else [found]:
        parts = entity
        if isinstance(entity, dict):
            parts = [entity.get("start"), entity.get("end"), entity.get("label")]
        fine = isinstance(parts, list) and len(parts) >= 3 and isinstance(parts[2], str)
        if not fine or not all(type(place) is int for place in parts[:2]):
            raise InputError(
                "not an entity",
                where=where,
                got=repr(entity)[:60],
                fix='expected [start, end, "LABEL"]',
            )
        mark = checked_mark(text, *parts[:3])
        if isinstance(mark, str):
            notes.left_out(mark, where)
        else:
            yield mark


def _version_2(record: JsonRecord, name: str, number: int, notes: Notes) -> Iterator[Document]:
    paragraphs = [p for p in record.value["paragraphs"] if isinstance(p, dict)]
    id = record.value.get("id", number)
    for i, paragraph in enumerate(paragraphs):
        where = f"{record.where}, paragraph {i + 1}"
        found = paragraph.get("sentences")
        sentences = (
            [_tokens(s, where) for s in found if isinstance(s, dict)]
            if isinstance(found, list)
            else []
        )
        raw = paragraph.get("raw")
        text, words = _laid_out(
            raw, [word for sentence in sentences for word, _ in sentence], where
        )
        tags = [tag for sentence in sentences for _, tag in sentence]
        if paragraph.get("cats"):
            notes.left_out("category or link of a document", where)
        borders, first = [], 0
        for sentence in sentences:
            if sentence:
                borders.append((words[first][0], words[first + len(sentence) - 1][1]))
                first += len(sentence)
        opinions = _opinion(name, words, tags, where, notes)
        full = f"{id}" if len(paragraphs) == 1 else f"{id}.{i}"
        yield Document(
            full, _whole(text, where), opinions, tuple(words) or None, tuple(borders) or None, where
        )


def _tokens(sentence: dict[str, Any], where: str) -> list[tuple[str, str]]:
    tokens = sentence.get("tokens")
    found = []
    for token in tokens if isinstance(tokens, list) else ():
        if (
            not isinstance(token, dict)
            or not isinstance(token.get("orth"), str)
            or not token["orth"]
        ):
            raise InputError("a token without 'orth'", where=where, got=repr(token)[:60])
        tag = token.get("ner", "-")
        found.append((token["orth"], tag if isinstance(tag, str) else "-"))
    return found


def _laid_out(raw: object, words: list[str], where: str) -> tuple[str, list[tuple[int, int]]]:
    """The text and where each word stands in it."""
    text = raw if isinstance(raw, str) else " ".join(words)
    place, extents = 0, []
    for word in words:
        while place < len(text) and text[place].isspace() and not word[0].isspace():
            place += 1
        forms = (word, *_TREEBANK.get(word, ()))
        form = next((form for form in forms if text.startswith(form, place)), None)
        if form is None:
            raise InputError(
                "a token is not in the text ('raw') where it should be", where=where,
                got=f"{word[:40]!r} at {text[place : place + 20]!r}",
            )  # fmt: skip
        extents.append((place, place + len(form)))
        place += len(form)
    return text, extents


def _opinion(
    name: str, words: list[tuple[int, int]], tags: list[str], where: str, notes: Notes
) -> tuple[Opinion, ...]:
    """BILUO (or IOB) tags as marks; ``-`` is a token nobody looked at."""
    marks: list[Mark] = []
    seen: list[tuple[int, int]] = []
    open_label, known_before = None, False
    for (start, end), tag in zip(words, tags, strict=True):
        known = tag not in ("-", "")
        if known:
            if known_before:
                seen[-1] = (seen[-1][0], end)
            else:
                seen.append((start, end))
        known_before = known
        cut = _TAG.fullmatch(tag)
        if known and tag != "O" and cut is None:
            notes.left_out("tag that is not BILUO", where)
        if cut is None or cut[1] == "O":
            open_label = None
        elif cut[1] in "ILEM" and open_label == cut[2]:
            marks[-1] = marks[-1]._replace(end=end)
            open_label = None if cut[1] in "LE" else open_label
        else:
            marks.append(Mark(start, end, cut[2]))
            open_label = cut[2] if cut[1] in "BIM" else None
    if not seen:
        return ()
    whole = not words or seen == [(words[0][0], words[-1][1])]
    extents: Extents | None = None if whole else tuple(seen)
    return (Opinion(name, tuple(marks), seen=extents),)


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    wanted = str(options["annotator"]) if options.get("annotator") else None
    everything = list(documents)
    who = sorted({opinion.annotator for document in everything for opinion in document.opinions})
    if wanted is None and len(who) > 1:
        raise InputError(
            "this format holds one annotator's marks", where=str(path), got=", ".join(who)[:200],
            fix="choose with annotator=NAME",
        )  # fmt: skip
    write_chunks(path, (line.encode() for line in _lines(everything, wanted, notes)))


def _lines(documents: list[Document], wanted: str | None, notes: Notes) -> Iterator[str]:
    yield "["
    divider = "\n"
    for document in documents:
        theirs = [o for o in document.opinions if wanted is None or o.annotator == wanted]
        note_lost(document, notes)
        annotations: dict[str, Any] = {}
        for opinion in theirs[-1:]:
            for mark in opinion.marks:
                if mark.pieces:
                    notes.left_out("gaps of a discontinuous mark (written whole)", document.where)
                if mark.score is not None:
                    notes.left_out("score", document.where)
            annotations["entities"] = [[mark.start, mark.end, mark.label] for mark in opinion.marks]
        yield divider + json.dumps([document.text, annotations], ensure_ascii=False)
        divider = ",\n"
    yield "\n]\n"


FORMAT = DocumentFormat(
    name="spacy-json",
    title="spaCy JSON",
    tell=tell,
    read=read,
    write=write,
    read_options={
        "spans": "a group of spans to read instead of entities",
        "annotator": "name of the annotator, instead of the file's",
    },
    write_options={"annotator": "whose marks to write, where there are several annotators"},
    cannot_carry=(
        "ids of documents",
        "several annotators",
        "which parts of a text were seen",
        "scores",
        "gaps of discontinuous marks",
    ),
)
