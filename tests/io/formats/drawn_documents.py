"""Documents drawn by Hypothesis for formats that hold tokens and for such as hold texts with spans."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from seqtruth.errors import SeqTruthError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import DocumentFormat
from seqtruth.io.formats.token_tags import join

FIXTURES = Path(
    os.environ.get("SEQTRUTH_FIXTURES", Path(__file__).resolve().parents[4] / "shared" / "fixtures")
)

WORDS = [
    "Ann",
    "ran",
    "Zürich",
    "e\u0301tude",
    "ر",
    "العربية",
    "中文",
    "ไทย",
    "हिन्दी",
    "👩‍👩‍👧‍👦",
    "👍🏽",
    "𝒜",
    "=1+2",
    "-",
    "@x",
    "+3",
    '"q"',
    "a,b",
    "c;d",
    "\u200b",
    "O",
    "B-PER",
    "null",
    "1.5",
    "'s",
    "\\n",
    "[1]",
    "{",
    "a\u00a0b",
]
BLANKS = [" ", "  ", "\n", "\r\n", "\t", "", "\u3000"]
LABELS = ["PER", "ORG", "B-cell", "a b", "Größe", "=X", "日", "a,b", "O"]
ANNOTATORS = ["ann", "bob", "eve 2", "worker-17", "Zoë", "李", "a.b@c.de"]

words = st.one_of(
    st.sampled_from(WORDS),
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=5),
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Words and blanks of many kinds, with blanks at the ends."""
    parts = draw(st.lists(st.tuples(st.sampled_from(BLANKS), words), max_size=8))
    return "".join(a + b for a, b in parts) + draw(st.sampled_from(BLANKS))


@st.composite
def marks(draw: st.DrawFn, length: int, pieces: bool) -> Mark:
    """A mark in a text of some length."""
    start = draw(st.integers(0, length - 1))
    end = draw(st.integers(start + 1, length))
    parts: tuple[tuple[int, int], ...] = ()
    if pieces and end - start > 2 and draw(st.booleans()):
        parts = ((start, start + 1), (end - 1, end))
    return Mark(start, end, draw(st.sampled_from(LABELS)), parts)


@st.composite
def span_documents(draw: st.DrawFn, pieces: bool = True, min_length: int = 0) -> list[Document]:
    """Documents of texts with any marks: overlapping, nested, repeated, in pieces."""
    found = []
    for number in range(draw(st.integers(1, 3))):
        text = draw(texts().filter(lambda text: len(text) >= min_length))
        several = st.lists(marks(len(text), pieces), max_size=4) if text else st.just([])
        names = draw(st.lists(st.sampled_from(ANNOTATORS), unique=True, max_size=3))
        opinions = tuple(Opinion(name, tuple(draw(several))) for name in names)
        found.append(Document(f"d{number}", text, opinions))
    return found


@st.composite
def token_documents(
    draw: st.DrawFn, names: tuple[str, ...] = tuple(ANNOTATORS), unseen: bool = True
) -> list[Document]:
    """Documents of tokens joined by blanks, with marks that do not overlap."""
    found = []
    for number in range(draw(st.integers(1, 3))):
        text, tokens = join(draw(st.lists(words, min_size=1, max_size=6)))
        opinions = []
        for name in draw(st.lists(st.sampled_from(names), unique=True, max_size=3)):
            cuts = sorted(draw(st.sets(st.integers(0, len(tokens)), max_size=4)))
            kept = [
                Mark(tokens[a][0], tokens[b - 1][1], draw(st.sampled_from(LABELS)))
                for a, b in zip(cuts[::2], cuts[1::2], strict=False)
            ]
            opinions.append(Opinion(name, tuple(kept)))
        if not unseen:
            opinions = [opinion for opinion in opinions if opinion.annotator in names]
        found.append(Document(f"d{number}", text, tuple(opinions), tokens))
    return found


def bare(document: Document) -> Document:
    """A document without its place, its opinions by annotator and their marks in order."""
    opinions = [replace(o, marks=tuple(sorted(o.marks, key=repr))) for o in document.opinions]
    by_name = sorted(opinions, key=lambda opinion: (opinion.annotator, opinion.role))
    return replace(document, where="", source=None, opinions=tuple(by_name))


def round_trip(
    format: DocumentFormat, documents: list[Document], path: Path, **options: Any
) -> tuple[list[Document], Notes]:
    """What comes back from a file, and what was noted on both ways."""
    notes = Notes()
    assert format.write is not None
    write_options = {k: v for k, v in options.items() if k in (format.write_options or {})}
    read_options = {k: v for k, v in options.items() if k in (format.read_options or {})}
    format.write(documents, path, notes, **write_options)
    return [bare(x) for x in format.read(path, notes, **read_options)], notes


def read(format: DocumentFormat, path: Path, **options: Any) -> tuple[list[Document], Notes]:
    """All documents of a file, and what was noted."""
    notes = Notes()
    return list(format.read(path, notes, **options)), notes


def mutations(data: bytes, number: int, seed: int = 7) -> list[bytes]:
    """Damaged copies: bytes changed, cut, doubled, and JSON values exchanged."""
    rng = random.Random(seed)
    found = []
    for _ in range(number):
        copy = bytearray(data)
        kind = rng.randrange(5)
        place = rng.randrange(len(copy))
        if kind == 0:
            copy[place] = rng.randrange(256)
        elif kind == 1:
            del copy[place : place + rng.randrange(1, 40)]
        elif kind == 2:
            copy[place:place] = rng.choice(
                [b'"', b"{", b"]", b"\0", b"\xff", b"[" * 3000, b"9" * 50, b","]
            )
        elif kind == 3:
            copy = copy[:place]
        else:
            changed = _exchanged(data, rng)
            copy = bytearray(changed if changed is not None else data[::-1])
        found.append(bytes(copy))
    return found


_ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    10**30,
    1.5,
    "",
    "\ud800",
    "x",
    [],
    {},
    [[]],
    [None],
    {"a": {}},
    "[",
    float("1e308"),
]


def _exchanged(data: bytes, rng: random.Random) -> bytes | None:
    """A JSON file with one value replaced by something odd."""
    try:
        value = [json.loads(data)]
    except ValueError:
        try:
            value = [json.loads(line) for line in data.splitlines() if line]
        except ValueError:
            return None
    places: list[tuple[Any, Any]] = []
    todo: list[Any] = [value]
    while todo:
        one = todo.pop()
        keys = (
            one.keys()
            if isinstance(one, dict)
            else range(len(one))
            if isinstance(one, list)
            else ()
        )
        for key in keys:
            places.append((one, key))
            todo.append(one[key])
    holder, key = rng.choice(places)
    holder[key] = rng.choice(_ODD)
    return b"\n".join(json.dumps(x).encode() for x in value)


def survives(read: Callable[[], Any], what: str) -> None:
    """Nothing but our own errors, and soon."""
    start = time.monotonic()
    try:
        read()
    except SeqTruthError as error:
        assert str(error)
    took = time.monotonic() - start
    assert took < 1, f"{what} took {took:.1f} s"
