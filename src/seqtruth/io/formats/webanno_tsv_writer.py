"""WebAnno TSV 3.3, written as INCEpTION imports it: one annotator's marks on one document."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from seqtruth.io.documents import Document, Extents, Mark, Notes, Opinion
from seqtruth.io.formats.offsets import points_to_utf16

_WORD = re.compile(r"\w+|[^\w\s]")
_VALUE = re.compile(r"->|[\[\]|_;\t\n*\\]")
_TEXT = re.compile(r"[\x00-\x0a\x0c-\x1f\\]")
_NAMES = {"\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\b": "\\b"}

#: A token (index) or a part of one (start, end), with the numbers of the marks there.
_Part = tuple[int, int]


def tsv_text(
    document: Document, opinion: Opinion, layer: tuple[str, str], notes: Notes
) -> Iterator[str]:
    """The lines of a file; ``layer`` is the layer and the feature of the label."""
    text = document.text
    tokens = _tokens(document)
    units = points_to_utf16(text)
    marks = [
        m for m in (_trimmed(text, mark, notes, document.where) for mark in opinion.marks) if m
    ]
    whole, parts = _covering(marks, tokens)
    numbered = _numbered(marks, whole, parts)
    yield f"#FORMAT=WebAnno TSV 3.3\n#T_SP={layer[0]}|{layer[1]}\n\n"
    if tokens and text[: tokens[0][0]].strip(" "):
        notes.left_out("line breaks before the first word (read back as blanks)", document.where)
    if not tokens and text:
        notes.left_out("text without any word", document.where)

    def cell(indices: list[int]) -> str:
        values = (
            escape_value(marks[i].label, notes, document.where) + numbered[i] for i in indices
        )
        return "|".join(values) or "_"

    starts = _sentence_starts(document, tokens)
    for number, (first, after) in enumerate(pairwise([*starts, len(tokens)]), start=1):
        yield "\n"
        end = tokens[after][0] if after < len(tokens) else len(text)
        sentence = text[tokens[first][0] : end]
        for line in (sentence.removesuffix("\n") if after < len(tokens) else sentence).split("\n"):
            yield f"#Text={_TEXT.sub(lambda m: _NAMES.get(m[0], chr(92) + m[0]), line)}\n"
        for i in range(first, after):
            start, stop = tokens[i]
            id = f"{number}-{i - first + 1}"
            yield f"{id}\t{units(start)}-{units(stop)}\t{text[start:stop]}\t{cell(whole[i])}\t\n"
            for j, (part, indices) in enumerate(sorted(parts[i].items()), start=1):
                form = text[part[0] : part[1]]
                yield f"{id}.{j}\t{units(part[0])}-{units(part[1])}\t{form}\t{cell(indices)}\t\n"


def _tokens(document: Document) -> Extents:
    """The document's own tokens; or words, cut where anybody's mark begins or ends."""
    text = document.text
    own = document.tokens
    if own and not any(re.search(r"\s", text[start:end]) for start, end in own):
        covered = bytearray(len(text))
        for start, end in own:
            covered[start:end] = b"\1" * (end - start)
        if all(covered[i] or letter.isspace() for i, letter in enumerate(text)):
            return own
    cuts = {place for o in document.opinions for m in o.marks for place in (m.start, m.end)}
    tokens: list[tuple[int, int]] = []
    ordered = sorted(cuts)
    for word in _WORD.finditer(text):
        start, end = word.span()
        inside = ordered[bisect_right(ordered, start) : bisect_left(ordered, end)]
        borders = [start, *inside, end]
        tokens.extend(pairwise(borders))
    return tuple(tokens)


def _sentence_starts(document: Document, tokens: Extents) -> list[int]:
    """Indices of tokens that begin a sentence: the document's own, or those that begin a line."""
    if not tokens:
        return []
    begins = [token[0] for token in tokens]
    if document.sentences:
        places = [start for start, _ in document.sentences]
    else:
        places = [match.end() for match in re.finditer("\n", document.text)]
    found = {bisect_left(begins, place) for place in places}
    return sorted(found - {len(tokens)} | {0})


def _trimmed(text: str, mark: Mark, notes: Notes, where: str) -> Mark | None:
    """The mark without blanks at its edges, which no token holds."""
    start, end = mark.start, mark.end
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start == end:
        notes.left_out("mark of blanks only", where)
        return None
    if (start, end) != (mark.start, mark.end):
        notes.left_out("blanks at the edge of a mark", where)
    if mark.pieces:
        notes.left_out("gaps of a discontinuous mark (written whole)", where)
    if mark.score is not None:
        notes.left_out("score", where)
    return mark._replace(start=start, end=end)


def _covering(
    marks: list[Mark], tokens: Extents
) -> tuple[defaultdict[int, list[int]], defaultdict[int, dict[_Part, list[int]]]]:
    """Which marks cover which tokens whole, and which parts of tokens."""
    begins, ends = [token[0] for token in tokens], [token[1] for token in tokens]
    whole: defaultdict[int, list[int]] = defaultdict(list)
    parts: defaultdict[int, dict[_Part, list[int]]] = defaultdict(dict)
    for i, mark in enumerate(marks):
        for t in range(bisect_right(ends, mark.start), bisect_left(begins, mark.end)):
            start, end = max(mark.start, begins[t]), min(mark.end, ends[t])
            if (start, end) == tokens[t]:
                whole[t].append(i)
            else:
                parts[t].setdefault((start, end), []).append(i)
    return whole, parts


def _numbered(
    marks: list[Mark],
    whole: defaultdict[int, list[int]],
    parts: defaultdict[int, dict[_Part, list[int]]],
) -> list[str]:
    """``[1]`` for marks over several tokens or parts, and for stacked ones; nothing for the others."""
    places: list[int] = [0] * len(marks)
    stacked = set[int]()
    cells = [*whole.values(), *(cell for part in parts.values() for cell in part.values())]
    for cell in cells:
        for i in cell:
            places[i] += 1
        if len(cell) > 1:
            stacked.update(cell)
    numbers, count = [], 0
    for i in range(len(marks)):
        needed = places[i] > 1 or i in stacked
        count += needed
        numbers.append(f"[{count}]" if needed else "")
    return numbers


def escape_value(value: str, notes: Notes, where: str) -> str:
    """A label for a cell; a carriage return, which would end the line, is written as a blank."""
    if "\r" in value:
        notes.left_out("carriage return in a label (written as a blank)", where)
        value = value.replace("\r", " ")
    return _VALUE.sub(lambda m: _NAMES.get(m[0], "\\" + m[0]), value) or "*"
