"""Abstracts of clinical trials in which crowd workers marked the population (Nguyen et al. 2017)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seqtruth.datasets.tables import Dataset, read_corpus, read_labels, read_splits


def load(folder: Path, unlabelled: bool = False) -> Dataset:
    """Read ``folder/pico``: the 191 abstracts with gold, and on request the 4,549 without.

    Splits: ``all`` (every sentence with gold), ``even`` and ``odd`` by document number (tune on the
    even ones), and the source's own ``acl17-test``, ``train``, ``dev``, ``test``.
    """
    where = folder / "pico"
    parts = ["acl17-test"] + (["nogold"] if unlabelled else [])
    corpus = read_corpus([where / f"sentences_{part}.tsv.gz" for part in parts])
    files = [where / f"annotations_{part}.tsv.gz" for part in parts]
    crowd = read_labels(corpus, files, "labels", "worker_id")
    gold = read_labels(corpus, [where / "gold.tsv.gz"], "labels", None)
    even = np.array([int(name) % 2 == 0 for name in corpus.documents])[corpus.sentence_document]
    splits = read_splits(corpus, where / "splits.tsv.gz")
    own = {"all": gold.covered, "even": gold.covered & even, "odd": gold.covered & ~even}
    return Dataset("pico", crowd, gold, splits | own)
