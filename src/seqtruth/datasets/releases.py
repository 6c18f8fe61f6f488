"""Finding sentences again that somebody released without their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

#: A sentence: its id (``document#place``) and its tokens.
Sentence = tuple[str, Sequence[str]]


def match_sentences(
    texts: Sequence[Sequence[str]], sentences: Sequence[Sentence]
) -> list[str | None]:
    """Ids of the sentences that somebody released without ids.

    A release has whole documents one after the other, each with some of its sentences in order. So a
    sentence is looked for further down in the document of the one before; failing that, in the document
    in which the longest run of what follows can be found. Between equals, a document that no longer run
    has claimed goes first. None where a sentence is in no document.
    """
    index: dict[tuple[str, ...], list[tuple[str, int]]] = {}
    for name, tokens in sentences:
        doc, _, place = name.rpartition("#")
        index.setdefault(tuple(tokens), []).append((doc, int(place)))
    found = [index.get(tuple(text), []) for text in texts]
    claimed = Counter(doc for doc, _ in _follow(found, {}) if doc)
    return [f"{doc}#{place}" if doc else None for doc, place in _follow(found, claimed)]


def _follow(
    found: Sequence[Sequence[tuple[str, int]]], claimed: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    doc, last = "", -1
    used: set[tuple[str, int]] = set()
    for here, places in enumerate(found):
        free = [place for place in places if place not in used]
        onward = [place for place in free if place[0] == doc and place[1] > last]
        if not free:
            yield "", -1
            continue
        doc, last = onward[0] if onward else max(free, key=_ranking(found, here, claimed))
        used.add((doc, last))
        yield doc, last


def _ranking(
    found: Sequence[Sequence[tuple[str, int]]], here: int, claimed: Mapping[str, int]
) -> Callable[[tuple[str, int]], tuple[int, int]]:
    """Longer runs first, then documents that others claim less."""

    def rank(place: tuple[str, int]) -> tuple[int, int]:
        doc, last, length = place[0], place[1] - 1, 0
        for places in found[here:]:
            onward = [n for name, n in places if name == doc and n > last]
            if not onward:
                break
            last, length = onward[0], length + 1
        return length, -claimed.get(doc, 0)

    return rank
