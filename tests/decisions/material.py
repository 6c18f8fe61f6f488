"""Crowds for the tests of decisions, and rows taken out of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

import seqtruth as st
from seqtruth.data.ragged import gather

#: Methods that can be updated, quick ones.
QUICK = ("ds", "mace", "bsc-seq", "bsc-acc", "accord:predictor=none")


class Material(NamedTuple):
    crowd: st.Crowd
    gold: st.Labelling


@cache
def demo(n: int = 150) -> Material:
    """The first sentences of the built-in corpus."""
    data = st.datasets.load("demo")
    crowd = data.crowd[:n]
    gold = data.gold[:n].recode(crowd.scheme).labelling()
    return Material(crowd, gold)


@cache
def fitted(method: str, n: int = 150) -> st.Result:
    return st.aggregate(demo(n).crowd, method)


def some_rows(crowd: st.Crowd, chosen: np.ndarray) -> st.Crowd:
    """The crowd with these rows only; all sentences stay."""
    rows = np.flatnonzero(chosen)
    return replace(
        crowd,
        row_sentence=crowd.row_sentence[rows],
        row_annotator=crowd.row_annotator[rows],
        tags=crowd.tags[gather(crowd.row_offsets, rows)[1]],
    )


def parted(crowd: st.Crowd, share: float, seed: int = 0) -> tuple[st.Crowd, st.Crowd]:
    """The crowd without some rows, and those rows on the sentences that they are of."""
    held = np.random.default_rng(seed).random(crowd.n_rows) < share
    late = some_rows(crowd, held)
    return some_rows(crowd, ~held), late[np.unique(late.row_sentence)]
