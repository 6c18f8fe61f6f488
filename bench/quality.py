"""What the labels are worth, so that nobody wins by doing less: ``python -m bench.quality SPEC``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import seqtruth as st
from bench.data import LABELS
from seqtruth.data.labelling import Labelling
from seqtruth.data.scheme import Scheme
from seqtruth.metrics import span_scores

BATCH = 1 << 20


class Truth:
    """The true labels in the file's order, and where each task's tokens are."""

    def __init__(self, path: Path) -> None:
        gold = st.read(path, scheme="iob2")
        numbers = np.array([LABELS.index(label) for label in gold.scheme.labels], np.int8)
        self.ids, self.offsets = gold.corpus.sentence_ids, gold.corpus.token_offsets
        self.corpus, self.scheme = gold.corpus, Scheme.of("iob2", LABELS)
        self.tags = numbers[gold.tags]

    def labelling(self, tags: np.ndarray) -> Labelling:
        return Labelling(self.corpus, self.scheme, tags)

    def read(self, path: Path) -> np.ndarray:
        """int8[T]: the labels of a table with task, token_index and label, in our order."""
        if path.suffix == ".npy":
            return np.asarray(np.load(path))
        tags = np.full(self.offsets[-1], -1, np.int8)
        for batch in _batches(path):
            sentence = _numbers(batch.column("task"), self.ids)
            place = self.offsets[sentence] + np.asarray(batch.column("token_index"))
            tags[place] = _numbers(batch.column("label"), pa.array(LABELS))
        return tags


def _batches(path: Path) -> Any:
    """The rows of a file, or of all files of a folder."""
    for one in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
        file = pq.ParquetFile(one, read_dictionary=["task", "label"])
        yield from file.iter_batches(BATCH, columns=["task", "token_index", "label"])


def _numbers(column: pa.DictionaryArray, values: pa.Array) -> np.ndarray:
    """Each row's place in ``values``."""
    spelled = column.dictionary.cast(pa.string())
    numbers = np.asarray(pc.index_in(spelled, value_set=values.cast(pa.string())))
    return numbers[np.asarray(column.indices)]


def ties(crowd: Path, truth: Truth) -> np.ndarray:
    """bool[T]: tokens on which two labels have the most votes."""
    votes = np.zeros((len(truth.tags), len(LABELS)), np.uint8)
    for batch in _batches(crowd):
        sentence = _numbers(batch.column("task"), truth.ids)
        place = truth.offsets[sentence] + np.asarray(batch.column("token_index"))
        np.add.at(votes, (place, _numbers(batch.column("label"), pa.array(LABELS))), 1)
    top = np.partition(votes, -2, axis=1)
    return np.asarray(top[:, -1] == top[:, -2])


def judge(spec: dict[str, Any]) -> dict[str, Any]:
    """Scores of every system's labels, and shares of labels equal to a reference system's."""
    truth = Truth(Path(spec["gold"]))
    labels = {key: truth.read(Path(path)) for key, path in spec["labels"].items()}
    found: dict[str, Any] = {}
    for key, tags in labels.items():
        scores = span_scores(truth.labelling(tags), truth.labelling(truth.tags))
        found[key] = {
            "token_accuracy": float((tags == truth.tags).mean()),
            "span_f1": float(scores.f1),
        }
    tied = ties(Path(spec["crowd"]), truth) if spec["pairs"] else None
    for key, reference in spec["pairs"]:
        same = labels[key] == labels[reference]
        found[key]["equal_to"] = reference
        found[key]["equal"] = float(same.mean())
        found[key]["equal_untied"] = float(same[~tied].mean())
    return found


if __name__ == "__main__":
    print(json.dumps(judge(json.loads(sys.argv[1]))))
