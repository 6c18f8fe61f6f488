"""AggSLC at its best: with every prediction module we have, and what Accord adds to the same ones."""

from __future__ import annotations

from collections.abc import Sequence

from seqtruth.paper import systems
from seqtruth.paper.grid import Block, Section, table_jobs, table_section
from seqtruth.paper.material import TITLES
from seqtruth.paper.runs import Job
from seqtruth.paper.scores import Row, pick
from seqtruth.paper.workshop import Workshop

NAME = "best"
BLOCKS = tuple(
    Block(data, systems.BEST, ((systems.ACCORD_CRF, ()), (systems.AGGSLC_LEARNT, ())))
    for data in ("ner", "pico")
)
_INTRO = """\
No system here sees gold. The CRF has five folds and runs to convergence; networks have two folds and four
rounds, the transformer (all-MiniLM-L6-v2, 22 million parameters, two passes over the text) two. *Learnt*:
the predictor's weight is learnt from how well it foretells the annotators, as in Accord, not by Eq 10.
The transformer has one seed, as it takes minutes of a core.
"""


def jobs(work: Workshop) -> list[tuple[Job, float]]:
    return table_jobs(work, BLOCKS)


def section(work: Workshop) -> Section:
    made = table_section(work, NAME, "AggSLC at its best", BLOCKS)
    said = "\n".join(_said(made.rows, block.data) for block in BLOCKS)
    return made._replace(text=f"{_INTRO}\n{said}\n\n{made.text}")


def _said(rows: Sequence[Row], data: str) -> str:
    """Where AggSLC ends, and where Accord with the same predictors is."""
    its = pick(rows, data=data, scoring="conlleval")
    its = [row for row in its if row.split == its[0].split]
    ours = [row for row in its if row.spec.startswith("aggslc")]
    if not ours:
        return ""
    best = max(ours, key=lambda row: row.f1)
    text = f"- **{TITLES[data]}, `{best.split}`**: AggSLC ends at {best.f1:.2f} ({best.system})"
    one, two = pick(its, system=systems.ACCORD_CRF.name), pick(its, system=systems.AGGSLC.name)
    if one and two:
        text += f"; with the CRF alone Accord is at {one[0].f1:.2f}, AggSLC at {two[0].f1:.2f}"
    return text + "."
