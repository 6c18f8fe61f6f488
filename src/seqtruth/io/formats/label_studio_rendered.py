"""Label Studio's marks in a rendered page (``<HyperText>``) or a dialogue (``<Paragraphs>``).

A page's data is HTML, its text what a browser shows of it. A mark names text nodes by XPath
(``/p[1]/b[1]/text()[1]``) with an offset in each, and in newer versions also ``globalOffsets``, which count
in the whole text. A dialogue is a list of ``{"author": ..., "text": ...}``, of which a mark names paragraphs
by number; its text is the paragraphs, a line each.

A browser's reading of broken HTML is its own, so the text that a mark quotes decides: offsets that do not
lead there are passed over, and a quote that stands in the text once is found without them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from html.parser import HTMLParser
from typing import Any, Literal, NamedTuple

from seqtruth.io.formats.checked_values import whole_of

Kind = Literal["html", "paragraphs"]
#: Elements that hold nothing.
_EMPTY = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
)
_HIDDEN = frozenset(("script", "style", "head", "title"))


class Node(NamedTuple):
    """A piece of the rendered text: its name for the tool, and where it begins."""

    path: str
    start: int


class Rendered:
    """What is shown, and the pieces it is made of."""

    def __init__(self, kind: Kind, text: str, nodes: list[Node]) -> None:
        self.kind, self.text, self.nodes = kind, text, nodes
        self._starts = [node.start for node in nodes]
        self._places = {node.path: node.start for node in nodes}

    def place(self, value: dict[str, Any]) -> tuple[int, int] | None:
        """Where a mark stands; None where it cannot be found."""
        said = value.get("text") if isinstance(value.get("text"), str) else None
        found = [self._by_global_offsets(value), self._by_nodes(value)]
        for one in found:
            if one is not None and self._holds(one, said):
                return one
        if said and self.text.count(said) == 1:
            start = self.text.index(said)
            return start, start + len(said)
        return None

    def _by_global_offsets(self, value: dict[str, Any]) -> tuple[int, int] | None:
        offsets = value.get("globalOffsets")
        if not isinstance(offsets, dict):
            return None
        start, end = whole_of(offsets.get("start")), whole_of(offsets.get("end"))
        return None if start is None or end is None else (start, end)

    def _by_nodes(self, value: dict[str, Any]) -> tuple[int, int] | None:
        places = []
        for node, offset in (("start", "startOffset"), ("end", "endOffset")):
            start = self._places.get(str(value.get(node)))
            count = whole_of(value.get(offset))
            if start is None or count is None:
                return None
            places.append(start + count)
        return places[0], places[1]

    def _holds(self, place: tuple[int, int], said: str | None) -> bool:
        start, end = place
        inside = 0 <= start < end <= len(self.text)
        return inside and (said is None or said.split() == self.text[start:end].split())

    def value(self, start: int, end: int) -> dict[str, Any]:
        """A mark as the tool writes it, without its label."""
        first = self.nodes[bisect_right(self._starts, start) - 1]
        last = self.nodes[bisect_right(self._starts, end - 1) - 1]
        value: dict[str, Any] = {
            "start": first.path, "end": last.path,
            "startOffset": start - first.start, "endOffset": end - last.start,
            "text": self.text[start:end],
        }  # fmt: skip
        if self.kind == "html":
            value["globalOffsets"] = {"start": start, "end": end}
        return value


def rendered(data: object) -> Rendered | None:
    """A page or a dialogue as it is shown; None where it is neither."""
    if isinstance(data, str):
        page = _Page()
        page.feed(data)
        page.close()
        return Rendered("html", "".join(page.parts), page.nodes)
    if isinstance(data, list) and data and all(map(_is_paragraph, data)):
        parts: list[str] = []
        nodes: list[Node] = []
        length = 0
        for number, paragraph in enumerate(data):
            text = _paragraph_text(paragraph)
            nodes.append(Node(str(number), length))
            parts.append(text)
            length += len(text) + 1
        return Rendered("paragraphs", "\n".join(parts), nodes)
    return None


def _is_paragraph(value: object) -> bool:
    return isinstance(value, dict) and any(isinstance(one, str) for one in value.values())


def _paragraph_text(value: dict[str, Any]) -> str:
    """What is said: under ``text``, or the longest text there is."""
    if isinstance(value.get("text"), str):
        return str(value["text"])
    return max((one for one in value.values() if isinstance(one, str)), key=len)


class _Page(HTMLParser):
    """Collects text nodes with their XPaths."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.nodes: list[Node] = []
        self._length = 0
        self._open: list[tuple[str, str, Counter[str]]] = [("", "", Counter())]

    def handle_starttag(self, tag: str, attrs: object) -> None:
        _, path, counts = self._open[-1]
        counts[tag] += 1
        if tag not in _EMPTY and len(self._open) < 1000:
            self._open.append((tag, f"{path}/{tag}[{counts[tag]}]", Counter()))

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self._open[-1][2][tag] += 1

    def handle_endtag(self, tag: str) -> None:
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth][0] == tag:
                del self._open[depth:]
                return

    def handle_data(self, data: str) -> None:
        tag, path, counts = self._open[-1]
        counts["text()"] += 1
        if tag not in _HIDDEN:
            self.nodes.append(Node(f"{path}/text()[{counts['text()']}]", self._length))
            self.parts.append(data)
            self._length += len(data)
