"""A crowd in memory as a crowd in one part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.engine.base import Facts, Labels, Parts, Sums
from seqtruth.io.longtable.write import token_writer


class MemoryParts(Parts):
    """The whole crowd is the only part, and the same object in every pass.

    Parameters
    ----------
    crowd : the annotations.
    digest : names the input where it is to be kept; not needed for a crowd made on the way.
    """

    in_memory = True

    def __init__(self, crowd: Crowd, digest: str = "") -> None:
        self._crowd = crowd
        self.facts = Facts(
            scheme=crowd.scheme,
            annotators=crowd.annotators,
            n_sentences=crowd.n_sentences,
            n_tokens=crowd.n_tokens,
            n_annotations=int(crowd.annotator_tokens.sum()),
            annotator_sentences=crowd.annotator_sentences,
            annotator_tokens=crowd.annotator_tokens,
            has_text=crowd.corpus.tokens is not None,
            digest=digest,
        )

    @property
    def whole(self) -> Crowd:
        return self._crowd

    def seeing_text(self) -> MemoryParts:
        return self

    def add_up(self, function: Callable[[Crowd], Sums]) -> Sums:
        return function(self._crowd)

    def gather(self, function: Callable[[Crowd], Sums]) -> list[Sums]:
        return [function(self._crowd)]

    def write(self, function: Callable[[Crowd], Labels], path: str | Path) -> None:
        crowd, labels = self._crowd, function(self._crowd)
        truth = Labelling(crowd.corpus, crowd.scheme, labels.tags).as_crowd()
        documents = crowd.corpus.documents != ("",)
        with token_writer(path, self.facts.has_text, documents) as writer:
            writer.write(truth, labels.confidence)
