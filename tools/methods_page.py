"""Make docs/methods.md from the output of ``seqtruth compare --json`` (the page names the commands).

python tools/methods_page.py RUN.jsonl [RUN.jsonl ...]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"
#: Name on the page, and the paper's strict F1 on NER and PICO where it reports one.
ROWS = {
    "mv": ("Majority vote", 65.4, 51.99),
    "ds": ("Dawid-Skene", None, None),
    "mace": ("MACE", None, None),
    "crh": ("CRH", None, None),
    "catd": ("CATD", None, None),
    "crf-ma": ("CRF-MA", 62.53, None),
    "hmm-crowd": ("HMM-crowd, EM", 74.76, 48.03),
    "hmm-crowd:variational=true;smoothing=0.1": ("HMM-crowd, variational", None, None),
    "bsc-acc": ("BSC, one accuracy", None, None),
    "bsc-spam": ("BSC, spammer model", None, None),
    "bsc-cv": ("BSC, confusion vector", None, None),
    "bsc-cm": ("BSC, confusion matrix", None, None),
    "bsc-seq": ("BSC-seq", 76.87, 53.56),
    "bsc-seq-if": ("BSC-seq with text features", None, None),
    "optsla:predictor=none": ("OptSLA without predictor", None, None),
    "optsla": ("OptSLA with CRF", 78.49, 55.84),
    "aggslc:predictor=none;decoding=none": ("AggSLC − L_inc − L_pred", 68.32, 52.00),
    "aggslc:predictor=none": ("AggSLC − L_pred", 70.48, 55.09),
    "aggslc:decoding=none": ("AggSLC − L_inc, with CRF", 79.12, 53.55),
    "aggslc:prediction=low-confidence;class_weights=inverse;average=token;threshold=0.9": (
        "AggSLC, the paper's settings, with CRF", 80.79, 57.77,
    ),
    "aggslc": ("AggSLC with CRF, our defaults", 80.79, 57.77),
    "dl-cl": ("DL-CL, VW (aggregating)", None, None),
    "dl-cl:variant=MW": ("DL-CL, MW (aggregating)", None, None),
    "lstm-crowd:variant=add": ("LSTM-Crowd", None, None),
    "lstm-crowd": ("LSTM-Crowd-cat", None, None),
}  # fmt: skip
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
    for spec, (name, *paper) in ROWS.items():
        first = found.get((spec, data, splits[0], "conlleval"))
        if first is None:
            continue
        published = paper[0 if data == "ner" else 1]
        cells = [name, "–" if published is None else f"{published:.2f}"]
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
