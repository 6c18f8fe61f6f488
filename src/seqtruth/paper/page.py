"""The page, its tables and its plots, written whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seqtruth._version import __version__
from seqtruth.io.files import write_chunks
from seqtruth.paper.claims import claim_table, claims
from seqtruth.paper.grid import Section
from seqtruth.paper.material import TITLES
from seqtruth.paper.reasons import FAR, not_comparable, reason
from seqtruth.paper.scores import Row
from seqtruth.paper.tables import csv_text, markdown, number, signed
from seqtruth.paper.workshop import Workshop

FILES = "reproduction"


def write_page(work: Workshop, what: str, sections: Sequence[Section]) -> list[Path]:
    """Write everything; returns the paths, the page first."""
    folder = work.folder / FILES
    folder.mkdir(parents=True, exist_ok=True)
    name = "reproduction" if what == "all" else what
    page = work.folder / f"{name}.md"
    written = [page]
    for section in sections:
        files = dict(section.plots) | {k: csv_text(rows) for k, rows in section.csv.items()}
        for file, text in files.items():
            _write(folder / file, text)
            written.append(folder / file)
    costs = _costs(work)
    kept = {f"{name}-cost.csv": csv_text(costs), f"{name}-cost.md": _cost_page(costs)}
    for file, text in kept.items():
        _write(folder / file, text)
        written.append(folder / file)
    _write(page, _page(work, what, name, sections))
    return written


def _write(path: Path, text: str) -> None:
    write_chunks(path, [text.encode()])


def _page(work: Workshop, what: str, name: str, sections: Sequence[Section]) -> str:
    command = f"seqtruth reproduce {what}"
    command += " --quick" if work.quick else f" --seeds {work.seeds}"
    rows = [row for section in sections for row in section.rows]
    parts = [
        "# The paper's tables and figures beside ours\n",
        f"<!-- Made by `{command}` (seqtruth {__version__}). Do not edit: run it again. -->\n",
        "```console\n"
        "export SEQTRUTH_DATA=DATA         # or: seqtruth datasets get ner; seqtruth datasets get pico\n"
        f"{command} -o DIR\n"
        f"cp -r DIR/{name}.md DIR/{FILES} docs/\n```\n",
        _settings(work),
        f"Seconds and memory of every system: [{name}-cost.md]({FILES}/{name}-cost.md).\n"
        f"All figures as CSV and plots: the folder `{FILES}`.\n",
    ]
    if found := claims(sections):
        parts += ["## What holds and what does not\n", claim_table(found) + "\n"]
    parts += ["## What does not reproduce, and why\n", not_comparable()]
    if far := _far(rows):
        parts += [
            f"F1 more than {FAR:.0f} point from the paper's (first split, conlleval), and the "
            "likeliest reason:\n",
            far + "\n",
        ]
    for section in sections:
        parts += [f"## {section.title}\n", section.text.replace("{files}", FILES)]
    return "\n".join(parts)


def _settings(work: Workshop) -> str:
    seeds = f"Mean of {work.seeds} seeds ± standard deviation, where a seed matters."
    lines = [
        "Strict span scores in per cent; `paper` as printed; `difference` is ours − paper in F1.",
        "Every system sees the crowd's labels and no gold.",
        "One seed." if work.seeds == 1 else seeds,
        "Contests are paired bootstraps over documents of the first seed's labels,",
        "p corrected by Holm's rule over the contests of one system.",
    ]
    if work.quick:
        lines += [
            "",
            "**This is a quick run**: fewer rounds, folds and epochs for the systems that learn a",
            "tagger (Accord with its CRF alone), and fewer abstracts to learn from in Table 5. Their",
            "figures are not those of a full run. Systems without a tagger run as always.",
        ]
    notes = {**work.missing, **{str(job): why for job, why in work.failed.items()}}
    if notes:
        lines += ["", *(f"- `{spec}`: {why}" for spec, why in notes.items())]
    return "\n".join(lines) + "\n"


def _far(rows: Sequence[Row]) -> str:
    """Every row that is far from the paper's, with its reason."""
    first: dict[tuple[str, str], str] = {}
    lines = []
    for row in rows:
        main = first.setdefault((row.table, row.data), row.split)
        if row.scoring != "conlleval" or row.split != main or row.abstain not in (None, "none"):
            continue
        if row.difference is not None and abs(row.difference) > FAR:
            where = f"{row.table}, {TITLES[row.data]}"
            lines.append([f"{row.system} ({where})", number(row.paper_f1), number(row.f1),
                          signed(row.difference), reason(row)])  # fmt: skip
    return markdown(["system", "paper", "ours", "difference", "why"], lines) if lines else ""


def _costs(work: Workshop) -> list[dict[str, Any]]:
    """Mean seconds and largest peak of every system; these differ from run to run."""
    groups: dict[tuple[str, str, str | None], list[Any]] = {}
    for job, run in work.done.items():
        groups.setdefault((job.data, job.spec, job.abstain), []).append(run)
    return [
        {
            "data": data, "spec": spec, "abstain": abstain, "runs": len(runs),
            "seconds": round(float(np.mean([run.cost.seconds for run in runs])), 2),
            "peak_mib": round(max(run.cost.peak_mib for run in runs), 1),
            "added_mib": round(max(run.cost.added_mib for run in runs), 1),
            "rounds": len(runs[0].history),
            "stop_reason": runs[0].history.stop_reason,
            "predictor": runs[0].parameters.get("predictor"),
        }
        for (data, spec, abstain), runs in groups.items()
    ]  # fmt: skip


def _cost_page(costs: Sequence[dict[str, Any]]) -> str:
    head = ["system", "data set", "runs", "seconds", "MiB", "rounds", "stopped because"]
    lines = [
        [
            f"`{row['spec']}`"
            + ("" if row["abstain"] in (None, "none") else f", {row['abstain']} as silence"),
            TITLES[row["data"]], str(row["runs"]), f"{row['seconds']:.1f}", f"{row['added_mib']:.0f}",
            str(row["rounds"]), row["stop_reason"],
        ]
        for row in costs
    ]  # fmt: skip
    return (
        "# Seconds and memory\n\nMean wall time of a run, and the most memory it added to what was\n"
        "resident before (data sets, and libraries that earlier runs had loaded), on the machine the\n"
        "runs were made on, with whatever else ran there.\n\n"
        + markdown(head, lines) + "\n"
    )  # fmt: skip
