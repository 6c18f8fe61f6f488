"""Marks that overlap, nest or lie on top of each other: put on layers, so that none is dropped.

A sequence of tags holds one mark a token. Labels that meet on one stretch of text in anybody's marks are
therefore put on different layers: each layer is a sequence of its own, with labels that never meet. Labels
that never meet stay together, so that a disagreement between two of them is still seen as one. A mark inside
another one of the same label goes to a further layer.

Formally the labels (with their depth, for those that nest in themselves) are the nodes of a graph, its edges
are the pairs that meet, and the layers are a greedy colouring, the most frequent label first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.tokens import trimmed

OVERLAPS = ("layers", "longest", "error")
#: More marks than this on one character are an accident, and would make as many layers.
MAX_LAYERS = 50
#: A layer with more labels than this is named by its number.
_NAMED = 3


class Node(NamedTuple):
    """A label, and how deep inside itself."""

    label: str
    depth: int


class Placed(NamedTuple):
    """A mark with the number of its node."""

    mark: Mark
    node: int


def tidy(document: Document, opinion: Opinion, notes: Notes) -> list[Mark]:
    """An opinion's marks in reading order, outer ones first, each once and without blanks at its edges.

    Marks that say nothing (outside the text, over blanks only, without a label) are counted in ``notes``.
    """
    text, where = document.text, document.where or document.id
    found: dict[tuple[int, int, str, object], Mark] = {}
    for mark in opinion.marks:
        if not 0 <= mark.start < mark.end <= len(text):
            notes.left_out("mark outside the text, or empty", where)
            continue
        start, end = trimmed(text, mark.start, mark.end)
        if start == end:
            notes.left_out("mark over white space only", where)
            continue
        if not mark.label:
            notes.left_out("mark without a label", where)
            continue
        pieces = _pieces(text, mark)
        if pieces:
            start, end = pieces[0][0], pieces[-1][1]
        clean = Mark(start, end, mark.label, pieces if len(pieces) > 1 else (), mark.score)
        key = (start, end, mark.label, clean.pieces)
        if key in found:
            notes.left_out("repeat of a mark", where)
        found[key] = clean
    return sorted(found.values(), key=lambda mark: (mark.start, -mark.end, mark.label, mark.pieces))


def _pieces(text: str, mark: Mark) -> tuple[tuple[int, int], ...]:
    """Pieces in order, trimmed, inside the text; touching and overlapping ones joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(mark.pieces):
        start, end = trimmed(text, max(0, start), min(end, len(text)))
        if start >= end:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)


@dataclass
class Overlaps:
    """Which labels meet; filled opinion by opinion, and then asked for layers.

    Parameters
    ----------
    policy : ``"layers"``, ``"longest"`` (of marks that overlap the longest stays) or ``"error"``.
    """

    policy: str = "layers"
    nodes: dict[Node, int] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)
    meetings: Counter[tuple[int, int]] = field(default_factory=Counter)
    first: str = ""
    _flat: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.policy not in OVERLAPS:
            raise ParameterError(
                f"overlap must be one of {', '.join(OVERLAPS)}", got=repr(self.policy)
            )

    def place(
        self, marks: list[Mark], where: str, who: str, notes: Notes
    ) -> list[tuple[Mark, int]]:
        """One opinion's marks (in order, as :func:`tidy` gives them) with their nodes."""
        if self.policy == "longest":
            marks = _longest(marks, where, notes)
        placed: list[tuple[Mark, int]] = []
        active: list[Placed] = []
        for mark in marks:
            active = [other for other in active if other.mark.end > mark.start]
            if active and self.policy == "error":
                raise _overlap(active[-1].mark, mark, where, who)
            if len(active) >= MAX_LAYERS:
                raise InputError(
                    f"annotator {who!r} has more than {MAX_LAYERS} marks on one place", where=where,
                    fix='clean the file, or keep the longest marks with overlap="longest"',
                )  # fmt: skip
            taken = {other.node for other in active}
            node, depth = -1, 0
            while node < 0 or node in taken:
                node = self.nodes.setdefault(Node(mark.label, depth), len(self.nodes))
                depth += 1
            for other in taken:
                self.meetings[min(node, other), max(node, other)] += 1
                self.first = self.first or where
            self.counts[node] += 1
            placed.append((mark, node))
            active.append(Placed(mark, node))
        return placed

    def flat(
        self, number: int, text: str, marks: tuple[Mark, ...]
    ) -> list[tuple[int, int, int, int]] | None:
        """As :func:`tidy` and :meth:`place`, where there is nothing to tidy and no two meet; else None.

        Most opinions are so, and this is what they wait for: (number, start, end, node) of each mark. Nodes
        are counted by whoever asks, many at once.
        """
        try:
            ordered = sorted(marks)
        except TypeError:  # two that are the same but for the score
            return None
        placed, nodes, length, reached = [], self._flat, len(text), 0
        for start, end, label, pieces, _ in ordered:
            if pieces or not reached <= start < end <= length or not label:
                return None
            if text[start].isspace() or text[end - 1].isspace():
                return None
            reached = end
            node = nodes.get(label)
            placed.append((number, start, end, self.node(label) if node is None else node))
        return placed

    def node(self, label: str) -> int:
        """The number of a label where it meets nothing."""
        found = self.nodes.setdefault(Node(label, 0), len(self.nodes))
        self._flat[label] = found
        return found

    def layers(self) -> tuple[tuple[str, ...], list[int]]:
        """Names of the layers, and the layer of each node."""
        neighbours: dict[int, set[int]] = {}
        for a, b in self.meetings:
            neighbours.setdefault(a, set()).add(b)
            neighbours.setdefault(b, set()).add(a)
        of = [-1] * len(self.nodes)
        names = list(self.nodes)
        for node in sorted(
            range(len(names)), key=lambda n: (names[n].depth, -self.counts[n], names[n])
        ):
            taken = {of[other] for other in neighbours.get(node, ())}
            layer = 0
            while layer in taken:
                layer += 1
            of[node] = layer
        n_layers = max(of, default=0) + 1
        members = [sorted(names[n] for n in range(len(of)) if of[n] == k) for k in range(n_layers)]
        return ("", *(_name(k, members[k]) for k in range(1, n_layers))), of

    def describe(self) -> str:
        """What was done about overlaps, in a sentence; empty where there were none."""
        if not self.meetings:
            return ""
        names, of = self.layers()
        nodes = list(self.nodes)
        groups = [
            ", ".join(dict.fromkeys(nodes[n].label for n in range(len(of)) if of[n] == k))
            for k in range(len(names))
        ]
        total = sum(self.meetings.values())
        return (
            f"{total:,} overlapping pairs of marks (first at {self.first}) put on {len(names)} layers: "
            + " | ".join(group if len(group) <= 80 else group[:79] + "…" for group in groups)
        )


def _name(number: int, members: list[Node]) -> str:
    words = [f"{node.label}/{node.depth + 1}" if node.depth else node.label for node in members]
    return "+".join(words) if len(words) <= _NAMED else f"layer {number + 1}"


def _longest(marks: list[Mark], where: str, notes: Notes) -> list[Mark]:
    """Marks that do not overlap: longer ones first, of equal ones the first."""
    kept: list[Mark] = []
    starts: list[int] = []
    for mark in sorted(marks, key=lambda mark: (mark.start - mark.end, mark.start, mark.label)):
        place = bisect_right(starts, mark.start)
        before = place > 0 and kept[place - 1].end > mark.start
        if before or (place < len(kept) and kept[place].start < mark.end):
            notes.left_out("mark that overlaps a longer one", where)
            continue
        kept.insert(place, mark)
        starts.insert(place, mark.start)
    return kept


def _overlap(one: Mark, two: Mark, where: str, who: str) -> InputError:
    return InputError(
        f"annotator {who!r}: two spans overlap", where=where,
        got=f"{one.start} to {one.end} {one.label!r} and {two.start} to {two.end} {two.label!r}",
        fix='keep one of them, or read them with overlap="layers"',
    )  # fmt: skip
