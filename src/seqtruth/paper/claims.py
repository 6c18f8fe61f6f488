"""The paper's claims, each held against our tables (which may be of several calls)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from seqtruth.paper import paper, systems
from seqtruth.paper.leak_page import NEAR, TEACHER_WORDS
from seqtruth.paper.material import TITLES
from seqtruth.paper.scores import Row, pick
from seqtruth.paper.tables import markdown, number

#: Tables that systems are ordered in.
_RANKED = (("table2", "ner"), ("table2", "pico"), ("table3", "synthetic"))
_SHORT = {
    "mv": "MV", "crf-ma": "CRF-MA", "hmm-crowd": "HMM-crowd", "bsc-seq": "BSC-seq", "optsla": "OptSLA",
    "aggslc": "AggSLC",
}  # fmt: skip
#: Rows as in a CSV, by the table's or figure's name.
Tables = Mapping[str, Sequence[Mapping[str, Any]]]


class Claim(NamedTuple):
    """What the paper claims, its figures and ours, whether it holds here, and where that is from."""

    text: str
    paper: str
    ours: str
    holds: bool
    where: str


def claims(tables: Tables) -> list[Claim]:
    """All claims that the tables at hand can decide."""
    rows = [
        Row.of(one) for name, found in tables.items() for one in found if name.startswith("table")
    ]
    return [
        *_majority(rows),
        *_best(rows),
        *_order(rows),
        *_modules(rows),
        *_taggers(rows),
        *_weights(tables.get("figure-weights", ())),
        *_falls(tables.get("figure-convergence", ())),
        *_without_gold(tables.get("leak", ())),
    ]


def claim_table(found: Sequence[Claim], links: Mapping[str, str]) -> str:
    """Claim, the paper's figures, ours, verdict, evidence; ``links`` are addresses by name."""
    return markdown(
        ["claim", "paper", "ours", "verdict", "evidence"],
        [
            [one.text, one.paper, one.ours, "holds" if one.holds else "**does not hold**",
             f"[{one.where}]({links[one.where]})"]
            for one in found
        ],
    )  # fmt: skip


def first_rows(rows: Sequence[Row], table: str, data: str) -> list[Row]:
    """A block's rows on its first split and in its first reading of O, by conlleval."""
    its = pick(rows, table=table, data=data, scoring="conlleval")
    return [row for row in its if (row.split, row.abstain) == (its[0].split, its[0].abstain)]


def _short(row: Row) -> str:
    return _SHORT[row.spec.partition(":")[0]]


def _majority(rows: Sequence[Row]) -> Iterator[Claim]:
    wanted = pick(rows, table="table2", data="ner", spec="mv", split="nguyen_test")
    for row in pick(wanted, scoring="b-required"):
        ours = row.precision, row.recall, row.f1
        theirs = row.paper_precision, row.paper_recall, row.paper_f1
        yield Claim(
            "Majority vote on NER, the paper's row (`b-required`)",
            " / ".join(number(x) for x in theirs),
            " / ".join(number(x) for x in ours),
            all(abs(a - (b or 0.0)) < 0.06 for a, b in zip(ours, theirs, strict=True)),
            "table2",
        )


def _best(rows: Sequence[Row]) -> Iterator[Claim]:
    for table, data in _RANKED:
        its = [row for row in first_rows(rows, table, data) if row.paper_f1 is not None]
        ours = pick(its, system=systems.AGGSLC.name)
        rest = [row for row in its if not row.spec.startswith("aggslc")]
        if ours and rest:
            best = max(rest, key=lambda row: row.f1)
            second = max(rest, key=lambda row: row.paper_f1 or 0.0)
            yield Claim(
                f"AggSLC is the best of the paper's systems on {TITLES[data]}",
                f"{number(ours[0].paper_f1)}, {_short(second)} {number(second.paper_f1)}",
                f"{ours[0].f1:.2f}, {_short(best)} {best.f1:.2f}",
                ours[0].f1 > best.f1,
                table,
            )


def _order(rows: Sequence[Row]) -> Iterator[Claim]:
    for table, data in _RANKED:
        its = [
            row for row in first_rows(rows, table, data)
            if row.paper_f1 is not None and row.system != systems.AGGSLC_PAPER.name
        ]  # fmt: skip
        if len(its) > 1:
            theirs = sorted(its, key=lambda row: row.paper_f1 or 0.0)
            ours = sorted(its, key=lambda row: row.f1)
            yield Claim(
                f"The order of the systems on {TITLES[data]}",
                " < ".join(_short(row) for row in theirs),
                " < ".join(_short(row) for row in ours),
                theirs == ours,
                table,
            )


def _modules(rows: Sequence[Row]) -> Iterator[Claim]:
    names = {
        systems.ABLATIONS[1].name: "− L_inc",
        systems.ABLATIONS[2].name: "− L_pred",
        systems.ABLATIONS[3].name: "− both",
    }
    for data in ("ner", "pico"):
        its = first_rows(rows, "table4", data)
        whole = pick(its, system=systems.ABLATIONS[0].name)
        parts = [row for row in its if row.system in names]
        if whole and parts:
            yield Claim(
                f"AggSLC is above its own ablations on {TITLES[data]}",
                "; ".join([number(whole[0].paper_f1),
                           *(f"{names[row.system]} {number(row.paper_f1)}" for row in parts)]),
                "; ".join([number(whole[0].f1),
                           *(f"{names[row.system]} {number(row.f1)}" for row in parts)]),
                all(whole[0].f1 > row.f1 for row in parts),
                "table4",
            )  # fmt: skip


def _taggers(rows: Sequence[Row]) -> Iterator[Claim]:
    for data in ("ner", "pico"):
        its = first_rows(rows, "table5", data)
        ours = [row for row in its if row.spec.startswith("aggslc")]
        theirs = [row for row in its if row.spec.startswith("dl-cl")]
        if ours and theirs:
            yield Claim(
                f"AggSLC's tagger is above DL-CL's on {TITLES[data]}",
                f"{number(ours[0].paper_f1)}; {number(theirs[0].paper_f1)}",
                f"{ours[0].f1:.2f}; " + ", ".join(f"{row.f1:.2f}" for row in theirs),
                all(ours[0].f1 > row.f1 for row in theirs),
                "table5",
            )


def _weights(rows: Sequence[Mapping[str, Any]]) -> Iterator[Claim]:
    for row in rows:
        if row["system"] == systems.AGGSLC.name and row["least"] == 1:
            both = [("pearson", "Pearson"), ("spearman", "Spearman")]
            yield Claim(
                f"AggSLC's weights go with F1 at least as closely, {TITLES[row['data']]}",
                ", ".join(f"{word} {row[f'paper_{key}']:.2f}" for key, word in both),
                ", ".join(f"{word} {row[key]:.2f}" for key, word in both),
                all(round(row[key], 2) >= row[f"paper_{key}"] for key, _ in both),
                "figure-weights",
            )


def _falls(rows: Sequence[Mapping[str, Any]]) -> Iterator[Claim]:
    courses: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        courses.setdefault((row["data"], row["settings"]), []).append(row["F"])
    for (data, settings), course in courses.items():
        if "without" not in settings:
            yield Claim(
                f"F falls over the first three rounds, {TITLES[data]}, {settings}",
                "falls",
                ", ".join(f"{f:,.0f}" for f in course[:3]),
                all(b <= a for a, b in pairwise(course[:3])),
                "figure-convergence",
            )


def _without_gold(rows: Sequence[Mapping[str, Any]]) -> Iterator[Claim]:
    """Whether AggSLC's row comes out, about, with a tagger that has seen the crowd only."""
    for data in ("ner", "pico"):
        its = [
            row for row in rows
            if (row["data"], row["teacher"], row["modules"]) == (data, "crowd", "whole")
        ]  # fmt: skip
        beside = paper.figures("table4", data, systems.AGGSLC.paper)
        if its and beside is not None:
            printed = beside.strict.f1
            best = min(its, key=lambda row: abs(row["f1"] - printed))
            yield Claim(
                f"AggSLC's F1 on {TITLES[data]} with a ready tagger that has seen no gold",
                f"{printed:.2f}",
                f"{best['f1']:.2f} ({TEACHER_WORDS['crowd'][4:]}, {best['kind']})",
                abs(best["f1"] - printed) <= NEAR,
                "leak",
            )
