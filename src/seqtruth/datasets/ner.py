"""CoNLL-2003 news sentences labelled by 47 crowd workers (Rodrigues et al. 2014)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seqtruth.data import Crowd
from seqtruth.datasets.tables import Dataset, read_corpus, read_labels, read_splits, read_table
from seqtruth.errors import ParameterError

GOLD_COLUMNS = {"raw": "labels_raw", "repaired": "labels"}


def load(folder: Path, gold: str = "raw") -> Dataset:
    """Read ``folder/ner``; ``gold="raw"`` is what the literature scores against.

    Splits: ``nguyen_val`` (tune here), ``nguyen_test``, ``aggslc_3466``, ``optsla_4515``,
    ``crowdlayer_5985``, ``no_crowd``, and ``all``: every sentence with crowd labels.
    """
    if gold not in GOLD_COLUMNS:
        raise ParameterError(f"gold must be one of {', '.join(GOLD_COLUMNS)}", got=repr(gold))
    where = folder / "ner"
    corpus = read_corpus([where / "sentences.tsv.gz"])
    crowd = read_labels(corpus, [where / "annotations.tsv.gz"], "labels", "worker_id")
    truth = read_labels(corpus, [where / "gold.tsv.gz"], GOLD_COLUMNS[gold], None)
    splits = read_splits(corpus, where / "splits.tsv.gz")
    return Dataset("ner", crowd, truth, splits | {"all": crowd.covered})


def load_held_out(folder: Path) -> dict[str, Crowd]:
    """CoNLL-2003 testa and testb with gold only, for scoring a trained tagger."""
    parts: dict[str, tuple[list[list[str]], list[list[str]], list[str]]] = {}
    table = folder / "ner" / "conll2003_task2_eval.tsv.gz"
    for split, sentence, tokens, labels in read_table(
        table, "split", "sentence_id", "tokens", "labels"
    ):
        lists = parts.setdefault(split, ([], [], []))
        for column, value in zip(lists[:2], (tokens, labels), strict=True):
            column.append(value.split(" "))
        lists[2].append(sentence)
    return {
        name: Crowd.of({"gold": labels}, tokens, "iob2", np.array(ids).tolist())
        for name, (tokens, labels, ids) in parts.items()
    }
