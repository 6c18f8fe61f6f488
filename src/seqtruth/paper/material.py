"""The crowds that systems are run on, the sentences that count, and the text taggers are tried on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from seqtruth import datasets
from seqtruth.data.crowd import Crowd
from seqtruth.datasets import Dataset, ner, places
from seqtruth.datasets.other_sources import SETS
from seqtruth.errors import DataError
from seqtruth.paper import crowds
from seqtruth.paper.crowds import SIMULATED

#: The part of the authors' sentences that nothing was tuned on.
OVERLAP = "aggslc_3466 in nguyen_test"
#: Splits that are scored, the one that conclusions are drawn from first.
SPLITS = {
    "ner": ("nguyen_test", "aggslc_3466", OVERLAP),
    "pico": ("all", "odd"),
    "synthetic": ("nguyen_test", "all"),
}
TITLES = {
    "ner": "NER", "pico": "PICO", "synthetic": "Synthetic", "pico-dev": "PICO, abstracts without gold",
}  # fmt: skip
#: Abstracts without gold that taggers learn from, and how many under ``--quick``.
ABSTRACTS, FEW_ABSTRACTS = 250, 100


@dataclass(frozen=True, eq=False)
class Text:
    """Text with gold that no system learns from; ``splits`` are masks over its sentences."""

    gold: Crowd
    splits: Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Material:
    """A data set, and what a tagger trained on it is tried on."""

    data: Dataset
    held_out: Mapping[str, Text] = field(default_factory=dict)

    @property
    def crowd(self) -> Crowd:
        return self.data.crowd

    @cached_property
    def splits(self) -> list[str]:
        """Names of the splits that are scored and that this copy has."""
        return [name for name in SPLITS.get(self.data.name, ()) if name in self.data.splits]

    @cached_property
    def digest(self) -> str:
        """Of the crowd, its documents and the held-out texts."""
        corpus = self.crowd.corpus
        h = hashlib.sha256(repr((self.crowd.digest(), corpus.documents)).encode())
        h.update(np.ascontiguousarray(corpus.sentence_document).data)
        for name, text in self.held_out.items():
            h.update(repr((name, text.gold.digest())).encode())
        return h.hexdigest()


def opener(data_dir: Path | None, quick: bool) -> Callable[[str], Material]:
    """A function that loads material by name."""
    return lambda name: _LOAD[name](data_dir, quick)


def _ner(data_dir: Path | None, quick: bool) -> Material:
    data = datasets.load("ner", data_dir)
    splits = dict(data.splits)
    if "aggslc_3466" in splits:
        splits[OVERLAP] = splits["aggslc_3466"] & splits["nguyen_test"]
    folder = places.need("ner", data_dir)
    found = {}
    if (folder / "ner" / ner.HELD_OUT).is_file():
        for name, gold in sorted(ner.load_held_out(folder).items()):
            found[name] = Text(gold, {"all": gold.covered})
    return Material(replace(data, splits=splits), found)


def _pico(data_dir: Path | None, quick: bool) -> Material:
    return Material(datasets.load("pico", data_dir))


def _synthetic(data_dir: Path | None, quick: bool) -> Material:
    return Material(datasets.load("synthetic", data_dir))


def _pico_dev(data_dir: Path | None, quick: bool) -> Material:
    """Abstracts of the source's part ``dev``, without gold, to learn from; those with gold to try on."""
    whole = datasets.load("pico", data_dir, unlabelled=True)
    if "dev" not in whole.splits:
        raise DataError(
            "this copy of pico has no split 'dev'", got=", ".join(whole.splits),
            fix="seqtruth datasets get pico --force makes it anew",
        )  # fmt: skip
    chosen = whole.splits["dev"] & whole.crowd.covered
    document = whole.crowd.corpus.sentence_document
    numbers = np.unique(document[chosen])[: FEW_ABSTRACTS if quick else ABSTRACTS]
    chosen &= np.isin(document, numbers)
    truth = whole.gold[whole.splits["all"]]
    odd = whole.splits["odd"][whole.splits["all"]]
    text = Text(truth, {"all": truth.covered, "odd": odd})
    part = Dataset("pico-dev", whole.crowd[chosen], whole.gold[chosen], {})
    return Material(part, {"acl17-test": text})


def _other(data_dir: Path | None, quick: bool, name: str) -> Material:
    return Material(datasets.load(name, data_dir))


def _simulated(data_dir: Path | None, quick: bool, name: str) -> Material:
    return Material(crowds.load(name))


_LOAD: dict[str, Callable[[Path | None, bool], Material]] = {
    "ner": _ner,
    "pico": _pico,
    "synthetic": _synthetic,
    "pico-dev": _pico_dev,
    **{name: partial(_other, name=name) for name in SETS},
    **{name: partial(_simulated, name=name) for name in SIMULATED},
}
