"""The data sets in their real layout, made from the demo corpus: small enough to run everything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from seqtruth import datasets
from seqtruth.data.crowd import Crowd
from seqtruth.datasets import synthetic, synthetic_demo
from seqtruth.datasets.tables import Table, write_table

#: Documents of the demo that are taken for each part.
CROWD, HELD_OUT = 10, 4
VERSION = "miniature"


def make_data(folder: Path) -> Path:
    """``folder`` with ``ner``, ``pico`` and the labels of ``synthetic``; returns it."""
    demo = datasets.load("demo")
    number = demo.crowd.corpus.sentence_document
    crowd, gold = demo.crowd[number < CROWD], demo.gold[number < CROWD]
    later = demo.gold[(number >= CROWD) & (number < CROWD + HELD_OUT)]
    _ner(folder / "ner", crowd, gold, later)
    _pico(folder / "pico", demo.crowd)
    _synthetic(folder, number < CROWD)
    return folder


def sequences(crowd: Crowd) -> list[tuple[str, str, str]]:
    """Sentence, annotator and labels of every row."""
    ids = crowd.corpus.sentence_ids.to_pylist()
    labels = np.array(crowd.scheme.labels)
    rows = []
    for row, (sentence, annotator) in enumerate(
        zip(crowd.row_sentence, crowd.row_annotator, strict=True)
    ):
        tags = crowd.tags[crowd.row_offsets[row] : crowd.row_offsets[row + 1]]
        rows.append((ids[sentence], crowd.annotators[annotator], " ".join(labels[tags])))
    return rows


def sentences(crowd: Crowd, names: Sequence[str] | None = None) -> list[tuple[str, str, str]]:
    corpus = crowd.corpus
    documents = corpus.documents if names is None else names
    return [
        (name, documents[corpus.sentence_document[i]], " ".join(corpus.words(i)))
        for i, name in enumerate(corpus.sentence_ids.to_pylist())
    ]


def _write(folder: Path, tables: dict[str, tuple[Sequence[str], Sequence[Sequence[str]]]]) -> None:
    folder.mkdir(parents=True)
    for name, (columns, rows) in tables.items():
        write_table(folder / f"{name}.tsv.gz", Table(columns, rows))


def _ner(folder: Path, crowd: Crowd, gold: Crowd, later: Crowd) -> None:
    ids = crowd.corpus.sentence_ids.to_pylist()
    half = len(ids) // 2
    splits = [(name, "nguyen_val" if i < half else "nguyen_test") for i, name in enumerate(ids)]
    splits += [(name, "aggslc_3466") for name in ids[half // 2 : half + half // 2]]
    labels = {name: tags for name, _, tags in sequences(later)}
    held_out = [
        (*row, labels[row[0]], "testa" if i % 2 else "testb")
        for i, row in enumerate(sentences(later))
    ]
    sentence = ("sentence_id", "doc_id", "tokens")
    _write(
        folder,
        {
            "sentences": (sentence, sentences(crowd)),
            "annotations": (("sentence_id", "worker_id", "labels"), sequences(crowd)),
            "gold": (
                ("sentence_id", "labels", "labels_raw"),
                [(name, tags, tags) for name, _, tags in sequences(gold)],
            ),
            "splits": (("sentence_id", "split"), splits),
            "conll2003_task2_eval": ((*sentence, "labels", "split"), held_out),
        },
    )


def _pico(folder: Path, crowd: Crowd) -> None:
    """Documents get numbers; the first six have gold, the next six are ``dev``."""
    number = crowd.corpus.sentence_document
    parts = {"acl17-test": crowd[number < 6], "nogold": crowd[(number >= 6) & (number < 12)]}
    tables: dict[str, tuple[Sequence[str], Sequence[Sequence[str]]]] = {}
    splits = []
    for name, part in parts.items():
        names = [str(1000 + i) for i in range(len(crowd.corpus.documents))]
        where = {doc: names[i] for i, doc in enumerate(crowd.corpus.documents)}
        its = [where[doc] for doc in part.corpus.documents]
        tables[f"sentences_{name}"] = (("sentence_id", "doc_id", "tokens"), sentences(part, its))
        tables[f"annotations_{name}"] = (("sentence_id", "worker_id", "labels"), _par(part))
        ids = part.corpus.sentence_ids.to_pylist()
        splits += [(one, "dev" if name == "nogold" else name) for one in ids]
    truth = datasets.load("demo").gold[number < 6]
    tables["gold"] = (("sentence_id", "labels"), [(s, tags) for s, _, tags in _par(truth)])
    tables["splits"] = (("sentence_id", "split"), splits)
    _write(folder, tables)


def _par(crowd: Crowd) -> list[tuple[str, str, str]]:
    """Rows with persons as participants and nothing else."""
    found = []
    for sentence, annotator, tags in sequences(crowd):
        words = [t.replace("PER", "PAR") if t.endswith("-PER") else "O" for t in tags.split(" ")]
        found.append((sentence, annotator, " ".join(words)))
    return found


def _synthetic(folder: Path, chosen: np.ndarray) -> None:
    """Labels of the imitated programs, so that no program has to run."""
    crowd = synthetic_demo.load().crowd[chosen]
    corpus = datasets.load("ner", folder).crowd.corpus
    shelf = synthetic.Shelf.open(None, folder / "synthetic", corpus)
    place = folder / "synthetic"
    place.mkdir()
    rows = [(sentence, annotator, tags) for sentence, annotator, tags in sequences(crowd)]
    write_table(place / synthetic.LABELS, Table(("sentence_id", "worker_id", "labels"), rows))
    who = [(name, VERSION, "this test", shelf.text) for name in crowd.annotators]
    columns = ("worker_id", "version", "source", "text")
    write_table(place / synthetic.ANNOTATORS, Table(columns, who))
