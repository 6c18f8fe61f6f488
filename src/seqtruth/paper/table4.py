"""Table 4: AggSLC without its consistency module, without its prediction module, without both."""

from __future__ import annotations

from seqtruth.paper.grid import Block, Section, table_jobs, table_section
from seqtruth.paper.runs import Job
from seqtruth.paper.systems import ABLATIONS, ABLATIONS_PAPER
from seqtruth.paper.workshop import Workshop

BLOCKS = tuple(
    Block(
        data,
        (*ABLATIONS, *ABLATIONS_PAPER),
        ((ABLATIONS[0], ABLATIONS[1:]), (ABLATIONS_PAPER[0], ABLATIONS_PAPER[1:])),
    )
    for data in ("ner", "pico")
)


def jobs(work: Workshop) -> list[tuple[Job, float]]:
    return table_jobs(work, BLOCKS)


def section(work: Workshop) -> Section:
    return table_section(work, "table4", "Table 4: what L_inc and L_pred add", BLOCKS)
