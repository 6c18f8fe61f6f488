"""Crowds on one corpus, put together."""

from __future__ import annotations

import numpy as np

from seqtruth.data.crowd import Crowd


def joined(*crowds: Crowd) -> Crowd:
    """All annotators of crowds with the same corpus and labels."""
    first = crowds[0]
    names = [name for crowd in crowds for name in crowd.annotators]
    shift = np.cumsum([0, *(crowd.n_annotators for crowd in crowds)])
    who = [crowd.row_annotator + number for crowd, number in zip(crowds, shift[:-1], strict=True)]
    made = Crowd.build(
        first.corpus, first.scheme.labels, names,
        np.concatenate([crowd.row_sentence for crowd in crowds]), np.concatenate(who),
        np.concatenate([crowd.tags for crowd in crowds]), first.scheme.kind,
    )  # fmt: skip
    return made.recode(first.scheme)


def alone(crowd: Crowd, name: str, tags: np.ndarray) -> Crowd:
    """One more annotator, who labels every sentence of the crowd's corpus."""
    rows = np.arange(crowd.n_sentences, dtype=np.int32)
    return Crowd(crowd.corpus, crowd.scheme, (name,), rows, np.zeros_like(rows), tags)
