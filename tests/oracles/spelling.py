"""Schemes by definition: how spans are spelled, and so which tag sequences can exist at all."""

from __future__ import annotations

from collections.abc import Iterator

SpanList = list[tuple[int, int, str]]


def spell(spans: SpanList, length: int, kind: str) -> list[str]:
    """Spell spans (sorted, disjoint; end exclusive) as tags."""
    tags = ["O"] * length
    for start, end, name in spans:
        tags[start:end] = [f"I-{name}"] * (end - start)
    for start, end, name in spans:
        touches = any(other_end == start and other == name for _, other_end, other in spans)
        if kind == "iob2" or (kind == "iob1" and touches):
            tags[start] = f"B-{name}"
        if kind in ("bioes", "bilou"):
            last, single = ("E", "S") if kind == "bioes" else ("L", "U")
            tags[start], tags[end - 1] = f"B-{name}", f"{last}-{name}"
            if end - start == 1:
                tags[start] = f"{single}-{name}"
    return tags


def all_span_lists(length: int, types: list[str], first: int = 0) -> Iterator[SpanList]:
    """Every set of disjoint typed spans on so many tokens."""
    yield []
    for start in range(first, length):
        for end in range(start + 1, length + 1):
            for name in types:
                for rest in all_span_lists(length, types, end):
                    yield [(start, end, name), *rest]


def merge_touching(spans: SpanList) -> SpanList:
    """What IO can hold: touching spans of one type are one."""
    merged: SpanList = []
    for start, end, name in spans:
        if merged and merged[-1][1] == start and merged[-1][2] == name:
            merged[-1] = (merged[-1][0], end, name)
        else:
            merged.append((start, end, name))
    return merged
