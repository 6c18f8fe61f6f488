"""The synthetic data set in small, with nothing to install: six programs imitated on the demo's text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seqtruth.datasets import demo
from seqtruth.datasets.tables import Dataset
from seqtruth.simulation import Annotator, simulate

#: Types each program writes, and its rates on them: about those of the real ones on ``nguyen_val``.
#: What bears the name of a place is taken for the place.
_TO_PLACE = (("ORG", "LOC"), ("PER", "LOC"), ("LOC", "MISC"), ("MISC", "LOC"))
CAST: tuple[tuple[Annotator, tuple[str, ...]], ...] = (
    (
        Annotator(
            name="places", miss=0.25, boundary=0.05, confuse=0.1, swaps=_TO_PLACE, invent=0.01
        ),
        ("LOC", "MISC"),
    ),
    (
        Annotator(
            name="wordnet", miss=0.3, boundary=0.2, confuse=0.15, swaps=_TO_PLACE, invent=0.07
        ),
        ("LOC", "MISC", "PER"),
    ),
    (Annotator(name="names", miss=0.6, boundary=0.03), ("PER",)),
    (
        Annotator(name="spacy", miss=0.17, boundary=0.13, confuse=0.24, invent=0.11),
        ("LOC", "MISC", "ORG", "PER"),
    ),
    (Annotator(name="opennlp", miss=0.45, boundary=0.04, invent=0.01), ("PER",)),
    (
        Annotator(
            name="rules", miss=0.23, boundary=0.07, confuse=0.15, swaps=(("ORG", "LOC"),), invent=0.03
        ),
        ("LOC", "MISC", "ORG", "PER"),
    ),
)  # fmt: skip


def load(seed: int = 0, difficulty: float = 0.25) -> Dataset:
    """The demo corpus with labels by :data:`CAST`; every program reads every sentence.

    Parameters
    ----------
    seed : of the simulated annotators; the text and the gold stay.
    difficulty : how much of their errors they have in common, see
        :func:`~seqtruth.simulation.simulate`.

    Splits: as those of the demo.
    """
    source = demo.load()
    crowd = simulate(source.gold, [one for one, _ in CAST], seed=seed, difficulty=difficulty)
    types = np.array([*crowd.scheme.types, "O"])
    knows = np.stack([np.isin(types, [*written, "O"]) for _, written in CAST])
    annotator = np.repeat(crowd.row_annotator, np.diff(crowd.row_offsets))
    known = knows[annotator, crowd.scheme.type_of[crowd.tags]]
    tags = np.where(known, crowd.tags, crowd.scheme.outside).astype(crowd.tags.dtype)
    return Dataset("synthetic-demo", replace(crowd, tags=tags), source.gold, source.splits)
