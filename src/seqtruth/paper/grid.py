"""What the tables have in common: systems by data sets, scored beside the paper's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.paper import paper
from seqtruth.paper.material import TITLES
from seqtruth.paper.plots import Pair, pairs
from seqtruth.paper.runs import Job, Run
from seqtruth.paper.scores import Row, Subject, pick, rows_of
from seqtruth.paper.significance import Contest, contest_table, contests
from seqtruth.paper.systems import System
from seqtruth.paper.tables import order, relaxed_table, strict_table
from seqtruth.paper.workshop import Workshop


class Section(NamedTuple):
    """One table or figure of the page.

    name : as on the command line, and the beginning of its files' names.
    text : Markdown below the title; ``{files}`` stands for the folder of its plots.
    csv : rows by file name.
    plots : SVG by file name.
    rows : what is scored against the paper, for the list of differences.
    """

    name: str
    title: str
    text: str
    csv: Mapping[str, Sequence[Mapping[str, Any]]]
    plots: Mapping[str, str] = {}
    rows: Sequence[Row] = ()


@dataclass(frozen=True)
class Block:
    """Systems on one data set.

    Parameters
    ----------
    data : the crowd they are run on.
    systems : the rows.
    champions : systems whose wins are claimed, each with those it is held against (all where empty).
    beside : the paper's data set, where it is not called as ``data``.
    abstain : a tag that is no vote.
    words : what distinguishes the block, for headings.
    held_out : score the trained taggers on text of their own, not the labels.
    """

    data: str
    systems: tuple[System, ...]
    champions: tuple[tuple[System, tuple[System, ...]], ...]
    beside: str = ""
    abstain: str | None = None
    words: str = ""
    held_out: bool = False

    @property
    def name(self) -> str:
        return self.beside or self.data

    @property
    def title(self) -> str:
        return TITLES[self.name] + (f", {self.words}" if self.words else "")

    @property
    def file(self) -> str:
        return "-".join([self.name, *self.words.split()])


class View(NamedTuple):
    """Sentences that are scored; ``text`` names the held-out text they are of."""

    split: str
    gold: Crowd
    sentences: np.ndarray
    text: str | None = None

    def labelling(self, run: Run, crowd: Crowd) -> Labelling:
        if self.text is None:
            return run.labelling(crowd)
        return Labelling(self.gold.corpus, run.scheme, run.held_out[self.text])


def views(work: Workshop, block: Block) -> list[View]:
    """What is scored, the main one first."""
    material = work.material(block.data)
    if not block.held_out:
        data = material.data
        return [View(split, data.gold, data.splits[split]) for split in material.splits]
    return [
        View(name if split == "all" else f"{name}, {split}", text.gold, mask, name)
        for name, text in material.held_out.items()
        for split, mask in text.splits.items()
    ]


def table_jobs(work: Workshop, blocks: Sequence[Block]) -> list[tuple[Job, float]]:
    return [job for one in blocks for job in work.jobs(one.systems, one.data, one.abstain)]


def table_section(
    work: Workshop, name: str, title: str, blocks: Sequence[Block], intro: str = ""
) -> Section:
    """The whole of a table: strict and relaxed, figures, order, contests."""
    parts, rows, plots = [intro] if intro else [], list[Row](), {}
    won: list[dict[str, Any]] = []
    for block in blocks:
        seen = views(work, block)
        if not seen:
            parts.append(
                f"### {block.title}\n\nNot here: this copy of the data has no such text.\n"
            )
            continue
        found, absent = _score(work, name, block, seen)
        rows += found
        for view in seen:
            its = pick(found, split=view.split)
            n = f"{its[0].sentences:,} sentences" if its else "no system ran"
            parts.append(f"### {block.title}, `{view.split}` ({n}): strict\n")
            parts.append(strict_table(its, absent) + "\n")
        main = pick(found, split=seen[0].split)
        if not main:
            continue
        plots[f"{name}-{block.file}.svg"] = _picture(main, f"{title}, {block.title}")
        parts.append(f"![Strict F1, {block.title}]({{files}}/{name}-{block.file}.svg)\n")
        parts.append(f"Order by strict F1 (conlleval) on `{seen[0].split}`:\n")
        parts.append(order(pick(main, scoring="conlleval")) + "\n")
        parts.append(f"### {block.title}, `{seen[0].split}`: relaxed\n")
        parts.append(relaxed_table(main) + "\n")
        tried = _contests(work, name, block, seen[0])
        won += [one.to_dict() | {"abstain": block.abstain} for one in tried]
        if tried:
            parts.append(f"### {block.title}, `{seen[0].split}`: is it more than luck?\n")
            parts.append(contest_table(tried) + "\n")
    csv = {f"{name}.csv": [row.to_dict() for row in rows], f"{name}-bootstrap.csv": won}
    return Section(name, title, "\n".join(parts), csv, plots, rows)


def _runs(work: Workshop, block: Block, system: System) -> list[Run]:
    runs = work.runs(system, block.data, block.abstain)
    return [run for run in runs if run.held_out] if block.held_out else runs


def _score(
    work: Workshop, table: str, block: Block, seen: Sequence[View]
) -> tuple[list[Row], dict[str, str]]:
    """Rows of the systems that ran, and why the others did not."""
    crowd = work.material(block.data).crowd
    rows: list[Row] = []
    absent = {}
    for system in block.systems:
        runs = _runs(work, block, system)
        if not runs:
            absent[system.name] = work.why_not(system, block.data)
            continue
        subject = Subject(table, block.name, system.name, system.words(work.quick), block.abstain)
        beside = paper.figures(table, block.name, system.paper)
        for view in seen:
            labels = [view.labelling(run, crowd) for run in runs]
            rows += rows_of(subject, view.split, labels, view.gold, view.sentences, beside)
    return rows, absent


def _contests(work: Workshop, table: str, block: Block, view: View) -> list[Contest]:
    """Champions against the others, by the labels of the first seed."""
    crowd = work.material(block.data).crowd
    ran = {system: _runs(work, block, system) for system in block.systems}
    labels = {system.name: view.labelling(runs[0], crowd) for system, runs in ran.items() if runs}
    found: list[Contest] = []
    for champion, others in block.champions:
        if champion.name in labels:
            names = [one.name for one in others or block.systems if one.name in labels]
            found += contests(
                (table, block.name, view.split), (champion.name, labels[champion.name]),
                [(name, labels[name]) for name in names], view.gold, view.sentences,
            )  # fmt: skip
    return found


def _picture(rows: Sequence[Row], title: str) -> str:
    return pairs(
        [
            Pair(row.system, row.paper_f1, row.f1, row.spread or 0.0)
            for row in pick(rows, scoring="conlleval")
        ],
        "strict F1, % (ours: conlleval)",
        title,
    )
