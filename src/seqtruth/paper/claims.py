"""The paper's claims, each held against our runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from seqtruth.paper import systems
from seqtruth.paper.grid import Claim, Section
from seqtruth.paper.material import TITLES
from seqtruth.paper.scores import Row, pick
from seqtruth.paper.tables import markdown, number


def claims(sections: Sequence[Section]) -> list[Claim]:
    """All claims that the sections at hand can decide."""
    rows = [row for section in sections for row in section.rows]
    found = [*_majority(rows), *_best(rows), *_order(rows), *_modules(rows), *_taggers(rows)]
    return found + [claim for section in sections for claim in section.claims]


def claim_table(found: Sequence[Claim], link: Callable[[str], str]) -> str:
    """Claim, verdict, figures, and where they are from; ``link`` is the address of a table or figure."""
    return markdown(
        ["claim", "verdict", "figures (strict F1, conlleval unless said)", "evidence"],
        [
            [one.text, "holds" if one.holds else "**does not hold**", one.figures,
             f"[{one.where}]({link(one.where)})"]
            for one in found
        ],
    )  # fmt: skip


def _main(rows: Sequence[Row], table: str, data: str) -> list[Row]:
    """A block's rows on its first split and in its first reading of O, by conlleval."""
    its = pick(rows, table=table, data=data, scoring="conlleval")
    return [row for row in its if (row.split, row.abstain) == (its[0].split, its[0].abstain)]


def _majority(rows: Sequence[Row]) -> Iterator[Claim]:
    wanted = pick(rows, table="table2", data="ner", spec="mv", split="nguyen_test")
    for row in pick(wanted, scoring="b-required"):
        three = [(row.precision, row.paper_precision), (row.recall, row.paper_recall),
                 (row.f1, row.paper_f1)]  # fmt: skip
        yield Claim(
            "Majority vote on NER, the paper's row",
            all(abs(ours - (theirs or 0.0)) < 0.06 for ours, theirs in three),
            "b-required: " + ", ".join(f"{ours:.2f} ({number(theirs)})" for ours, theirs in three),
            "table2",
        )


def _best(rows: Sequence[Row]) -> Iterator[Claim]:
    for table, data in (("table2", "ner"), ("table2", "pico"), ("table3", "synthetic")):
        ours = pick(_main(rows, table, data), system=systems.AGGSLC.name)
        rest = [
            row for row in _main(rows, table, data)
            if row.paper_f1 is not None and not row.spec.startswith("aggslc")
        ]  # fmt: skip
        if ours and rest:
            best = max(rest, key=lambda row: row.f1)
            yield Claim(
                f"AggSLC is the best of the paper's systems on {TITLES[data]}",
                ours[0].f1 > best.f1,
                f"{ours[0].f1:.2f}, {best.system} {best.f1:.2f}",
                table,
            )


def _order(rows: Sequence[Row]) -> Iterator[Claim]:
    for table, data in (("table2", "ner"), ("table2", "pico"), ("table3", "synthetic")):
        its = [
            row for row in _main(rows, table, data)
            if row.paper_f1 is not None and row.system != systems.AGGSLC_PAPER.name
        ]  # fmt: skip
        if len(its) > 1:
            theirs = sorted(its, key=lambda row: row.paper_f1 or 0.0)
            ours = sorted(its, key=lambda row: row.f1)
            yield Claim(
                f"The systems come in the paper's order on {TITLES[data]}",
                theirs == ours,
                " < ".join(row.system for row in ours),
                table,
            )


def _modules(rows: Sequence[Row]) -> Iterator[Claim]:
    for data in ("ner", "pico"):
        its = {row.spec: row for row in _main(rows, "table4", data)}
        whole = [row for row in its.values() if row.system == systems.ABLATIONS[0].name]
        names = [one.name for one in systems.ABLATIONS[1:]]
        parts = [row for row in its.values() if row.system in names]
        if whole and parts:
            yield Claim(
                f"AggSLC is above its own ablations on {TITLES[data]}",
                all(whole[0].f1 > row.f1 for row in parts),
                f"{whole[0].f1:.2f}; " + ", ".join(f"{row.system} {row.f1:.2f}" for row in parts),
                "table4",
            )


def _taggers(rows: Sequence[Row]) -> Iterator[Claim]:
    for data in ("ner", "pico"):
        its = _main(rows, "table5", data)
        ours = [row for row in its if row.spec.startswith("aggslc")]
        theirs = [row for row in its if row.spec.startswith("dl-cl")]
        if ours and theirs:
            yield Claim(
                f"AggSLC's tagger is above DL-CL's on {TITLES[data]}",
                all(ours[0].f1 > row.f1 for row in theirs),
                f"{ours[0].f1:.2f}; " + ", ".join(f"{row.system} {row.f1:.2f}" for row in theirs),
                "table5",
            )
