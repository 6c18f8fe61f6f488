"""The paper's figure of the objective per round, with the three parts it is the sum of."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from seqtruth.history import History
from seqtruth.paper import systems
from seqtruth.paper.grid import Section
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
    "by block coordinate descent": systems.DESCENT,
}
PARTS = ("L_agg", "L_pred", "L_inc", "pseudo-votes")


def jobs(work: Workshop) -> list[tuple[Job, float]]:
    return [job for data in DATA for job in work.jobs(SYSTEMS.values(), data)]


def section(work: Workshop) -> Section:
    rows: list[dict[str, Any]] = []
    plots, parts, stops = {}, [], []
    for data in DATA:
        found = {words: _history(work, system, data) for words, system in SYSTEMS.items()}
        kept = {words: history for words, history in found.items() if history is not None}
        name = f"{NAME}-{data}.svg"
        plots[name] = _beside(kept, TITLES[data])
        parts.append(f"### {TITLES[data]}\n")
        parts.append(f"![Objective per round, {TITLES[data]}]({{files}}/{name})\n")
        for number, (words, history) in enumerate(kept.items(), 1):
            rows += [
                {"data": data, "settings": words, "round": step.iteration, "F": step.objective,
                 **{part: step.parts.get(part, 0.0) for part in PARTS}, "change": step.change}
                for step in history.steps
            ]  # fmt: skip
            name = f"{NAME}-{data}-{number}.svg"
            plots[name] = _panels(history, f"AggSLC on {TITLES[data]}, {words}")
            parts.append(f"- [{words}, with F's parts]({{files}}/{name})")
            objective = history.objective
            falls = sum(b <= a for a, b in pairwise(objective))
            stops.append(
                [f"{TITLES[data]}, {words}", str(len(history)), history.stop_reason,
                 f"{objective[0]:,.0f}", f"{objective[-1]:,.0f}", f"{falls} of {len(history) - 1}"]
            )  # fmt: skip
        parts.append("")
    head = ["AggSLC on", "rounds", "stopped because", "F, first round", "F, last", "steps down"]
    text = f"{ABOUT}\n\n{markdown(head, stops)}\n\n" + "\n".join(parts)
    return Section(NAME, "Figure: convergence", text, {f"{NAME}.csv": rows}, plots)


ABOUT = """\
F and its parts after each round, first seed. The paper: F falls rapidly during the first three rounds and
is then stable. As printed, nothing makes F fall: the weights of Eq 10 do not keep the constraint of eq 1,
labels are repaired outside F, and the confidences ξ move with the labels. (Where ξ is a function of Y*, F
has no minimum worth finding: uniform y* have ξ = 0 and F = 0.) F rises where the weights, all alike in the
first round, begin to differ, and L_pred is 0 as long as the predictor's loss is the largest of all.

By block coordinate descent (`aggslc:descent=true`; `seqtruth.methods.vote.descent` says what is changed)
every step is an exact minimiser of one F, so that F falls in every step, which a property test checks on
random crowds, and the run halts. The two F are different functions: only their course can be
compared, not their height."""


def _history(work: Workshop, system: systems.System, data: str) -> History | None:
    runs = work.runs(system, data)
    return runs[0].history if runs and runs[0].history.steps else None


def _beside(histories: dict[str, History], title: str) -> str:
    """F per round of every way to run it, each on its own scale."""
    return panels(
        {
            f"{words}: {len(history)} rounds": lines(
                {"F": history.objective}, "round", "", f"F per round on {title}, {words}"
            )
            for words, history in histories.items()
        },
        f"AggSLC on {title}: objective per round, as printed and by descent",
        high=300,
    )


def _panels(history: History, about: str) -> str:
    series = {"F": history.objective}
    series |= {
        name: [step.parts[name] for step in history.steps] for name in history.steps[0].parts
    }
    return panels(
        {
            name: lines({name: values}, "round", "", f"{name} per round, {about}")
            for name, values in series.items()
        },
        f"{about}: objective and its parts per round",
        high=300,
    )
