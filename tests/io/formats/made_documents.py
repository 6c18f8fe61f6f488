# ruff: noqa: E501 (the lines of files are kept whole)
"""Documents made by Hypothesis, in many scripts, and the little that tests of formats share."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterable
from pathlib import Path

from hypothesis import strategies as st

from seqtruth.errors import SeqTruthError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import DocumentFormat

FIXTURES = Path(
    os.environ.get("SEQTRUTH_FIXTURES", Path(__file__).resolve().parents[4] / "shared" / "fixtures")
)

PIECES = [
    "Alice", "went", "to", "München", "نَحْنُ", "في", "北京大学", "กรุงเทพ", "हिन्दी", "👨‍👩‍👧", "👍🏽", "🇩🇪", "e\u0301a", "𝒳𝒴",
    "שלום", "각", ".", ",", "'", '"', "<b>", "&amp;", "]]>", "a_b", "|", "[1]", "\\", "*", "->", "#Text=", ";", "%2F",
    " ", "  ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "\ufeffx",
]  # fmt: skip

texts = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), max_size=4),
    ),
    max_size=14,
).map("".join)
labels = st.sampled_from(
    ["PER", "LOC", "a_b", "größe", "PERSON", "x|y[1]", "*", "_", "\\t", "B-X", "名", "ORG;->"]
)
names = st.sampled_from(["anna", "bob", "Zoë", "user 1", "d.e", "x/y", "陳"])


@st.composite
def marks(draw: st.DrawFn, text: str, pieces: bool, label: st.SearchStrategy[str]) -> Mark:
    start = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(start + 1, len(text)))
    if pieces and end - start > 2 and draw(st.booleans()):
        first = draw(st.integers(start + 1, end - 2))
        second = draw(st.integers(first + 1, end - 1))
        return Mark(start, end, draw(label), ((start, first), (second, end)))
    return Mark(start, end, draw(label))


@st.composite
def documents(
    draw: st.DrawFn,
    pieces: bool = False,
    label: st.SearchStrategy[str] = labels,
    annotators: int = 3,
    text: st.SearchStrategy[str] = texts,
) -> list[Document]:
    """A few documents; annotators may miss some of them, or have marked nothing."""
    made = []
    who = draw(st.lists(names, min_size=1, max_size=annotators, unique=True))
    for i in range(draw(st.integers(1, 3))):
        content = draw(text)
        opinions = []
        for name in who:
            if draw(st.integers(0, 3)):
                own = (
                    st.lists(marks(content, pieces, label), max_size=4) if content else st.just([])
                )
                opinions.append(Opinion(name, tuple(sorted(draw(own)))))
        id = draw(st.sampled_from(["doc", "a/b", "näme.txt", "x y"])) + str(i)
        made.append(Document(id, content, tuple(opinions)))
    return made


def plain(documents: Iterable[Document]) -> list[tuple[object, ...]]:
    """What a round trip must keep: ids, texts, and who marked what, in any order."""
    return sorted(
        (d.id, d.text, tuple(sorted((o.annotator, tuple(sorted(o.marks))) for o in d.opinions)))
        for d in documents
    )


def round_trip(
    format: DocumentFormat, made: list[Document], path: Path, write: dict[str, object] | None = None,
    **read: object,
) -> list[Document]:  # fmt: skip
    """Written and read back; writing again what was read gives the same bytes."""
    assert format.write is not None
    format.write(made, path, Notes(), **(write or {}))
    return list(format.read(path, Notes(), **read))


def faults(format: DocumentFormat, path: Path, **options: object) -> str | None:
    """What a file is refused for; None where it is read. Any other exception is a failure."""
    try:
        list(format.read(path, Notes(), **options))
    except SeqTruthError as error:
        return str(error)
    return None


def mutated(data: bytes, seed: int) -> bytes:
    """The bytes with a few of them changed, taken out, doubled or put in."""
    rng = random.Random(seed)
    out = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        i = rng.randrange(len(out) + 1)
        j = min(len(out), i + rng.randint(0, 20))
        kind = rng.randrange(5)
        if kind == 0:
            out[i:j] = b""
        elif kind == 1:
            out[i:i] = out[i:j]
        elif kind == 2:
            out[i : i + 1] = bytes([rng.randrange(256)])
        elif kind == 3:
            out[i:i] = rng.choice(
                [
                    b"-1",
                    b"999999999999",
                    b"\t",
                    b"\n",
                    b'"',
                    b"<",
                    b"\xff",
                    b"[",
                    b"{}",
                    b"\\",
                    b"null",
                ]
            )
        else:
            k = rng.randrange(len(out) + 1)
            out[i:j], out[k:k] = b"", out[i:j]
    return bytes(out)


def mutated_json(value: object, seed: int) -> bytes:
    """JSON with one or two values replaced by others of any type, or taken out."""
    rng = random.Random(seed)
    value = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 3)):
        places: list[tuple[object, object]] = []
        _walk(value, places.append)
        if places:
            holder, key = rng.choice(places)
            if rng.random() < 0.2:
                del holder[key]  # type: ignore[attr-defined]
            else:
                holder[key] = rng.choice(
                    [None, -1, 1e9, "x", "", [], {}, [[]], True, 10**30, "\ud800", {"a": 1}]
                )  # type: ignore[index]
    return json.dumps(value).encode()


def _walk(value: object, found: Callable[[tuple[object, object]], None]) -> None:
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in list(items):
        found((value, key))
        _walk(inner, found)
