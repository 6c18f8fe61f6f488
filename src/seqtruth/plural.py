"""Numbers with their nouns."""

from __future__ import annotations


def count(n: int, word: str) -> str:
    """``1 sentence``, ``2 sentences``."""
    return f"{n:,} {word}{'' if n == 1 else 's'}"
