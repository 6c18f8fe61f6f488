"""Agreement on the page: coefficients with intervals, the heat map of pairs, copies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from markupsafe import Markup

from seqtruth.data.crowd import Crowd
from seqtruth.inter_annotator import agreement
from seqtruth.methods.dependence import find_copies
from seqtruth.methods.marked import Marked
from seqtruth.metrics.agreement import MEASURES, Agreement
from seqtruth.metrics.agreement.drawing import Estimate
from seqtruth.metrics.agreement.telling import most_and_least, word
from seqtruth.report.content import MAX_HEAT
from seqtruth.report.figures import Range, heat_map, ranges
from seqtruth.result import Result

#: Types in the table, pairs in the list.
MAX_TYPES, MAX_PAIRS = 20, 12
#: Draws of documents behind the intervals of the page.
DRAWS = 300
#: Where the axis of the coefficients begins; a coefficient below it (a handful of texts) is not drawn.
LOWEST = -1.0
_SHOWN = ("alpha", "alpha_u", "fleiss_kappa", "cohen_kappa", "ac1", "span_f1_overlap", "span_f1")


def agreement_part(result: Result, crowd: Crowd | None) -> dict[str, Any] | None:
    """What the page shows of agreement; None where no two annotators labelled one token."""
    if crowd is None or crowd.n_annotators < 2:
        return None
    settings = result.provenance.get("parameters")
    abstain = settings.get("abstain", "auto") if isinstance(settings, dict) else "auto"
    known = abstain in (None, "auto", "none") or abstain in crowd.scheme.labels
    found = agreement(crowd, abstain if known else "auto", n_resamples=DRAWS)
    if not len(found.pairs):
        return None
    return {
        "found": found,
        "alpha": found.overall["alpha"],
        "word": word(found.alpha),
        "words": found.words(),
        "figure": _ranges(found),
        "heat": _heat(found),
        "types": _types(found),
        "pairs": _pairs(found),
        "many": max(0, len(found.annotators) - MAX_HEAT),
    }


def _ranges(found: Agreement) -> Markup | None:
    rows = [
        Range(MEASURES[name], *found.overall[name])
        for name in _SHOWN
        if name in found.overall and found.overall[name].value >= LOWEST
    ]
    if not rows:
        return None
    told = "; ".join(f"{row.name} {row.value:.2f}" for row in rows)
    return ranges(rows, "Agreement", f"Coefficients of agreement with intervals: {told}.")


def _heat(found: Agreement) -> Markup | None:
    n = len(found.annotators)
    pairs = found.pairs
    tokens = np.bincount(pairs.first, pairs.tokens, n) + np.bincount(pairs.second, pairs.tokens, n)
    chosen = np.sort(np.argsort(-tokens, kind="stable")[:MAX_HEAT])
    chosen = chosen[tokens[chosen] > 0]
    if len(chosen) < 3:
        return None
    table = found.matrix("kappa")[np.ix_(chosen, chosen)]
    weight = np.isfinite(table)
    mean = np.where(weight, table, 0).sum(axis=1) / np.maximum(weight.sum(axis=1), 1)
    order = np.argsort(-mean, kind="stable")
    names = [found.annotators[k] for k in chosen[order]]
    values = table[np.ix_(order, order)]
    best = np.unravel_index(np.nanargmax(values), values.shape) if weight.any() else (0, 0)
    told = f"most between {names[best[0]]} and {names[best[1]]}" if weight.any() else "none known"
    return heat_map(
        names,
        values,
        "Cohen's kappa",
        f"Heat map of Cohen's kappa between {len(names)} annotators, {told}.",
    )


def _types(found: Agreement) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"name": name, "marks": found.marks.get(name, 0), **figures}
        for name, figures in found.per_type.items()
    ]
    for row in rows:
        if "alpha_u" in row and row["alpha_u"].value < LOWEST:
            row["alpha_u"] = Estimate(math.nan, math.nan, math.nan)
    return rows[:MAX_TYPES]


def _pairs(found: Agreement) -> list[dict[str, Any]]:
    """Those who agree most and those who agree least, among pairs that met often enough."""
    pairs = found.pairs
    return [
        {
            "first": found.annotators[pairs.first[k]],
            "second": found.annotators[pairs.second[k]],
            "tokens": int(pairs.tokens[k]),
            "kappa": Estimate(
                *(float(c[k]) for c in (pairs.kappa, pairs.kappa_low, pairs.kappa_high))
            ),
            "span_f1": float(pairs.span_f1[k]),
        }
        for k in most_and_least(found, MAX_PAIRS).tolist()
    ]


def copies(result: Result, crowd: Crowd | None) -> list[dict[str, Any]]:
    """Groups of copies with the evidence: those the method found, or found here."""
    known = result.provenance.get("copies")
    if isinstance(known, list) and all(isinstance(group, dict) for group in known):
        found = [group for group in known if {"annotators", "agreement"} <= set(group)]
        return [{**group, "counted": True} for group in found]
    if crowd is None or len(crowd.corpus.layers) > 1:
        return []
    return [{**group.to_dict(), "counted": False} for group in find_copies(Marked(crowd)).groups]
