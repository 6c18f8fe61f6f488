"""The page, its tables and its plots, written whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from seqtruth.paper.tables import csv_rows, csv_text, markdown, number, signed
from seqtruth.paper.workshop import Workshop

FILES = "reproduction"


def write_page(work: Workshop, what: str, sections: Sequence[Section]) -> list[Path]:
    """Write a page for each section and the verdicts; returns the paths, the page to read first.

    Parts can be made one by one: verdicts and differences are of all tables in the folder.
    """
    folder = work.folder / FILES
    made, costs = _stamp(work, what), _costs(work)
    files = {}
    for section in sections:
        text = f"# {section.title}\n\n{made}\n{_settings(work)}\n{section.text}"
        files[folder / f"{section.name}.md"] = text.replace("{files}/", "")
        files |= {folder / file: drawing for file, drawing in section.plots.items()}
        files |= {folder / file: csv_text(rows) for file, rows in section.csv.items()}
    name = "reproduction" if what == "all" else what
    files[folder / f"{name}-cost.csv"] = csv_text(costs)
    files[folder / f"{name}-cost.md"] = _cost_page(costs)
    folder.mkdir(parents=True, exist_ok=True)
    _write(files)
    verdicts = _verdicts(work.folder)
    _write(verdicts)
    return [*verdicts, *files] if what == "all" else [*files, *verdicts]


def _write(files: Mapping[Path, str]) -> None:
    for path, text in files.items():
        write_chunks(path, [text.encode()])


def write_lone_page(work: Workshop, made: Section, about: str) -> list[Path]:
    """A section that is no part of the paper's own, with CSV and plots; returns the paths, the page first.

    Where the paper's tables lie beside it, their verdicts are written anew.

    Parameters
    ----------
    made : what to write.
    about : Markdown between the command and what was not run.
    """
    notes = {**work.missing, **{str(job): why for job, why in work.failed.items()}}
    command = _command(replace(work, kept_only=False), made.name)
    console = f"```console\nexport SEQTRUTH_DATA=DATA\n{command} -o DIR\n```\n"
    not_run = "".join(f"- `{spec}`: {why}\n" for spec, why in notes.items())
    parts = [f"# {made.title}\n", _stamp(work, made.name), console, about]
    parts += [not_run, made.text] if notes else [made.text]
    files = {work.folder / f"{made.name}.md": "\n".join(parts).replace("{files}/", "")}
    files |= {work.folder / name: csv_text(rows) for name, rows in made.csv.items()}
    files |= {work.folder / name: drawing for name, drawing in made.plots.items()}
    work.folder.mkdir(parents=True, exist_ok=True)
    _write(files)
    if (work.folder / FILES).is_dir():
        _write(_verdicts(work.folder))
    return list(files)


def _command(work: Workshop, what: str) -> str:
    kept = " --kept" if work.kept_only else ""
    how = "--quick" if work.quick else ""
    if not work.quick or work.seeds > 1:
        how = f"{how} --seeds {work.seeds}".strip()
    return f"seqtruth reproduce {what} {how}{kept}"


def _stamp(work: Workshop, what: str) -> str:
    command = _command(work, what)
    return f"<!-- Made by `{command}` (seqtruth {__version__}). Do not edit: run it again. -->\n"


def _verdicts(folder: Path) -> dict[Path, str]:
    """One screen of verdicts with where everything else is, and the differences, from what is there."""
    places = {path.stem: path for path in sorted((folder / FILES).glob("*.csv"))}
    leak = folder / "leak.csv"
    places |= {"leak": leak} if leak.is_file() else {}
    tables = {
        name: csv_rows(path.read_text(encoding="utf-8"))
        for name, path in places.items()
        if not name.endswith(("-bootstrap", "-cost"))
    }
    pages = {name: f"{FILES}/{name}.md" for name in tables if name != "leak"}
    links = pages | {"leak": "leak.md"}
    costs = [name for name in places if name.endswith("-cost")]
    made = f"<!-- Made by `seqtruth reproduce` (seqtruth {__version__}). Do not edit: run it again. -->\n"
    beyond = "What a tagger that has seen the gold would do: " + (
        "[leak](leak.md).\n" if leak.is_file() else "`seqtruth reproduce leak`.\n"
    )
    parts = [
        "# The paper's claims beside ours\n",
        made,
        claim_table(claims(tables), links) + "\n",
        "Strict span F1 by conlleval in per cent, where nothing else is said. Every system sees the "
        f"crowd's labels and no gold. [Why figures differ from the paper's]({FILES}/differences.md). "
        + beyond,
        "All tables, each with its command, figures as CSV and plots: "
        + ", ".join(f"[{name}]({page})" for name, page in pages.items())
        + ". Seconds and memory: "
        + ", ".join(f"[{name.removesuffix('-cost')}]({FILES}/{name}.md)" for name in costs)
        + ".\n",
        "```console\n"
        "export SEQTRUTH_DATA=DATA         # or: seqtruth datasets get ner; seqtruth datasets get pico\n"
        "seqtruth reproduce all -o DIR     # or one by one: table2 … best, then leak\n"
        f"cp -r DIR/*.md DIR/leak* DIR/{FILES} docs/\n```\n",
    ]
    rows = [
        Row.of(one) for name, found in tables.items() for one in found if name.startswith("table")
    ]
    return {
        folder / "reproduction.md": "\n".join(parts),
        folder / FILES / "differences.md": _differences(made, rows),
    }


def _differences(made: str, rows: Sequence[Row]) -> str:
    parts = ["# What does not reproduce, and why\n", made, not_comparable()]
    if far := _far(rows):
        parts += [
            f"F1 more than {FAR:.0f} point from the paper's (first split, conlleval), and the "
            "likeliest reason:\n",
            far + "\n",
        ]
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
    first: dict[tuple[str, str], tuple[str, str | None]] = {}
    lines = []
    for row in rows:
        main = first.setdefault((row.table, row.data), (row.split, row.abstain))
        if row.scoring != "conlleval" or (row.split, row.abstain) != main:
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
