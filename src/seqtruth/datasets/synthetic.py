"""CoNLL-2003 sentences labelled by six programs, as in the paper's synthetic data set.

The paper took three knowledge bases (Wikidata, DBpedia and Schema, by way of DBpedia Spotlight) and
three systems (spaCy, OpenNLP, GATE). Ours stand in for them, see :mod:`seqtruth.datasets.annotators`;
the paper's own can be given where they are at hand.
"""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.datasets import ner
from seqtruth.datasets.annotators import AutomaticAnnotator, six
from seqtruth.datasets.annotators.base import sentences
from seqtruth.datasets.tables import Dataset, Table, read_table, write_table
from seqtruth.errors import DataWarning, MissingExtraError, MissingToolError, ParameterError

LABELS, ANNOTATORS = "annotations.tsv.gz", "annotators.tsv.gz"
_LABELS = ("sentence_id", "worker_id", "labels")
_ANNOTATORS = ("worker_id", "version", "source", "text")
_LOG = logging.getLogger(__name__)
_CANNOT_RUN = (MissingExtraError, MissingToolError)


def load(
    folder: Path,
    cache: Path | None = None,
    annotators: Sequence[AutomaticAnnotator] | None = None,
    gold: str = "raw",
) -> Dataset:
    """Let the six label the sentences of ``folder/ner`` that have crowd labels.

    That takes a minute, so their labels are kept in ``cache/synthetic``, without any text. An
    annotator runs again where it, its knowledge or the sentences have changed.

    Parameters
    ----------
    folder : with the tables of the data set ``ner``, whose text, gold and splits these are.
    cache : folder for the labels; where not given, they are not kept. Labels that lie ready in
        ``folder/synthetic`` are taken first.
    annotators : in place of :func:`~seqtruth.datasets.annotators.six`. Of the six, those that cannot
        run on this machine are left out with a warning (``crowd.annotators`` says who is there); of your
        own choice, one that cannot run is an error.
    gold : see :func:`seqtruth.datasets.ner.load`.
    """
    source = ner.load(folder, gold)
    chosen = source.crowd.covered
    truth = source.gold[chosen]
    corpus = truth.corpus
    kept = Shelf.open(None if cache is None else cache / "synthetic", folder / "synthetic", corpus)
    labels: dict[str, list[list[str]]] = {}
    for one in six() if annotators is None else annotators:
        if one.name in labels:
            raise ParameterError("annotators' names must be unique", got=repr(one.name))
        try:
            labels[one.name] = kept.ask(one, corpus)
        except _CANNOT_RUN as error:
            if annotators is not None:
                raise
            warnings.warn(
                DataWarning(f"the annotator {one.name!r} is left out: {error}"), stacklevel=2
            )
    kept.save()
    crowd = Crowd.of(labels, sentences(corpus), "iob2", corpus.sentence_ids.to_pylist())
    splits = {name: mask[chosen] for name, mask in source.splits.items() if mask[chosen].any()}
    return Dataset("synthetic", replace(crowd, corpus=corpus), truth, splits)


@dataclass
class Shelf:
    """Labels of annotators on one corpus, kept between runs.

    folder : where they lie; None keeps nothing.
    text : digest of the corpus; labels on another one are forgotten.
    works : by annotator: their version, what is known of them, their labels by sentence.
    """

    folder: Path | None
    text: str
    works: dict[str, tuple[str, str, dict[str, str]]]
    changed: bool = False

    @classmethod
    def open(cls, folder: Path | None, ready: Path, corpus: Corpus) -> Shelf:
        """A shelf in ``folder``, with what lies there and in the folder ``ready``."""
        words = zip(corpus.sentence_ids.to_pylist(), sentences(corpus), strict=True)
        shelf = cls(folder, hashlib.sha256(repr(list(words)).encode()).hexdigest(), {})
        for place in dict.fromkeys([place for place in (folder, ready) if place is not None]):
            if (place / LABELS).is_file() and (place / ANNOTATORS).is_file():
                shelf._read(place)
        return shelf

    def _read(self, place: Path) -> None:
        works: dict[str, tuple[str, str, dict[str, str]]] = {}
        for annotator, version, source, text in read_table(place / ANNOTATORS, *_ANNOTATORS):
            if text == self.text:
                works[annotator] = version, source, {}
        for sentence, annotator, labels in read_table(place / LABELS, *_LABELS):
            if annotator in works:
                works[annotator][2][sentence] = labels
        self.works |= works

    def ask(self, one: AutomaticAnnotator, corpus: Corpus) -> list[list[str]]:
        """An annotator's labels, from the shelf where they are still the same.

        What an annotator labelled that cannot run any more is still taken.
        """
        ids = corpus.sentence_ids.to_pylist()
        version, _, kept = self.works.get(one.name, ("", "", {}))
        try:
            now = one.version()
        except _CANNOT_RUN:
            if not version:
                raise
            now = version
        if version != now or set(kept) != set(ids):
            _LOG.info("the annotator %s reads %d sentences", one.name, len(ids))
            tags = [" ".join(sequence) for sequence in one.annotate(corpus)]
            kept = dict(zip(ids, tags, strict=True))
            self.works[one.name] = now, one.source, kept
            self.changed = True
        return [kept[name].split(" ") if kept[name] else [] for name in ids]

    def save(self) -> None:
        """Write what is new."""
        if self.folder is None or not self.changed:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        labels = [
            (sentence, annotator, sequence)
            for annotator, (_, _, kept) in self.works.items()
            for sentence, sequence in kept.items()
        ]
        write_table(self.folder / LABELS, Table(_LABELS, labels))
        who = [(annotator, *known[:2], self.text) for annotator, known in self.works.items()]
        write_table(self.folder / ANNOTATORS, Table(_ANNOTATORS, who))
