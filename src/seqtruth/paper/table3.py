"""Table 3: the synthetic data set, an annotator's O as found from the data, and all of it read as a vote."""

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
    systems.AGGSLC_LEARNT,
    systems.ACCORD,
)
_CHAMPIONS = ((systems.ACCORD, ()), (systems.AGGSLC, ()))
BLOCKS = (
    Block("synthetic", _SYSTEMS, _CHAMPIONS, abstain="auto", words="silence found"),
    Block("synthetic", _SYSTEMS, _CHAMPIONS, abstain="none", words="O is a vote"),
)

_READINGS = """\
A program that knows no teams says O where a team is named, and means nothing by it. In the first tables whose
O is silence is found from the data (our default); in the second every O is a vote, as a majority vote of six
with the paper's precision and recall (79.03 / 39.41) must have read it.
"""


def jobs(work: Workshop) -> list[tuple[Job, float]]:
    return table_jobs(work, BLOCKS)


def section(work: Workshop) -> Section:
    who = ", ".join(work.material("synthetic").crowd.annotators)
    intro = f"Annotators in this run: {who}. They stand in for the paper's six.\n\n{_READINGS}"
    return table_section(work, "table3", "Table 3: synthetic annotators", BLOCKS, intro)
