"""The paper's figure of the objective per round, with the three parts it is the sum of."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from seqtruth.history import History
from seqtruth.paper import systems
from seqtruth.paper.grid import Claim, Section
from seqtruth.paper.material import TITLES
from seqtruth.paper.plots import panels
from seqtruth.paper.runs import Job
from seqtruth.paper.tables import markdown
from seqtruth.paper.workshop import Workshop
from seqtruth.report.figures import lines

NAME, DATA = "figure-convergence", ("ner", "pico")
SYSTEMS = {
    "our defaults": systems.AGGSLC,
    "our defaults without the consistency step": systems.UNREPAIRED,
    "the paper's settings": systems.AGGSLC_PAPER,
}
PARTS = ("L_agg", "L_pred", "L_inc")


def jobs(work: Workshop) -> list[tuple[Job, float]]:
    return [job for data in DATA for job in work.jobs(SYSTEMS.values(), data)]


def section(work: Workshop) -> Section:
    rows: list[dict[str, Any]] = []
    plots, parts, stops, claims = {}, [], [], []
    for data in DATA:
        for number, (words, system) in enumerate(SYSTEMS.items(), 1):
            runs = work.runs(system, data)
            if not runs or not runs[0].history.steps:
                continue
            history = runs[0].history
            rows += [
                {"data": data, "settings": words, "round": step.iteration, "F": step.objective,
                 **step.parts, "change": step.change}
                for step in history.steps
            ]  # fmt: skip
            name = f"{NAME}-{data}-{number}.svg"
            plots[name] = _panels(history, f"AggSLC on {TITLES[data]}, {words}")
            parts.append(f"### {TITLES[data]}, {words}\n")
            parts.append(f"![Objective per round, {TITLES[data]}, {words}]({{files}}/{name})\n")
            objective = history.objective
            falls = sum(b <= a for a, b in pairwise(objective))
            claim = f"F falls over the first three rounds, {TITLES[data]}, {words}"
            holds = all(b <= a for a, b in pairwise(objective[:3]))
            claims.append(Claim(claim, holds, ", ".join(f"{f:,.0f}" for f in objective[:4])))
            stops.append(
                [f"{TITLES[data]}, {words}", str(len(history)), history.stop_reason,
                 f"{objective[0]:,.0f}", f"{objective[-1]:,.0f}", f"{falls} of {len(history) - 1}"]
            )  # fmt: skip
    head = ["AggSLC on", "rounds", "stopped because", "F, first round", "F, last", "steps down"]
    text = (
        "F and its three parts after each round, first seed. Every part is on its own scale, since\n"
        "L_inc is small beside the others, and nothing where the consistency step leaves no illegal\n"
        "pair. L_pred is 0 as long as the predictor's loss is the largest of all, which by Eq 10\n"
        "gives it weight 0. F rises where it begins to count: the confidences ξ in F move with the\n"
        "labels, so nothing makes F fall in every round. (The paper: F falls rapidly during the first\n"
        "three rounds and is then stable.)\n\n"
        f"{markdown(head, stops)}\n\n" + "\n".join(parts)
    )
    csv = {f"{NAME}.csv": rows}
    whole = [one for one in claims if "without" not in one.text]
    return Section(NAME, "Figure: convergence", text, csv, plots, claims=whole)


def _panels(history: History, about: str) -> str:
    series = {"F": history.objective}
    series |= {part: [step.parts[part] for step in history.steps] for part in PARTS}
    return panels(
        {
            name: lines({name: values}, "round", "", f"{name} per round, {about}")
            for name, values in series.items()
        },
        f"{about}: objective and its parts per round",
        high=300,
    )
