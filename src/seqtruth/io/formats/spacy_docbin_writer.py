"""A ``DocBin`` written without spaCy; see :mod:`.spacy_docbin` for what is put where."""

from __future__ import annotations

import re
import struct
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.files import write_chunks
from seqtruth.io.formats.gathered import note_lost
from seqtruth.io.formats.msgpack import pack
from seqtruth.io.formats.spacy_strings import string_number, symbols

_WORD = re.compile(r"\w+|[^\w\s]")
_ATTRIBUTES = ("ORTH", "ENT_IOB", "ENT_TYPE", "SENT_START")
_MISSING, _INSIDE, _OUTSIDE, _BEGIN = range(4)
_NOT_START = (1 << 64) - 1


class _Word:
    """A word: its extent, and whether a blank follows that is no word."""

    __slots__ = ("end", "space", "start")

    def __init__(self, start: int, end: int, space: bool) -> None:
        self.start, self.end, self.space = start, end, space


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    everything = list(documents)
    key = str(options["spans"]) if options.get("spans") else None
    who = {opinion.annotator for document in everything for opinion in document.opinions}
    overlap = any(
        _overlap(opinion.marks) for document in everything for opinion in document.opinions
    )
    groups = key is not None or len(who) > 1 or overlap
    strings: set[str] = set()
    rows, spaces, lengths, span_groups = [], bytearray(), [], []
    for document in everything:
        _note(document, notes, groups)
        words = list(_words(document))
        opinions = {o.annotator: o for o in document.opinions}
        only = None if groups or not opinions else next(iter(opinions.values()))
        rows.append(_rows(document, words, only, strings))
        spaces += bytes(word.space for word in words)
        lengths.append(len(words))
        named = (
            {(a if len(who) > 1 else key or "sc"): o for a, o in opinions.items()} if groups else {}
        )
        packed = {_group(n, o, words, document, strings): [n] for n, o in named.items()}
        span_groups.append(pack(packed) if packed else pack([]))
    content = {
        "version": "0.1", "attrs": [symbols()[name] for name in _ATTRIBUTES], "tokens": b"".join(rows),
        "spaces": bytes(spaces), "lengths": struct.pack(f"<{len(lengths)}i", *lengths),
        "strings": sorted(strings - {""}), "cats": [{} for _ in lengths],
        "flags": [{"has_unknown_spaces": False} for _ in lengths], "span_groups": span_groups,
    }  # fmt: skip
    write_chunks(path, [zlib.compress(pack(content))])


def _note(document: Document, notes: Notes, groups: bool) -> None:
    note_lost(document, notes, seen=not groups)
    for opinion in document.opinions:
        for mark in opinion.marks:
            if mark.pieces:
                notes.left_out("gaps of a discontinuous mark (written whole)", document.where)
            if mark.score is not None:
                notes.left_out("score", document.where)


def _overlap(marks: Iterable[Mark]) -> bool:
    return any(a.end > b.start for a, b in pairwise(sorted(marks)))


def _words(document: Document) -> Iterator[_Word]:
    """Words that no mark cuts, and blanks as spaCy has them: one after a word, any others words too."""
    text = document.text
    marks = [mark for opinion in document.opinions for mark in opinion.marks]
    seen = [extent for opinion in document.opinions for extent in opinion.seen or ()]
    extents = [*((mark.start, mark.end) for mark in marks), *seen]
    starts, ends = {start for start, _ in extents}, {end for _, end in extents}
    cuts = sorted(starts | ends)
    tokens = document.tokens or [match.span() for match in _WORD.finditer(text)]
    place = 0
    for start, end in (*tokens, (len(text), len(text))):
        while place < start:  # blanks, and whatever the tokens leave out
            cut = bisect_right(cuts, place)
            after = min(start, cuts[cut] if cut < len(cuts) else start)
            yield _Word(place, after, False)
            place = after
        inside = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
        for a, b in pairwise([start, *inside, end]):
            if a == b:
                continue
            space = b == end and text[b : b + 1] == " " and b not in starts and b + 1 not in ends
            yield _Word(a, b, space)
            place = b + space


def _rows(
    document: Document, words: list[_Word], opinion: Opinion | None, strings: set[str]
) -> bytes:
    """The table of a document's words: their number, IOB, label and beginning of a sentence."""
    text = document.text
    iob = [_MISSING if opinion is None else _OUTSIDE] * len(words)
    labels = [""] * len(words)
    begins = [word.start for word in words]
    if opinion is not None and opinion.seen is not None:
        iob = [_MISSING] * len(words)
        for start, end in opinion.seen:
            for i in range(bisect_left(begins, start), bisect_left(begins, end)):
                iob[i] = _OUTSIDE
    for mark in opinion.marks if opinion is not None else ():
        for i in range(bisect_left(begins, mark.start), bisect_left(begins, mark.end)):
            iob[i] = _BEGIN if begins[i] == mark.start else _INSIDE
            labels[i] = mark.label
    sentences = {bisect_left(begins, start) for start, _ in document.sentences or ()}
    out = bytearray()
    for i, word in enumerate(words):
        form = text[word.start : word.end]
        strings.update((form, labels[i]))
        sentence = (1 if i in sentences else _NOT_START) if sentences else 0
        out += struct.pack("<4Q", string_number(form), iob[i], string_number(labels[i]), sentence)
    return bytes(out)


def _group(
    name: str, opinion: Opinion, words: list[_Word], document: Document, strings: set[str]
) -> bytes:
    begins, ends = [word.start for word in words], [word.end for word in words]
    spans = []
    for mark in opinion.marks:
        strings.add(mark.label)
        first, last = bisect_left(begins, mark.start), bisect_left(ends, mark.end) + 1
        numbers = (0, 0, string_number(mark.label), first, last, mark.start, mark.end)
        spans.append(struct.pack(">QQQllll", *numbers))
    return pack({"name": name, "attrs": {}, "spans": spans})
