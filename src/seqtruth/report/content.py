"""A report's figures and tables as plain values, bounded whatever the size of the input."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from seqtruth.data.crowd import Crowd
from seqtruth.decisions.mistakes import Compared
from seqtruth.decisions.over_time import Trend, trends
from seqtruth.metrics import Averages, Evaluation, Score
from seqtruth.report.figures import Point, lines, scatter
from seqtruth.result import Result

#: Agreement from which an annotator is relied on, and below which they are not.
RELY, DOUBT = 0.7, 0.4
#: An annotator with fewer sentences is not judged.
FEW_SENTENCES = 5
#: A share of mistakes from which a cell is marked.
MUCH = 0.25
MAX_ANNOTATORS, MAX_POINTS, MAX_TYPES, MAX_ROUNDS, MAX_VALUE = 24, 300, 30, 200, 200
MAX_COPIES, MAX_HEAT, MAX_HABITS = 6, 30, 400


class Headline(NamedTuple):
    """One figure at the top of the page."""

    value: str
    label: str


class Row(NamedTuple):
    """One annotator; ``mistakes`` are (share, is it much), empty where no crowd was given, ``habits`` the
    worst of them in words."""

    name: str
    weight: float
    bar: float
    sentences: int
    agreement: float
    verdict: str
    mistakes: tuple[tuple[float, bool], ...]
    habits: str


def headlines(result: Result, spans: int, scores: Evaluation | None) -> list[Headline]:
    """What there is, and how much of it can be taken as it is."""
    corpus, plain = result.corpus, result.scheme.kind == "plain"
    n_sentences = corpus.n_base_sentences
    out = [Headline(f"{n_sentences:,}", _plural(n_sentences, "sentence"))]
    if not plain:
        out.append(Headline(f"{spans:,}", _plural(spans, "span") + " found"))
    else:
        out.append(Headline(f"{corpus.n_tokens:,}", _plural(corpus.n_tokens, "token")))
    n = len(result.annotators.names)
    out.append(Headline(f"{n:,}", _plural(n, "annotator")))
    if n and corpus.n_sentences:
        each = float(result.annotators.sentences.sum()) / n_sentences
        out.append(Headline(f"{each:.1f}", "annotators a sentence"))
    if scores is not None:
        name = "accuracy" if scores.plain else "F1 against gold"
        out.append(Headline(f"{100 * scores.f1:.1f}", name))
    return out


def annotators(
    result: Result, crowd: Crowd | None, silent: Collection[str] = frozenset()
) -> list[Row]:
    """All annotators, worst first; ``silent`` ones are judged by what they mark, not by what they leave."""
    annotators = result.annotators
    shares: list[tuple[tuple[float, bool], ...]] = [()] * len(annotators.names)
    habits: dict[str, str] = {}
    if crowd is not None and crowd.scheme.kind != "plain":
        compared = Compared(crowd, crowd.scheme.recoding(result.scheme.labels)[result.tags])
        columns = np.stack(compared.shares(), axis=1)
        place = dict(zip(crowd.annotators, columns.tolist(), strict=True))
        unknown = [math.nan] * 4
        shares = [
            tuple((value, round(value, 2) >= MUCH) for value in place.get(name, unknown))
            for name in annotators.names
        ]
        if crowd.n_annotators <= MAX_HABITS:
            same = crowd.scheme.labels == result.scheme.labels
            habits = _habits(compared, trends(crowd, result) if same else {})
    agreement = np.nan_to_num(annotators.agreement, nan=2.0)
    top = float(np.nanmax(annotators.weight, initial=0.0)) or 1.0
    return [
        Row(
            annotators.names[w],
            float(annotators.weight[w]),
            float(np.clip(np.nan_to_num(annotators.weight[w] / top), 0, 1)),
            int(annotators.sentences[w]),
            float(annotators.agreement[w]),
            _verdict(
                1 - sum(share for share, _ in shares[w][1:])
                if annotators.names[w] in silent and shares[w]
                else float(annotators.agreement[w]),
                int(annotators.sentences[w]),
            ),
            shares[w],
            habits.get(annotators.names[w], ""),
        )
        for w in np.lexsort((np.array(annotators.names), agreement, annotators.weight))
    ]


def _habits(compared: Compared, changes: Mapping[str, Trend]) -> dict[str, str]:
    """Each annotator's two worst habits in words, and whether they learn or tire."""
    out = {}
    for name, found in zip(compared.crowd.annotators, compared.habits(), strict=True):
        told = [one.words.replace("%", " %") for one in found[:2]]
        change = changes[name].told() if name in changes else ""
        out[name] = ", ".join(filter(None, [*told, change]))
    return out


def _verdict(agreement: float, sentences: int) -> str:
    if sentences < FEW_SENTENCES or math.isnan(agreement):
        return "too little to judge"
    if agreement >= RELY:
        return "rely on"
    return "look into" if agreement >= DOUBT else "do not rely on"


def trust_figure(rows: list[Row]) -> Markup | None:
    """Agreement over weight, the point's size by sentences."""
    known = [row for row in rows if math.isfinite(row.agreement) and math.isfinite(row.weight)]
    if len(known) < 2:
        return None
    step = max(1, math.ceil(len(known) / MAX_POINTS))
    most = max(max(row.sentences for row in known), 1)
    points = [Point(r.name, r.weight, r.agreement, r.sentences / most) for r in known[::step]]
    worst, best = known[0], known[-1]
    return scatter(
        points, "Weight", "Agreement",
        f"Scatter of {len(points)} annotators, agreement with the result over weight; lowest weight"
        f" {worst.name} ({worst.weight:.2f}), highest {best.name} ({best.weight:.2f}).",
    )  # fmt: skip


def types(result: Result) -> list[dict[str, Any]]:
    """Spans by type with their confidence, most frequent first."""
    by_type: dict[str, list[float]] = {}
    for span in result.spans():
        by_type.setdefault(span.label, []).append(span.confidence)
    order = sorted(by_type, key=lambda name: (-len(by_type[name]), name))
    return [
        {
            "name": name,
            "colour": colour(result.scheme.types, name),
            "n": len(by_type[name]),
            "confidence": float(np.mean(by_type[name])),
            "doubtful": sum(value < 0.5 for value in by_type[name]),
        }
        for name in order
    ]


def colour(all_types: tuple[str, ...], name: str) -> int:
    """Number of a type's colour."""
    return all_types.index(name) % 8 if name in all_types else 7


def convergence(result: Result) -> dict[str, Any] | None:
    """The rounds, thinned where there are very many, with their figure."""
    steps = result.history.steps
    if not steps:
        return None
    stride = math.ceil(len(steps) / MAX_ROUNDS)
    kept = [*steps[:-1:stride], steps[-1]]
    measure, names = result.history.measure, list(steps[0].parts)
    names = names if len(names) > 1 else []  # a single term is the whole
    series = {measure: [step.objective for step in kept]}
    series |= {name: [step.parts.get(name, math.nan) for step in kept] for name in names}
    figure = None
    if any(math.isfinite(v) for values in series.values() for v in values):
        across = "Round" if stride == 1 else f"Round (every {stride}th)"
        figure = lines(
            series, across, measure[:1].upper() + measure[1:],
            f"Line chart of the {measure} over {len(steps)} rounds, from {steps[0].objective:,.4g}"
            f" to {steps[-1].objective:,.4g}.",
        )  # fmt: skip
    shown = kept if len(kept) <= 24 else [*kept[:12], *kept[-12:]]
    return {
        "figure": figure,
        "names": names,
        "steps": shown,
        "rounds": len(steps),
        "measure": measure,
    }


def score_rows(scores: Evaluation) -> list[tuple[str, Score | Averages, bool]]:
    """(name, score, is it a single type) for the table of scores."""
    first = "all tags" if scores.plain else f"spans ({scores.strict})"
    rows: list[tuple[str, Score | Averages, bool]] = [(first, scores.span, False)]
    some = sorted(scores.per_type.items(), key=lambda item: -item[1].gold)[:MAX_TYPES]
    rows += [(name, score, True) for name, score in some]
    return [*rows, ("tokens, micro average", scores.token.micro, False)]


def provenance(result: Result) -> list[tuple[str, str]]:
    """Where the result comes from, as pairs of words."""
    known = dict(result.provenance)
    parameters = known.pop("parameters", {})
    rows = [(str(name), _value(value)) for name, value in known.items() if value is not None]
    if isinstance(parameters, dict):
        rows += [(f"parameter {name}", _value(value)) for name, value in parameters.items()]
    return rows


def _value(value: Any) -> str:
    """Lists and tables as JSON, all else as it prints."""
    nested = isinstance(value, dict | list)
    return clip(json.dumps(value, default=str, ensure_ascii=False) if nested else str(value))


def clip(text: str, length: int = MAX_VALUE) -> str:
    """Text of bounded length."""
    return text if len(text) <= length else text[: length - 1] + "…"


def percent(share: float) -> str:
    """A share in words.

    >>> percent(0.123), percent(float("nan"))
    ('12 %', '–')
    """
    if math.isnan(share):
        return "–"
    whole = round(100 * share)
    if whole == 0 < share or (whole == 100 and share < 1):
        return (
            f"{100 * share:.1f} %"
            if 0.0005 <= share < 0.9995
            else ("<0.1 %" if share < 0.5 else ">99.9 %")
        )
    return f"{whole} %"


def _plural(n: int, word: str) -> str:
    return word if n == 1 else f"{word}s"
