"""Table 3: the synthetic data set, an annotator's O as found from the data, and all of it read as a vote."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from seqtruth.paper import systems
from seqtruth.paper.grid import Block, Section, table_jobs, table_section
from seqtruth.paper.runs import Job
from seqtruth.paper.scores import Row, pick
from seqtruth.paper.tables import published, signed, triple
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
    systems.ACCORD_CRF,
)
_CHAMPIONS = ((systems.ACCORD_CRF, ()), (systems.AGGSLC, ()))
BLOCKS = (
    Block("synthetic", _SYSTEMS, _CHAMPIONS, abstain="auto", words="silence found"),
    Block("synthetic", _SYSTEMS, _CHAMPIONS, abstain="none", words="O is a vote"),
)

_READINGS = """\
A program that knows no teams says O where a team is named, and means nothing by it. In the first tables whose
O is silence is found from the data (our default); in the second every O is a vote, as a majority vote of six
with the paper's precision and recall (79.03 / 39.41) must have read it.

Why AggSLC is not at the paper's 68.05: two things are changed one at a time, how O is read (the two tables
here) and what has taught the tagger (`seqtruth reproduce leak`, synthetic annotators, which uses gold).
{said}
"""


def jobs(work: Workshop) -> list[tuple[Job, float]]:
    return table_jobs(work, BLOCKS)


def section(work: Workshop) -> Section:
    made = table_section(work, "table3", "Table 3: synthetic annotators", BLOCKS)
    who = ", ".join(work.material("synthetic").crowd.annotators)
    table = resources.files(__package__).joinpath("stand_ins.md").read_text(encoding="utf-8")
    readings = _READINGS.format(said=_said(made.rows))
    return made._replace(text=f"{table.format(who=who)}\n{readings}\n{made.text}")


def _said(rows: Sequence[Row]) -> str:
    """AggSLC in both readings beside the paper's row."""
    its = pick(rows, scoring="conlleval", system=systems.AGGSLC.name)
    found = {row.abstain: row for row in its if row.split == its[0].split}
    if len(found) < 2:
        return ""
    silent, votes = found["auto"], found["none"]
    if silent.paper_f1 is None:
        return ""
    gap, reading = silent.paper_f1 - votes.f1, silent.f1 - votes.f1
    return (
        f"On `{silent.split}` AggSLC with the CRF is at {triple(votes)} with every O a vote, at\n"
        f"{triple(silent)} with silence found, and at {published(silent)} in the paper: the reading of O\n"
        f"moves F1 by {signed(reading)}, the distance to the paper was {gap:.2f}. Precision and recall stay "
        "others\nthan the paper's, as its annotators are."
    )
