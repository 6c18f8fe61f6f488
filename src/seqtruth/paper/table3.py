"""Table 3: the synthetic data set, an annotator's O read as a vote and as silence."""

from __future__ import annotations

from seqtruth.paper import systems
from seqtruth.paper.grid import Block, Section, table_jobs, table_section
from seqtruth.paper.runs import Job
from seqtruth.paper.workshop import Workshop

_SYSTEMS = (
    systems.MV,
    systems.DS,
    systems.HMM,
    systems.BSC_SEQ,
    systems.OPTSLA,
    systems.ALONE,
    systems.AGGSLC,
    systems.ACCORD,
)
_CHAMPIONS = ((systems.ACCORD, ()), (systems.AGGSLC, ()))
BLOCKS = (
    Block("synthetic", _SYSTEMS, _CHAMPIONS, abstain="none", words="O is a vote"),
    Block("synthetic", _SYSTEMS, _CHAMPIONS, abstain="O", words="O is silence"),
)


def jobs(work: Workshop) -> list[tuple[Job, float]]:
    return table_jobs(work, BLOCKS)


def section(work: Workshop) -> Section:
    who = ", ".join(work.material("synthetic").crowd.annotators)
    intro = f"Annotators in this run: {who}. They stand in for the paper's six.\n"
    return table_section(work, "table3", "Table 3: synthetic annotators", BLOCKS, intro)
