"""Plots of time and memory against size, both axes logarithmic, in the reports' style."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from seqtruth.paper.plots import standalone
from seqtruth.report.figures import Frame, svg, wide, words

#: Colours beyond the reports' five are theirs again, with dashes.
DASHES = ("", "6 3", "2 3", "9 3 2 3")
COLOURS = 5
Line = Sequence[tuple[float, float]]


def loglog(series: Mapping[str, Line], across: str, up: str, description: str) -> str:
    """One line for each system, named at its end, over powers of ten."""
    points = [point for line in series.values() for point in line]
    x, y = (_powers([point[axis] for point in points]) for axis in (0, 1))
    widest = max(wide(name) for name in series)
    width, height = 560 + round(widest), 460
    frame = Frame(64, 14, width - 24 - widest, height - 48, x, y)
    body = [_grid(frame, across, up)]
    ends = []
    for k, (name, line) in enumerate(series.items()):
        dots = [frame.at(math.log10(a), math.log10(b)) for a, b in sorted(line)]
        dash = DASHES[k // COLOURS % len(DASHES)]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in dots)
        form = '<polyline class="line s{}" stroke-dasharray="{}" points="{}"/>'
        body.append(Markup(form).format(k % COLOURS, dash, path))
        knot = '<circle class="knot s{}" cx="{:.1f}" cy="{:.1f}" r="3"><title>{}: {:.4g}</title>'
        for (a, b), (_, value) in zip(dots, sorted(line), strict=True):
            body.append(Markup(knot + "</circle>").format(k % COLOURS, a, b, name, value))
        ends.append((dots[-1][1], name, k))
    places = _apart([end[0] for end in sorted(ends)], frame.top + 6, frame.bottom)
    for place, (_, name, k) in zip(places, sorted(ends), strict=True):
        body.append(words(frame.right + 10, place + 4, name, f"name s{k % COLOURS}"))
    return standalone(svg(width, height, description, body), width, height, description)


def _powers(values: Sequence[float]) -> tuple[float, float]:
    """Powers of ten around the values; a size of a little more than 1e8 is 1e8."""
    low = math.floor(math.log10(min(values)) + 0.03)
    high = math.ceil(math.log10(max(values)) - 0.03)
    return float(low), float(max(high, low + 1))


def _grid(frame: Frame, across: str, up: str) -> Markup:
    parts = []
    rule = '<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>'
    for k in range(int(frame.y[0]), int(frame.y[1]) + 1):
        _, at = frame.at(frame.x[0], k)
        parts.append(Markup(rule).format("grid", frame.left, frame.right, at, at))
        parts.append(words(frame.left - 7, at + 4, _power(k), "tick", "end"))
    for k in range(int(frame.x[0]), int(frame.x[1]) + 1):
        at, _ = frame.at(k, frame.y[0])
        parts.append(Markup(rule).format("grid", at, at, frame.top, frame.bottom))
        parts.append(words(at, frame.bottom + 17, _power(k), "tick", "middle"))
    middle = (frame.left + frame.right) / 2
    parts.append(words(middle, frame.bottom + 38, across, "label", "middle"))
    turned = (
        '<text class="label" text-anchor="middle" '
        'transform="translate(13 {:.1f}) rotate(-90)">{}</text>'
    )
    parts.append(Markup(turned).format((frame.top + frame.bottom) / 2, up))
    return Markup("").join(parts)


def _power(k: int) -> str:
    """A power of ten as a tick.

    >>> _power(-2), _power(0), _power(6)
    ('0.01', '1', '10⁶')
    """
    if -3 <= k <= 3:
        return f"{10.0**k:.3f}".rstrip("0").rstrip(".") if k < 0 else f"{10**k:,}"
    return "10" + str(k).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _apart(places: Sequence[float], top: float, bottom: float, gap: float = 14.0) -> list[float]:
    """Ascending places, pushed apart and kept between two heights where they fit."""
    out: list[float] = []
    for place in places:
        out.append(max(place, out[-1] + gap) if out else max(place, top))
    limit = bottom
    for k in range(len(out) - 1, -1, -1):
        out[k] = min(out[k], limit)
        limit = out[k] - gap
    return out
