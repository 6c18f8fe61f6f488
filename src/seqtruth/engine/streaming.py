"""A Parquet table larger than memory as parts, streamed from disk in every pass."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from pathlib import Path

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.engine.base import Facts, Labels, Parts, Sums, add
from seqtruth.io.longtable.scan import scan
from seqtruth.io.longtable.write import token_writer


class ParquetParts(Parts):
    """A crowd in Parquet files, read anew in every pass; memory is that of two parts.

    Parameters
    ----------
    path : a Parquet file of token rows, a folder of such files, or a pattern; rows of one task must
        be neighbours.
    scheme : the scheme of the tags; detected where not given.
    """

    def __init__(self, path: str | os.PathLike[str], scheme: str | None = None) -> None:
        self._table = table = scan(path, scheme)
        self._with_text = False
        self.facts = Facts(
            scheme=table.scheme,
            annotators=table.annotators,
            n_sentences=table.n_sentences,
            n_tokens=table.n_tokens,
            n_annotations=table.n_annotations,
            annotator_sentences=table.annotator_sentences,
            annotator_tokens=table.annotator_tokens,
            has_text=table.has_text,
            digest=table.digest,
        )

    def seeing_text(self) -> ParquetParts:
        other = copy(self)
        other._with_text = True
        return other

    def add_up(self, function: Callable[[Crowd], Sums]) -> Sums:
        return add(map(function, self._table.crowds(self._with_text)))

    def gather(self, function: Callable[[Crowd], Sums]) -> list[Sums]:
        return [function(crowd) for crowd in self._table.crowds(self._with_text)]

    def write(self, function: Callable[[Crowd], Labels], path: str | Path) -> None:
        table = self._table
        with token_writer(path, table.has_text, table.has_documents) as writer:
            for crowd in table.crowds(text=True):
                tags, confidence = function(crowd)
                truth = Labelling(crowd.corpus, crowd.scheme, tags).as_crowd()
                writer.write(truth, confidence)
