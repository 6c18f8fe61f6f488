"""Figures that stand alone: the report's figures with its colours inside, and pairs of points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

from markupsafe import Markup

from seqtruth.report.figures import Frame, axes, room, svg, ticks, wide, words


@cache
def _style() -> Markup:
    """The report's light colours and its rules for figures."""
    css = resources.files("seqtruth.report").joinpath("page.css").read_text(encoding="utf-8")
    colours = css[css.index(":root") : css.index("}") + 1].replace("color-scheme: light dark;", "")
    rules = [line for line in css.splitlines() if line.startswith(("svg .", "svg text"))]
    own = [
        "svg { font: 11.5px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; }",
        "svg .line.s0 { stroke-width: 2; stroke-opacity: 1; }",
        "svg .title { font-weight: 600; font-size: 13px; }",
        "svg .ring { fill: var(--card); stroke: var(--s1); stroke-width: 2; }",
        "svg .ours { fill: var(--s0); }",
        "svg .gap { stroke: var(--none); stroke-width: 1.5; }",
        "svg .spread { stroke: var(--s0); stroke-width: 5; stroke-opacity: .35; }",
    ]
    return Markup("<style>{}</style>").format(Markup("\n".join([colours, *rules, *own])))


def standalone(body: Markup, width: int, height: int, description: str) -> str:
    """A file of its own from figures nested in one another."""
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" '
        'role="img" aria-label="{2}">{3}<rect width="{0}" height="{1}" fill="#fff"/>'
    )
    return str(
        Markup(head).format(width, height, description, _style()) + body + Markup("</svg>\n")
    )


class Pair(NamedTuple):
    """One system: the paper's figure, ours, and its spread over seeds."""

    name: str
    paper: float | None
    ours: float
    spread: float = 0.0


def pairs(found: Sequence[Pair], across: str, description: str) -> str:
    """A line for each system: a ring where the paper is, a dot where ours is."""
    left = 24 + max(wide(one.name) for one in found)
    width, step, top = round(left) + 460, 22, 36
    height = top + step * len(found) + 52
    values = [v for one in found for v in (one.paper, one.ours) if v is not None]
    xs = ticks(max(min(values) - 1, 0.0), max(values) + 1, 6)
    frame = Frame(left, top, width - 24, height - 48, (xs[0], xs[-1]), (0.0, 1.0))
    body = [axes(frame, xs, [], across, "")]
    for x in xs:
        at, _ = frame.at(x, 0)
        line = '<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>'
        body.insert(0, Markup(line).format(at, frame.top, frame.bottom))
    dot = '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}: {:.2f}</title></circle>'
    bar = '<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>'
    for k, one in enumerate(found):
        y = top + step * (k + 0.5)
        body.append(words(left - 10, y + 4, one.name, "name", "end"))
        ours, _ = frame.at(one.ours, 0)
        if one.paper is not None:
            paper, _ = frame.at(one.paper, 0)
            body.append(Markup(bar).format("gap", paper, ours, y, y))
            body.append(Markup(dot).format("ring", paper, y, 5, f"{one.name}, paper", one.paper))
        if one.spread > 0:
            ends = [frame.at(one.ours + sign * one.spread, 0)[0] for sign in (-1, 1)]
            body.append(Markup(bar).format("spread", *ends, y, y))
        body.append(Markup(dot).format("ours", ours, y, 4, f"{one.name}, ours", one.ours))
    body += [
        Markup('<circle class="ring" cx="{:.1f}" cy="18" r="5"/>').format(left + 6),
        words(left + 18, 22, "paper", "name"),
        Markup('<circle class="ours" cx="{:.1f}" cy="18" r="4"/>').format(left + 76),
        words(left + 88, 22, "ours (bar: spread over seeds)", "name"),
    ]
    return standalone(svg(width, height, description, body), width, height, description)


class Mark(NamedTuple):
    """A named point, ours or the paper's."""

    name: str
    x: float
    y: float
    ours: bool = True


def marks(found: Sequence[Mark], across: str, up: str, description: str) -> str:
    """Points by two figures, on axes that begin near them: a ring is the paper's, a dot ours."""
    width, height = 720, 420
    xs = ticks(min(one.x for one in found), max(one.x for one in found))
    ys = ticks(min(one.y for one in found), max(one.y for one in found))
    frame = Frame(64, 20, width - 90, height - 52, (xs[0], xs[-1]), (ys[0], ys[-1]))
    body = [axes(frame, xs, ys, across, up)]
    dot = '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}: {:.2f}, {:.2f}</title></circle>'
    places = [frame.at(one.x, one.y) for one in found]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in places]
    for one, (x, y) in zip(found, places, strict=True):
        kind, r = ("ours", 4) if one.ours else ("ring", 5)
        body.append(Markup(dot).format(kind, x, y, r, one.name, one.x, one.y))
        if spot := room(one.name, x, y, r, frame._replace(right=width - 24), taken):
            body.append(words(spot[0], spot[1], one.name, "name", spot[2]))
    return standalone(svg(width, height, description, body), width, height, description)


def panels(
    figures: Mapping[str, Markup], description: str, high: int = 360, columns: int = 2
) -> str:
    """Figures of the report's width, so ``high``, beside and below each other, each with its title."""
    wide_, gap = 620, 34
    body = []
    for k, (title, figure) in enumerate(figures.items()):
        x, y = (k % columns) * (wide_ + gap), (k // columns) * (high + gap)
        body.append(words(x + 20, y + 18, title, "title"))
        place = '<svg x="{}" y="{}" width="{}" height="{}" preserveAspectRatio="xMidYMin meet" '
        inner = Markup(place).format(x, y + 26, wide_, high)
        body.append(inner + Markup(str(figure).removeprefix("<svg ")))
    rows = -(-len(figures) // columns)
    across = min(columns, len(figures))
    width, height = across * (wide_ + gap) - gap, rows * (high + gap)
    return standalone(Markup("").join(body), width, height, description)
