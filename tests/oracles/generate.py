"""Hypothesis strategies for tags and spans, and the shortest way from lists to labellings."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from oracles.spelling import SpanList
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling

# a busy machine may be slow
settings.register_profile("compiled", deadline=None, max_examples=40)
settings.load_profile("compiled")

KINDS = ("io", "iob1", "iob2", "bioes", "bilou")
LETTERS = {"io": "I", "iob1": "BI", "iob2": "BI", "bioes": "BIES", "bilou": "BILU"}
TYPES = ("LOC", "PER")

Tags = list[list[str]]


def tags(kind: str) -> st.SearchStrategy[str]:
    """One tag, legal or not where it will stand; among plain tags O is one like the others."""
    if kind == "plain":
        return st.sampled_from(["DET", "NOUN", "O", "VERB"])
    return st.sampled_from(["O"] + [f"{p}-{t}" for p in LETTERS[kind] for t in TYPES])


def columns(kind: str, n: int = 2) -> st.SearchStrategy[list[list[tuple[str, ...]]]]:
    """Sentences of tokens with n tags each."""
    token = st.tuples(*(tags(kind) for _ in range(n)))
    return st.lists(st.lists(token, max_size=7), max_size=4)


def column(sentences: list[list[tuple[str, ...]]], i: int) -> Tags:
    return [[token[i] for token in sentence] for sentence in sentences]


@st.composite
def span_lists(draw: st.DrawFn, length: int) -> SpanList:
    spans, at = [], 0
    while at < length:
        size = draw(st.integers(0, min(3, length - at)))
        if size:
            spans.append((at, at + size, draw(st.sampled_from(TYPES))))
        at += max(1, size)
    return spans


@st.composite
def spanned_sentences(draw: st.DrawFn) -> list[tuple[int, SpanList]]:
    """Sentences as (length, spans)."""
    lengths = draw(st.lists(st.integers(0, 7), max_size=4))
    return [(length, draw(span_lists(length))) for length in lengths]


def crowd_of(annotations: dict[str, list[list[str] | None]], kind: str | None = None) -> Crowd:
    """A crowd on made-up tokens."""
    rows = list(annotations.values())
    lengths = [
        max((len(row[s]) for row in rows if row[s] is not None), default=0)
        for s in range(len(rows[0]))
    ]
    return Crowd.of(annotations, [["x"] * n for n in lengths], scheme=kind)


def both(result: Tags, gold: Tags, kind: str | None = None) -> tuple[Labelling, Labelling]:
    """Two aligned labellings."""
    crowd = crowd_of({"result": list(result), "gold": list(gold)}, kind)
    return crowd.labelling(0), crowd.labelling(1)
