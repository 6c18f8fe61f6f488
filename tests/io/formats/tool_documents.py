"""Documents and damage for the tests of annotation tools' formats."""

from __future__ import annotations

import copy
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from seqtruth.errors import SeqTruthError
from seqtruth.io.documents import Document, Mark, Notes, Opinion

FIXTURES = Path(
    os.environ.get("SEQTRUTH_FIXTURES", Path(__file__).parents[4] / "shared" / "fixtures")
)
needs_fixtures = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason=f"no folder of tools' files at {FIXTURES} (set SEQTRUTH_FIXTURES)"
)
SCRIPTS = (
    "Jane Doe lives here.",
    "علي في القاهرة",
    "張三在北京。",
    "สมชายอยู่กรุงเทพ",
    "👩‍👩‍👧 met 👨🏽‍🚀",
    "é à́ ñ",
    "𝔘𝔫𝔦 𐍈",
    "line\r\nline\n",
    "  blanks  ",
    "\ttab",
    "“quotes” \\ \" '",
    "नमस्ते दुनिया",
    "=SUM(A1)",
    "a,b;c",
)
TEXTS = st.lists(
    st.sampled_from(SCRIPTS)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
    min_size=1,
    max_size=4,
).map("".join)
NAMES = st.sampled_from(["ann", "bob@example.org", "José", "用户", "a b", "7"])
LABELS = st.sampled_from(["PER", "LOC", "B-ORG", "日期", "a b", "O", "x/y,z"])
IDS = st.sampled_from(["d1", "12", "a/b", "007", "été", "x" * 20])
SCORES = st.none() | st.floats(0, 1).map(lambda value: round(value, 6))


@st.composite
def documents(
    draw: st.DrawFn,
    roles: tuple[str, ...] = ("annotator",),
    scores: tuple[str, ...] = (),
    names: st.SearchStrategy[str] = NAMES,
    ids: st.SearchStrategy[str] = IDS,
    texts: st.SearchStrategy[str] = TEXTS,
    opinions: int = 3,
) -> list[Document]:
    """Some documents; of ``scores``, those roles have scores on marks."""
    made = []
    for name in draw(st.lists(ids, unique=True, min_size=1, max_size=4)):
        text = draw(texts)
        given = []
        for annotator in draw(st.lists(names, unique=True, max_size=opinions)):
            role = draw(st.sampled_from(roles))
            borders = st.integers(0, len(text))
            marks = []
            for _ in range(draw(st.integers(0, 4)) if text else 0):
                start, end = sorted((draw(borders), draw(borders)))
                score = draw(SCORES) if role in scores else None
                if start < end:
                    marks.append(Mark(start, end, draw(LABELS), score=score))
            given.append(Opinion(annotator, tuple(marks), role=role))
        made.append(Document(name, text, tuple(given)))
    return made


def facts(made: list[Document]) -> list[Any]:
    """What must come back, whatever the order of opinions and marks."""
    return [
        (
            one.id,
            one.text,
            sorted((o.annotator, o.role, sorted(o.marks, key=str)) for o in one.opinions),
        )
        for one in made
    ]


def round_trip(
    format_: Any,
    made: list[Document],
    path: Path,
    read: dict[str, Any] | None = None,
    **options: Any,
) -> list[Document]:
    format_.write(made, path, Notes(), **options)
    return list(format_.read(path, Notes(), **(read or {})))


def check_damage(
    read: Callable[..., Iterator[Document]], good: bytes, path: Path, times: int, **options: Any
) -> None:
    """Damage a good file in many ways: it is read or refused, quickly, and never more than that."""
    chance = random.Random(0)
    value = _parsed(good)
    for number in range(times):
        if number % 2 and value is not None:
            data = json.dumps(_damaged(value, chance)).encode()
        else:
            data = _damaged_bytes(good, chance)
        path.write_bytes(data)
        start = time.process_time()
        try:
            for document in read(path, Notes(), **options):
                for opinion in document.opinions:
                    for mark in opinion.marks:
                        assert 0 <= mark.start < mark.end <= len(document.text)
        except SeqTruthError:
            pass
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error} on {data!r}") from error
        assert time.process_time() - start < 1


def _parsed(good: bytes) -> Any:
    """The values of the file; None where it is not JSON."""
    try:
        return json.loads(good)
    except ValueError:
        lines = [line for line in good.splitlines() if line.strip()]
        return [json.loads(line) for line in lines] if good[:1] == b"{" else None


def _damaged_bytes(good: bytes, chance: random.Random) -> bytes:
    data = bytearray(good)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(data) or 1)
        kind = chance.randrange(5)
        if kind == 0:
            data[place : place + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            del data[place : place + chance.randint(1, 30)]
        elif kind == 2:
            data[place:place] = data[place : place + chance.randint(1, 30)]
        elif kind == 3:
            data[place:place] = chance.choice(
                [b"{", b"[", b'"', b"]", b"}", b",", b"null", b"\0", b"\\"]
            )
        else:
            del data[place:]
    return bytes(data)


ODD = (
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    {},
    [[]],
    {"a": {}},
    [None],
    "1" * 50,
    float("nan"),
)


def _damaged(value: Any, chance: random.Random) -> Any:
    """A copy with one or two values replaced, removed or moved."""
    value = json.loads(json.dumps(value))
    for _ in range(chance.randint(1, 2)):
        holders: list[Any] = []
        waiting = [value]
        while waiting:
            held = waiting.pop()
            if isinstance(held, dict | list) and held:
                holders.append(held)
                waiting.extend(held.values() if isinstance(held, dict) else held)
        if not holders:
            return chance.choice(ODD)
        holder = chance.choice(holders)
        key = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        if chance.random() < 0.2:
            del holder[key]
        elif chance.random() < 0.2 and isinstance(holder, dict):
            holder[chance.choice(list(holder))] = holder[key]
        else:
            holder[key] = copy.deepcopy(chance.choice(ODD))
    return value
