"""Figures as SVG text: scatter of names, histogram, reliability, lines; coloured by the page's CSS."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from seqtruth.metrics import Reliability

SERIES = 5


class Point(NamedTuple):
    """A named point; ``size`` from 0 to 1."""

    name: str
    x: float
    y: float
    size: float = 0.5


class Range(NamedTuple):
    """A named value with its interval; nan where there is none."""

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan


class Frame(NamedTuple):
    """A drawing area and the values at its edges."""

    left: float
    top: float
    right: float
    bottom: float
    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1.0)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1.0)
        return (
            self.left + across * (self.right - self.left),
            self.bottom - up * (self.bottom - self.top),
        )


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers that span the range.

    >>> ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high - low > 1e-9 * max(abs(low), abs(high), 1e-9):
        pad = max(abs(low) * 0.1, 1e-6) if low else 1.0
        low, high = low - pad, low + pad
    raw = (high - low) / about
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * m for m in (1, 2, 2.5, 5, 10) if size * m >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{k * step:.12g}") + 0.0 for k in range(first, last + 1)]


def number(value: float) -> str:
    """A tick's text.

    >>> [number(v) for v in (0.25, 12500.0, 3e9, -2.0)]
    ['0.25', '12,500', '3e+09', '−2']
    """
    if value and not 1e-4 <= abs(value) < 1e7:
        text = f"{value:.3g}"
    else:
        text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return text.replace("-", "−") if not text.count("e") else text


def wide(text: str) -> float:
    """Roughly the width of a text in a figure's units, rather too much than too little."""
    return sum(
        8.2 if c.isupper() or ord(c) > 0x2E80 else 4.6 if c in "-.,:;|!il " else 7.1 for c in text
    )


def scatter(points: Sequence[Point], across: str, up: str, description: str) -> Markup:
    """Points with as many of their names as fit without touching."""
    width, height = 620, 360
    xs = ticks(min([0.0, *(p.x for p in points)]), max([*(p.x for p in points), 1e-9]))
    pad = 0.03 * (xs[-1] - xs[0])
    frame = Frame(58, 10, width - 20, height - 48, (xs[0] - pad, xs[-1] + pad), (-0.05, 1.04))
    body = [axes(frame, xs, ticks(0, 1), across, up)]
    taken: list[tuple[float, float, float, float]] = []
    places = []
    for point in points:
        x, y = frame.at(point.x, point.y)
        r = 3.5 + 4.5 * math.sqrt(point.size)
        places.append((point, x, y, r))
        taken.append((x - r, y - r, x + r, y + r))
    names = []
    short = _without_domains([point.name for point in points])
    for (point, x, y, r), name in zip(places, short, strict=True):
        text = f"{point.name}: {up.lower()} {point.y:.2f}, {across.lower()} {point.x:.3g}"
        body.append(
            Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>{}</title></circle>')
            .format(x, y, r, text)
        )  # fmt: skip
        shown = name if len(name) <= 18 else name[:17] + "…"
        if spot := room(shown, x, y, r, frame, taken):
            names.append(words(spot[0], spot[1], shown, "name", spot[2]))
    return svg(width, height, description, [*body, *names])


def histogram(values: npt.NDArray[np.float64], across: str, up: str, description: str) -> Markup:
    """Twenty bars over 0..1 with their counts."""
    width, height = 620, 260
    counts, _ = np.histogram(np.clip(values, 0, 1), bins=20, range=(0, 1))
    ys = ticks(0, max(int(counts.max(initial=0)), 1) * 1.08)
    ys = [y for y in ys if y == int(y)]
    frame = Frame(_beside(ys), 14, width - 20, height - 48, (0.0, 1.0), (0.0, ys[-1]))
    body = [axes(frame, [k / 10 for k in range(11)], ys, across, up)]
    for k, count in enumerate(counts.tolist()):
        body += _bar(frame, (k / 20, (k + 1) / 20), count, count, f"{count:,}")
    return svg(width, height, description, body)


def reliability_diagram(curve: Reliability, across: str, up: str, description: str) -> Markup:
    """What is right in each bin of confidence, against the line where the two are the same."""
    width, height = 620, 340
    frame = Frame(58, 18, width - 20, height - 48, (0.0, 1.0), (0.0, 1.0))
    tens = [k / 10 for k in range(11)]
    body = [axes(frame, tens, tens[::2], across, up)]
    columns = (curve.low, curve.high, curve.accuracy, curve.count, curve.confidence)
    counts = []
    for low, high, right, n, sure in zip(*(column.tolist() for column in columns), strict=True):
        told = f"{n:,}, {right:.2f} right, confidence {sure:.2f}"
        bar, *count = _bar(frame, (low, high), right, n, told)
        body.append(bar)
        counts += count
    line = '<line class="honest" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
    body.append(Markup(line).format(*frame.at(0, 0), *frame.at(1, 1)))
    return svg(width, height, description, [*body, *counts])


def ranges(rows: Sequence[Range], across: str, description: str) -> Markup:
    """One dot a row with its interval, its name above it, over 0 to 1 (and below, where a value is)."""
    width, step = 460, 42
    height = 40 + step * len(rows)
    known = [v for row in rows for v in row[1:] if math.isfinite(v)]
    xs = ticks(min([0.0, *known]), max([1.0, *known]))
    frame = Frame(8, 2, width - 56, height - 36, (xs[0], xs[-1]), (0.0, 1.0))
    body = []
    for x in xs:
        h, _ = frame.at(x, 0)
        body.append(words(h, frame.bottom + 17, number(x), "tick", "middle"))
    for k, row in enumerate(rows):
        y = frame.top + step * k + 30
        told = f"{row.name}: {row.value:.2f}"
        rail = '<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>'
        body.append(Markup(rail).format(frame.left, frame.right, y, y))
        if math.isfinite(row.low) and math.isfinite(row.high):
            a, b = frame.at(row.low, 0)[0], frame.at(row.high, 0)[0]
            band = '<rect class="band" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="10" rx="5"/>'
            body.append(Markup(band).format(a, y - 5, max(b - a, 1)))
            told += f" ({row.low:.2f} to {row.high:.2f})"
        dot = '<circle class="mark" cx="{:.1f}" cy="{:.1f}" r="5"><title>{}</title></circle>'
        body.append(Markup(dot).format(frame.at(row.value, 0)[0], y, told))
        body.append(words(frame.left, y - 11, row.name, "name"))
        body.append(words(width - 4, y + 5, f"{row.value:.2f}", "value", "end"))
    body.append(words((frame.left + frame.right) / 2, height - 3, across, "label", "middle"))
    return svg(width, height, description, body)


def heat_map(
    names: Sequence[str], values: npt.NDArray[np.float64], what: str, description: str
) -> Markup:
    """A square a pair, the stronger the higher; blank where two never met."""
    n = len(names)
    shown = [name if len(name) <= 16 else name[:15] + "…" for name in _without_domains(names)]
    size, longest = max(13.0, min(40.0, 480 / n)), max(map(wide, shown))
    left = 12 + 1.35 * longest  # names are larger on a phone
    named = size >= 20  # smaller squares have their names at the left only
    top = 14 + 0.9 * longest if named else 6.0
    width, height = left + n * size + (0.9 * longest if named else 8), top + n * size + 6
    body = []
    for i, name in enumerate(names):
        y = top + (i + 0.5) * size
        body.append(words(left - 7, y + 4, shown[i], "name", "end"))
        if named:
            turned = '<text class="name" transform="translate({:.1f} {:.1f}) rotate(-48)">{}</text>'
            body.append(Markup(turned).format(left + (i + 0.6) * size, top - 6, shown[i]))
        for j, other in enumerate(names):
            value = float(values[i, j])
            if i == j or not math.isfinite(value):
                continue
            form = (
                '<rect class="heat" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2"'
                ' fill-opacity="{:.2f}"><title>{} and {}: {} {:.2f}</title></rect>'
            )
            x = left + j * size
            strength = 0.06 + 0.94 * min(max(value, 0.0), 1.0)
            body.append(
                Markup(form).format(
                    x + 0.8, top + i * size + 0.8, size - 1.6, size - 1.6, strength, name, other,
                    what, value,
                )
            )  # fmt: skip
            if size >= 27:
                css = (
                    "cell light" if strength > 0.74 else "cell middle" if strength > 0.5 else "cell"
                )
                text = f"{round(value, 2) + 0.0:.2f}".replace("0.", ".", 1).replace("-", "−")
                few = " few" if n <= 6 else ""  # so few are read on a phone, too
                body.append(words(x + size / 2, y + 4, text, css + few, "middle"))
    return svg(round(width), round(height), description, body)


def _without_domains(names: Sequence[str]) -> list[str]:
    """What stands before the ``@`` of e-mail addresses, where that tells them apart.

    >>> _without_domains(["ann@x.org", "bob@x.org"]), _without_domains(["ann@x.org", "ann@y.org"])
    (['ann', 'bob'], ['ann@x.org', 'ann@y.org'])
    """
    local = [name.partition("@")[0] for name in names]
    return local if all(local) and len(set(local)) == len(names) else list(names)


def reliability_lines(
    curves: Mapping[str, Reliability], across: str, up: str, description: str
) -> Markup:
    """What is right over what is claimed, one line a type, against the line where the two are the same."""
    width, height = 620, 340
    widest = max(wide(name[:18]) for name in curves)
    frame = Frame(58, 26, width - 24 - widest, height - 48, (0.0, 1.0), (0.0, 1.0))
    tens = [k / 10 for k in range(11)]
    body = [axes(frame, tens[::2], tens[::2], across, up)]
    line = '<line class="honest" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
    body.append(Markup(line).format(*frame.at(0, 0), *frame.at(1, 1)))
    ends = []
    for k, (name, curve) in enumerate(curves.items()):
        columns = (curve.confidence, curve.accuracy, curve.count)
        dots = list(zip(*(column.tolist() for column in columns), strict=True))
        most = max(n for _, _, n in dots)
        path = " ".join("{:.1f},{:.1f}".format(*frame.at(x, y)) for x, y, _ in dots)
        body.append(Markup('<polyline class="line s{}" points="{}"/>').format(1 + k % 4, path))
        for x, y, n in dots:
            knot = '<circle class="knot s{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>{}</title></circle>'
            told = f"{name}: {n:,} spans claim {x:.2f}, {y:.2f} are right"
            body.append(
                Markup(knot).format(1 + k % 4, *frame.at(x, y), 2.5 + 3 * math.sqrt(n / most), told)
            )
        ends.append((frame.at(*dots[-1][:2])[1], name, k))
    places = _apart([end[0] for end in sorted(ends)])
    down = max(0.0, 10 - places[0])
    for y, (_, name, k) in zip([place + down for place in places], sorted(ends), strict=True):
        shown = name if len(name) <= 18 else name[:17] + "…"
        body.append(words(frame.right + 12, y + 4, shown, f"name s{1 + k % 4}"))
    return svg(width, height, description, body)


def _bar(
    frame: Frame, ends: tuple[float, float], top: float, count: int, told: str
) -> Iterator[Markup]:
    """A bar, then its count above it where it has one."""
    x0, y0 = frame.at(ends[0], top)
    x1, _ = frame.at(ends[1], 0)
    yield Markup(
        '<rect class="column" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">'
        "<title>{:.2f} to {:.2f}: {}</title></rect>"
    ).format(x0 + 1, y0, x1 - x0 - 2, frame.bottom - y0, *ends, told)
    if count:
        text = str(count) if count < 1000 else f"{count / 1000:,.{int(count < 10_000)}f}k"
        yield words((x0 + x1) / 2, y0 - 4, text, "count", "middle")


def lines(series: Mapping[str, Sequence[float]], across: str, up: str, description: str) -> Markup:
    """One line for each series over 1, 2, 3 …, named at its end."""
    width, height = 620, 300
    finite = [v for values in series.values() for v in values if math.isfinite(v)]
    ys = ticks(
        min([*finite, 0.0] if min(finite) > 0 else finite), max(finite) if any(finite) else 1
    )
    n = max(len(values) for values in series.values())
    widest = max(wide(name) for name in series)
    left = _beside(ys)
    frame = Frame(
        left, 14, width - 14 - widest, height - 48, (1.0, float(max(n, 2))), (ys[0], ys[-1])
    )
    xs = [x for x in ticks(1, max(n, 2), 8) if x == int(x) and 1 <= x <= n]
    body = [axes(frame, [1.0, *(x for x in xs if x > 1)], ys, across, up)]
    ends = []
    for k, (name, values) in enumerate(series.items()):
        dots = [frame.at(i + 1, v) for i, v in enumerate(values) if math.isfinite(v)]
        if not dots:
            continue
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
        body.append(Markup('<polyline class="line s{}" points="{}"/>').format(k % SERIES, path))
        for x, y in dots if len(dots) <= 60 else dots[-1:]:
            body.append(
                Markup('<circle class="knot s{}" cx="{:.1f}" cy="{:.1f}" r="3"/>').format(
                    k % SERIES, x, y
                )
            )
        ends.append((dots[-1][1], dots[-1][0], name, k))
    for y, (_, x, name, k) in zip(_apart([e[0] for e in sorted(ends)]), sorted(ends), strict=True):
        body.append(words(x + 8, y + 4, name, f"name s{k % SERIES}"))
    return svg(width, height, description, body)


def _apart(places: list[float], gap: float = 14.0) -> list[float]:
    """Ascending places, moved as little as needed to stand ``gap`` apart."""
    out: list[float] = []
    for place in places:
        out.append(max(place, out[-1] + gap) if out else place)
    over = out[-1] - max(places[-1], 0) if out else 0.0
    return [place - over / 2 for place in out]


def room(
    text: str, x: float, y: float, r: float, frame: Frame,
    taken: list[tuple[float, float, float, float]],
) -> tuple[float, float, str] | None:  # fmt: skip
    """A free place for a point's name: right, left, above or below it."""
    w = wide(text)
    spots = [
        (x + r + 4, y + 4, x + r + 4, "start"),
        (x - r - 4, y + 4, x - r - 4 - w, "end"),
        (x, y - r - 5, x - w / 2, "middle"),
        (x, y + r + 13, x - w / 2, "middle"),
    ]
    for a, b, left, anchor in spots:
        box = (left, b - 10, left + w, b + 3)
        inside = frame.left < box[0] and box[2] < frame.right + 18 and box[3] < frame.bottom
        free = all(box[2] < t[0] or t[2] < box[0] or box[3] < t[1] or t[3] < box[1] for t in taken)
        if inside and box[1] > 2 and free:
            taken.append(box)
            return a, b, anchor
    return None


def axes(frame: Frame, xs: Iterable[float], ys: Iterable[float], across: str, up: str) -> Markup:
    parts = []
    for y in ys:
        _, v = frame.at(frame.x[0], y)
        line = '<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>'
        parts.append(Markup(line).format(frame.left, frame.right, v, v))
        parts.append(words(frame.left - 7, v + 4, number(y), "tick", "end"))
    for x in xs:
        h, _ = frame.at(x, frame.y[0])
        parts.append(words(h, frame.bottom + 17, number(x), "tick", "middle"))
    base = '<line class="axis" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>'
    parts.append(Markup(base).format(frame.left, frame.right, frame.bottom, frame.bottom))
    middle = (frame.left + frame.right) / 2
    parts.append(words(middle, frame.bottom + 38, across, "label", "middle"))
    turned = Markup(
        '<text class="label" text-anchor="middle" transform="translate(13 {:.1f}) rotate(-90)">{}</text>'
    )
    parts.append(turned.format((frame.top + frame.bottom) / 2, up))
    return Markup("").join(parts)


def _beside(ys: Iterable[float]) -> float:
    """Where a frame begins, so that its ticks do not touch the name of the axis."""
    return max(58.0, 30 + 1.25 * max(wide(number(y)) for y in ys))  # ticks are larger on a phone


def words(x: float, y: float, text: str, css: str, anchor: str = "start") -> Markup:
    form = '<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>'
    return Markup(form).format(css, x, y, anchor, text)


def svg(width: int, height: int, description: str, body: Iterable[Markup]) -> Markup:
    head = '<svg viewBox="0 0 {} {}" role="img" aria-label="{}">'
    return (
        Markup(head).format(width, height, description) + Markup("").join(body) + Markup("</svg>")
    )


__all__ = [
    "Frame",
    "Point",
    "Range",
    "axes",
    "heat_map",
    "histogram",
    "lines",
    "number",
    "ranges",
    "reliability_diagram",
    "reliability_lines",
    "scatter",
    "svg",
    "ticks",
    "wide",
    "words",
]
