"""Table 2: all systems on NER and PICO."""

from __future__ import annotations

from seqtruth.paper import systems
from seqtruth.paper.grid import Block, Section, table_jobs, table_section
from seqtruth.paper.runs import Job
from seqtruth.paper.workshop import Workshop

BLOCKS = tuple(
    Block(data, systems.ALL, ((systems.ACCORD, ()), (systems.AGGSLC, ())))
    for data in ("ner", "pico")
)


def jobs(work: Workshop) -> list[tuple[Job, float]]:
    return table_jobs(work, BLOCKS)


def section(work: Workshop) -> Section:
    return table_section(work, "table2", "Table 2: NER and PICO", BLOCKS)
