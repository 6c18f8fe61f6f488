"""Make the tables of docs/methods.md from runs (the page names the commands).

python tools/methods_page.py RUN [RUN ...]

RUN is the output of ``seqtruth compare --json``, or ``best.csv`` of ``seqtruth reproduce best``; such runs
share machine and process with others, so that their seconds and memory are not told. Systems that no RUN
has keep the row they have on the page.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from seqtruth.paper import systems
from seqtruth.paper.paper import figures
from seqtruth.paper.tables import csv_rows

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"
#: Rows of the page: all systems, the ablations before AggSLC itself, and after it its further predictors.
_AT, _THEN = systems.ALL.index(systems.AGGSLC_PAPER), systems.ALL.index(systems.AGGSLC) + 1
_MORE = tuple(one for one in systems.BEST if one not in (*systems.ALL, systems.ALONE))
ROWS = (
    *systems.ALL[:_AT], *reversed(systems.ABLATIONS[1:]), *systems.ALL[_AT:_THEN],
    *(one for one in _MORE if one is not systems.ACCORD_CRF), *systems.ALL[_THEN:-1],
    systems.ACCORD_CRF, systems.ACCORD,
)  # fmt: skip
NER, PICO = ("nguyen_test", "aggslc_3466"), ("all", "odd")
Found = dict[tuple[str, str, str, str], dict]


def main(paths: list[str]) -> None:
    found: Found = {}
    for path in map(Path, paths):
        found |= _reproduced(path) if path.suffix == ".csv" else _compared(path)
    before, _, after = PAGE.read_text().partition("<!-- tables -->")
    old, _, after = after.partition("<!-- end of tables -->")
    text = "\n\n".join(
        table(found, data, splits, _kept(old, data))
        for data, splits in (("ner", NER), ("pico", PICO))
    )
    PAGE.write_text(f"{before}<!-- tables -->\n\n{text}\n\n<!-- end of tables -->{after}")


def _compared(path: Path) -> Found:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {(r["method"], r["dataset"], r["split"], r["strict"]): r for r in rows}


def _reproduced(path: Path) -> Found:
    return {
        (row["spec"], row["data"], row["split"], row["scoring"]): {
            "f1": row["f1"] / 100, "precision": row["precision"] / 100,
            "recall": row["recall"] / 100,
            "f1_spread": None if row["spread"] is None else row["spread"] / 100,
            "seconds": None,
            "peak_mib": None,
        }
        for row in csv_rows(path.read_text())
    }  # fmt: skip


def _kept(old: str, data: str) -> dict[str, str]:
    """Rows of the page as it is, by system."""
    part = old.partition(f"**{data.upper()}**")[2].partition("**")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines}


def table(found: Found, data: str, splits: tuple[str, str], kept: dict[str, str]) -> str:
    head = ["system", "paper"]
    head += [f"{split} {reading}" for split in splits for reading in ("conlleval", "strict-B")]
    head += ["P / R", "seconds", "peak MiB"]
    lines = [f"**{data.upper()}**", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for system in ROWS:
        spec = system.spec
        first = found.get((spec, data, splits[0], "conlleval"))
        if first is None:
            lines += [kept[system.name]] if system.name in kept else []
            continue
        known = figures("table2", data, system.paper) or figures("table4", data, system.paper)
        cells = [system.name, "–" if known is None else f"{known.strict.f1:.2f}"]
        for split in splits:
            for reading in ("conlleval", "b-required"):
                cells.append(score(found[spec, data, split, reading]))
        cells.append(f"{100 * first['precision']:.1f} / {100 * first['recall']:.1f}")
        cells.append("–" if first["seconds"] is None else f"{first['seconds']:.1f}")
        cells.append("–" if first["peak_mib"] is None else f"{first['peak_mib']:.0f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def score(row: dict) -> str:
    spread = row["f1_spread"]
    return f"{100 * row['f1']:.2f}" + (f" ± {100 * spread:.2f}" if spread and spread > 5e-5 else "")


if __name__ == "__main__":
    main(sys.argv[1:])
