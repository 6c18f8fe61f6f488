"""The paper's figure of annotators' weights against their F1, and its two correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqtruth.metrics import AnnotatorScores, annotator_scores, correlate
from seqtruth.paper import paper, systems
from seqtruth.paper.grid import Section
from seqtruth.paper.material import TITLES
from seqtruth.paper.plots import panels
from seqtruth.paper.runs import Job, Run
from seqtruth.paper.tables import markdown
from seqtruth.paper.workshop import Workshop
from seqtruth.report.figures import Point, scatter

NAME, DATA = "figure-weights", ("ner", "pico")
SYSTEMS = (systems.AGGSLC, systems.AGGSLC_PAPER, systems.ALONE, systems.ACCORD)
#: Annotators with fewer sentences have an F1 that is mostly luck.
ENOUGH = 50


def jobs(work: Workshop) -> list[tuple[Job, float]]:
    return [job for data in DATA for job in work.jobs(SYSTEMS, data)]


def section(work: Workshop) -> Section:
    rows: list[dict[str, Any]] = []
    figures = {}
    for data in DATA:
        material = work.material(data)
        scores = annotator_scores(material.crowd, material.data.gold)
        for system in SYSTEMS:
            runs = work.runs(system, data)
            few = bool((scores.sentences < ENOUGH).any())
            counts = (1, ENOUGH) if few else (1,)
            rows += [_row(data, system.name, runs, scores, least) for least in counts if runs]
        if runs := work.runs(systems.AGGSLC, data):
            figures[f"{TITLES[data]}: AggSLC, our defaults"] = scatter(
                _points(runs[0], scores), "weight", "strict F1 against gold",
                f"Annotators' weights against their F1 on {TITLES[data]}",
            )  # fmt: skip
    head = ["weights of", "data set", "annotators", "Pearson", "paper", "Spearman", "paper"]
    lines = [
        [
            row["system"], TITLES[row["data"]],
            f"{row['annotators']}" + (f" (≥ {ENOUGH} sentences)" if row["least"] > 1 else ""),
            f"{row['pearson']:.2f}", f"{paper.PEARSON:.2f}",
            f"{row['spearman']:.2f}", f"{paper.SPEARMAN:.2f}",
        ]
        for row in rows
    ]  # fmt: skip
    text = (
        "The weights a method gives, against each annotator's strict F1 (conlleval) on the sentences\n"
        "they labelled. The paper does not say on which data set, or with which annotators, its\n"
        "correlations were computed.\n\n"
        f"![Weights against F1]({{files}}/{NAME}.svg)\n\n{markdown(head, lines)}\n\n"
        "Dots are larger the more an annotator labelled; their numbers are ranks by F1.\n"
    )
    plots = {f"{NAME}.svg": panels(figures, "Annotators' weights against their F1")}
    csv = {f"{NAME}.csv": rows}
    return Section(NAME, "Figure: weights against F1", text, csv, plots)


def _row(
    data: str, system: str, runs: list[Run], scores: AnnotatorScores, least: int
) -> dict[str, Any]:
    """Correlations, means over the seeds."""
    found = [correlate(run.weight, scores, least) for run in runs]
    return {
        "data": data,
        "system": system,
        "least": least,
        "annotators": found[0].n,
        "pearson": round(float(np.mean([one.pearson for one in found])), 4),
        "spearman": round(float(np.mean([one.spearman for one in found])), 4),
        "paper_pearson": paper.PEARSON,
        "paper_spearman": paper.SPEARMAN,
        "seeds": len(found),
    }


def _points(run: Run, scores: AnnotatorScores) -> list[Point]:
    """Annotators by rank; who they are is nobody's business."""
    known = [w for w in np.argsort(-scores.f1, kind="stable") if np.isfinite(scores.f1[w])]
    most = max(scores.sentences.max(), 1)
    return [
        Point(
            str(rank), float(run.weight[w]), float(scores.f1[w]), float(scores.sentences[w] / most)
        )
        for rank, w in enumerate(known, 1)
    ]
