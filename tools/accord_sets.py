"""The default on every development set: span F1 beside the vote; confidence claimed and right, by type.

    python tools/accord_sets.py --data-dir DIR [--sets essays,bambara] [--method accord] [--seed 0] [--alone]

``DIR`` holds folders of tables (sentences, annotations, gold, splits), as ``seqtruth datasets`` writes them.
Confidences are compared on the part that may be tuned on; with ``--alone`` nothing else is labelled.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.datasets.tables import read_corpus, read_labels, read_splits
from seqtruth.methods import make_method
from seqtruth.metrics.span import judgeable, keep_spans, same_spans

#: Folder, the part that may be tuned on, and those that are only reported.
SETS = {
    "essays": ("experts/essays", "tune", ("report",)),
    "bambara": ("models/bambara", "tune", ("report",)),
    "ncbi-disease": ("rules/ncbi-disease", "train+valid", ("test",)),
    "bc5cdr": ("rules/bc5cdr", "train+valid", ("test",)),
    "conll-rules": ("rules/conll-rules", "valid", ("test",)),
    "ner": ("ner", "nguyen_val", ("nguyen_test", "aggslc_3466")),
    "pico": ("pico", "even", ("odd", "all")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--method", default="accord:predictor=crf")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--alone", action="store_true")
    options = parser.parse_args()
    for name in options.sets.split(","):
        crowd, gold, parts = load_set(name, options.data_dir)
        if options.alone:
            part, mask = next(iter(parts.items()))
            crowd, gold = crowd[np.flatnonzero(mask)], gold[np.flatnonzero(mask)]
            parts = {part: np.ones(crowd.n_sentences, np.bool_)}
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = make_method(options.method, seed=options.seed).fit(crowd)
            vote = st.MajorityVote(abstain=None).fit(crowd)
        seconds = time.perf_counter() - began
        scores = ", ".join(
            f"{part} {100 * st.evaluate(result, gold, sentences=mask).f1:.1f}"
            f" (vote {100 * st.evaluate(vote, gold, sentences=mask).f1:.1f})"
            for part, mask in parts.items()
        )
        print(f"{name}: {scores} · {result.provenance.get('chosen', '')} · {seconds:.0f} s")
        print("  claimed/right:", _claims(result, gold, parts[SETS[name][1]]))
        for text in result.warnings:
            print("  !", text)


def load_set(name: str, folder: Path) -> tuple[Crowd, Crowd, dict[str, np.ndarray]]:
    place, tune, report = SETS[name]
    if name in ("ner", "pico"):
        data = st.datasets.load(name, data_dir=folder)
        crowd, gold, splits = data.crowd, data.gold, dict(data.splits)
    else:
        here = folder / place
        corpus = read_corpus([here / "sentences.tsv.gz"])
        crowd = read_labels(corpus, [here / "annotations.tsv.gz"], "labels", "worker_id")
        gold = read_labels(corpus, [here / "gold.tsv.gz"], "labels", None)
        splits = read_splits(corpus, here / "splits.tsv.gz")
    parts = {
        part: np.any([splits[one] for one in part.split("+")], axis=0) for part in (tune, *report)
    }
    return crowd, gold, parts


def _claims(result: st.Result, gold: Crowd, mask: np.ndarray) -> str:
    """Mean confidence and share of right spans, by type."""
    truth = gold.labelling().recode(result.scheme)
    assert truth.corpus.n_tokens == result.corpus.n_tokens
    offsets = result.corpus.token_offsets
    ours = st.data.spans.extract(result.tags, offsets, result.scheme, "conlleval")
    theirs = st.data.spans.extract(truth.tags, offsets, result.scheme, "conlleval")
    keep = judgeable(ours, truth.tags, offsets) & mask[ours.sequence]
    claimed = result.span_confidence()[keep]
    ours = keep_spans(ours, keep)
    right = same_spans(ours, theirs, offsets)
    return ", ".join(
        f"{kind} {claimed[ours.type == k].mean():.2f}/{right[ours.type == k].mean():.2f}"
        f" ({int((ours.type == k).sum())})"
        for k, kind in enumerate(result.scheme.types)
        if (ours.type == k).any()
    )


if __name__ == "__main__":
    main()
