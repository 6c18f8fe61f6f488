"""CoNLL-2003 news sentences labelled by 47 crowd workers (Rodrigues et al. 2014)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.datasets.tables import Dataset, read_corpus, read_labels, read_splits, read_table
from seqtruth.errors import ParameterError

GOLD_COLUMNS = {"raw": "labels_raw", "repaired": "labels"}
HELD_OUT = "conll2003_task2_eval.tsv.gz"


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
    columns = ("split", "sentence_id", "doc_id", "tokens", "labels")
    parts: dict[str, list[list[str]]] = {}
    for split, *row in read_table(folder / "ner" / HELD_OUT, *columns):
        parts.setdefault(split, []).append(row)
    found = {}
    for name, rows in parts.items():
        ids, documents, texts, labels = zip(*rows, strict=True)
        words = [text.split(" ") for text in texts]
        gold = Crowd.of({"gold": [tags.split(" ") for tags in labels]}, words, "iob2", list(ids))
        found[name] = replace(gold, corpus=Corpus.of(words, list(ids), list(documents)))
    return found
