"""The paper's tables and figures, computed anew and put beside the paper's own.

Every (system, data set, seed) is one run, made once and kept under the output folder
(:mod:`~seqtruth.paper.workshop`). A table or figure says which runs it needs and makes a section
of the page from their labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from seqtruth.errors import ParameterError
from seqtruth.paper import best, convergence, leak, regimes, table2, table3, table4, table5, weights
from seqtruth.paper.claims import claims
from seqtruth.paper.grid import Section
from seqtruth.paper.page import write_page
from seqtruth.paper.tables import csv_rows, csv_text
from seqtruth.paper.workshop import Workshop

PARTS: dict[str, ModuleType] = {
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table5": table5,
    "figure-weights": weights,
    "figure-convergence": convergence,
    "best": best,
}
NAMES = ("all", *PARTS, regimes.NAME, leak.NAME)


class Report(NamedTuple):
    """What a call made: files (the page first), rows of the tables, claims, and what is missing."""

    files: list[Path]
    rows: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    not_run: dict[str, str]
    failed: dict[str, str]


def check_part(what: str) -> None:
    """Raise where there is no such table or figure."""
    if what not in NAMES:
        raise ParameterError(f"choose one of {', '.join(NAMES)}", got=repr(what))


def reproduce(what: str, work: Workshop) -> Report:
    """Make what is missing of a table, a figure or all of them, and write the page.

    Parameters
    ----------
    what : one of :data:`NAMES`.
    work : settings, and where runs are kept.
    """
    check_part(what)
    if what == regimes.NAME:
        work.do(regimes.jobs(work))
        made = regimes.section(work)
        rows = [dict(row) for rows in made.csv.values() for row in rows]
        failed = {str(job): why for job, why in work.failed.items()}
        return Report(regimes.write(work, made), rows, [], dict(work.missing), failed)
    if what == leak.NAME:
        files, made = leak.reproduce_leak(work)
        rows = [dict(row) for rows in made.csv.values() for row in rows]
        failed = {str(job): why for job, why in work.failed.items()}
        return Report(files, rows, [], dict(work.missing), failed)
    parts = list(PARTS.values()) if what == "all" else [PARTS[what]]
    work.do([job for part in parts for job in part.jobs(work)])
    sections = [part.section(work) for part in parts]
    return Report(
        write_page(work, what, sections),
        [row.to_dict() for section in sections for row in section.rows],
        [one._asdict() for one in claims(_tables(sections))],
        dict(work.missing),
        {str(job): why for job, why in work.failed.items()},
    )


def _tables(sections: Sequence[Section]) -> dict[str, list[dict[str, Any]]]:
    """What claims are decided by, as it stands in the files."""
    return {
        name.removesuffix(".csv"): csv_rows(csv_text(rows))
        for section in sections
        for name, rows in section.csv.items()
        if not name.endswith("-bootstrap.csv")
    }


__all__ = ["NAMES", "PARTS", "Report", "Workshop", "check_part", "reproduce"]
