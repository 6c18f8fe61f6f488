"""Reading the evaluation data's layout: gzipped TSV tables of sentences, annotations, gold, splits."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.errors import InputError
from seqtruth.io.files import read_bytes, write_chunks


@dataclass(frozen=True)
class Dataset:
    """A crowd, its gold standard and the sentences that count.

    Parameters
    ----------
    name : of the data set.
    crowd : the annotations.
    gold : the gold standard as a crowd of one, over the same sentences as ``crowd`` (no row where
        there is no gold).
    splits : name -> bool[S] over the sentences of ``crowd``.
    """

    name: str
    crowd: Crowd
    gold: Crowd
    splits: Mapping[str, npt.NDArray[np.bool_]]

    @property
    def info(self) -> dict[str, Any]:
        """Figures, splits, licence, source and citation."""
        from seqtruth.datasets.summary import describe

        return describe(self)


@dataclass(frozen=True)
class Table:
    """A table to be written: names of its columns, and its rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def write_table(path: Path, table: Table) -> str:
    """Write a table, same rows, same bytes; returns its :func:`content_digest`."""
    lines = ["\t".join(row) + "\n" for row in (table.columns, *table.rows)]
    content = "".join(lines).encode()
    write_chunks(path, [content])
    return hashlib.sha256(content).hexdigest()


def content_digest(path: Path) -> str:
    """SHA-256 of a table's unpacked content, which does not depend on how it was packed."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def read_table(path: Path, *columns: str) -> Iterator[list[str]]:
    """Rows of a TSV file with a header, as lists of the named columns, in order."""
    if not path.is_file():
        raise InputError(
            "a table of the data set is missing", where=str(path),
            fix="point data_dir= or SEQTRUTH_DATA at a folder in the documented layout",
        )  # fmt: skip
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="\n") as file:
            header = file.readline().rstrip("\n").split("\t")
            missing = [name for name in columns if name not in header]
            if missing:
                raise InputError(
                    f"column {missing[0]!r} is missing", where=f"{path}:1", got=", ".join(header)
                )
            places = [header.index(name) for name in columns]
            for number, line in enumerate(file, 2):
                cells = line.rstrip("\n").split("\t")
                if len(cells) != len(header):
                    raise InputError(
                        f"expected {len(header)} columns", where=f"{path}:{number}",
                        got=str(len(cells)),
                    )  # fmt: skip
                yield [cells[place] for place in places]
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path)) from error


def read_corpus(paths: list[Path]) -> Corpus:
    """Sentences of one or several tables."""
    ids, documents, sentences = [], [], []
    for path in paths:
        for sentence, document, tokens in read_table(path, "sentence_id", "doc_id", "tokens"):
            ids.append(sentence)
            documents.append(document)
            sentences.append(tokens.split(" "))
    return Corpus.of(sentences, ids, documents)


def read_labels(corpus: Corpus, paths: list[Path], column: str, worker_column: str | None) -> Crowd:
    """Label sequences on ``corpus``; all by one hand, ``gold``, where there is no worker column."""
    place = {name: i for i, name in enumerate(corpus.sentence_ids.to_pylist())}
    lengths = np.diff(corpus.token_offsets)
    workers: dict[str, int] = {}
    labels: dict[str, int] = {}
    sentence, worker, tags = [], [], []
    for path in paths:
        names = ("sentence_id", column) + ((worker_column,) if worker_column else ())
        for number, cells in enumerate(read_table(path, *names), 2):
            where = f"{path}:{number}"
            if cells[0] not in place:
                raise InputError("no such sentence", where=where, got=repr(cells[0]))
            sequence = cells[1].split(" ")
            if len(sequence) != lengths[place[cells[0]]]:
                raise InputError(
                    f"the sentence has {lengths[place[cells[0]]]} tokens", where=where,
                    got=f"{len(sequence)} labels",
                )  # fmt: skip
            sentence.append(place[cells[0]])
            worker.append(workers.setdefault(cells[2] if worker_column else "gold", len(workers)))
            tags += [labels.setdefault(label, len(labels)) for label in sequence]
    return Crowd.build(
        corpus, list(labels), list(workers), sentence, worker, np.array(tags, np.int16), "iob2"
    )


def read_splits(corpus: Corpus, path: Path) -> dict[str, npt.NDArray[np.bool_]]:
    """Masks over the sentences of ``corpus`` by split name; ids not in it are passed over."""
    place = {name: i for i, name in enumerate(corpus.sentence_ids.to_pylist())}
    masks: dict[str, npt.NDArray[np.bool_]] = {}
    for sentence, split in read_table(path, "sentence_id", "split"):
        mask = masks.setdefault(split, np.zeros(corpus.n_sentences, np.bool_))
        if sentence in place:
            mask[place[sentence]] = True
    return {name: mask for name, mask in masks.items() if mask.any()}
