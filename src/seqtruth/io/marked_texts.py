"""Texts with plain marks, in columns: no object a mark, and what is wrong with one found by array passes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seqtruth.io.text_batch import Batch, blank

I64 = npt.NDArray[np.int64]


class MarkedTexts(NamedTuple):
    """Texts, and who marked what in them.

    ``opinions[n]`` is (text, annotator), ``spans[n]`` is (opinion, start, end, node); an opinion without
    spans is that of an annotator who marked nothing.
    """

    ids: list[str]
    batch: Batch
    opinions: I64
    spans: I64

    def part(self, first: int, last: int) -> MarkedTexts:
        """The texts from ``first`` on, up to ``last``; opinions and spans are in the order of the texts."""
        if (first, last) == (0, len(self.ids)):
            return self
        a, b = np.searchsorted(self.opinions[:, 0], (first, last))
        c, d = np.searchsorted(self.spans[:, 0], (a, b))
        return MarkedTexts(
            self.ids[first:last], self.batch.part(first, last),
            self.opinions[a:b] - (first, 0), self.spans[c:d] - (a, 0, 0, 0),
        )  # fmt: skip

    def plain_ones(self) -> npt.NDArray[np.bool_]:
        """Which texts have only marks that lie inside, have no blanks at their edges, and do not overlap."""
        batch = self.batch
        opinion, start, end = self.spans[:, 0], self.spans[:, 1], self.spans[:, 2]
        text = self.opinions[opinion, 0]
        base = batch.starts[text]
        inside = (start < end) & (end <= batch.ends[text] - base)
        first, last = np.where(inside, base + start, 0), np.where(inside, base + end - 1, 0)
        bad = ~inside | blank(batch, first) | blank(batch, last)
        order = np.argsort(opinion * (len(batch.kinds) + 1) + start, kind="stable")
        before, after = order[:-1], order[1:]
        bad[after] |= (opinion[after] == opinion[before]) & (start[after] < end[before])
        plain = np.ones(len(self.ids), np.bool_)
        plain[text[bad]] = False
        return plain
