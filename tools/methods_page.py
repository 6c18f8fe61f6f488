"""Make docs/methods.md from the output of ``seqtruth compare --json`` (the page names the commands).

python tools/methods_page.py RUN.jsonl [RUN.jsonl ...]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from seqtruth.paper import systems
from seqtruth.paper.paper import figures

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"
#: Rows of the page: all systems, the ablations before AggSLC itself.
_AT = systems.ALL.index(systems.AGGSLC_PAPER)
ROWS = (*systems.ALL[:_AT], *reversed(systems.ABLATIONS[1:]), *systems.ALL[_AT:])
NER, PICO = ("nguyen_test", "aggslc_3466"), ("all", "odd")


def main(paths: list[str]) -> None:
    rows = [json.loads(line) for path in paths for line in Path(path).read_text().splitlines()]
    found = {(r["method"], r["dataset"], r["split"], r["strict"]): r for r in rows}
    before, _, after = PAGE.read_text().partition("<!-- tables -->")
    after = after.partition("<!-- end of tables -->")[2]
    text = "\n\n".join(
        table(found, data, splits) for data, splits in (("ner", NER), ("pico", PICO))
    )
    PAGE.write_text(f"{before}<!-- tables -->\n\n{text}\n\n<!-- end of tables -->{after}")


def table(found: dict[tuple[str, str, str, str], dict], data: str, splits: tuple[str, str]) -> str:
    head = ["system", "paper"]
    head += [f"{split} {reading}" for split in splits for reading in ("conlleval", "strict-B")]
    head += ["P / R", "seconds", "peak MiB"]
    lines = [f"**{data.upper()}**", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for system in ROWS:
        spec = system.spec
        first = found.get((spec, data, splits[0], "conlleval"))
        if first is None:
            continue
        known = figures("table2", data, system.paper) or figures("table4", data, system.paper)
        cells = [system.name, "–" if known is None else f"{known.strict.f1:.2f}"]
        for split in splits:
            for reading in ("conlleval", "b-required"):
                cells.append(score(found[spec, data, split, reading]))
        cells.append(f"{100 * first['precision']:.1f} / {100 * first['recall']:.1f}")
        cells += [f"{first['seconds']:.1f}", f"{first['peak_mib']:.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def score(row: dict) -> str:
    spread = row["f1_spread"]
    return f"{100 * row['f1']:.2f}" + (f" ± {100 * spread:.2f}" if spread and spread > 5e-5 else "")


if __name__ == "__main__":
    main(sys.argv[1:])
