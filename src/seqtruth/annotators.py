"""Whom to trust: the table of annotators in a result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from seqtruth.errors import DataError
from seqtruth.frames import in_library
from seqtruth.html import html_table
from seqtruth.kernels.arrays import F32, F64, I64
from seqtruth.plural import count


@dataclass(frozen=True, eq=False)
class Annotators:
    """How much each annotator is trusted.

    Columns, iteration and numbers are in one order, that of the crowd. :meth:`ranked` is the same table
    worst first; so are the frame and what is printed.

    Parameters
    ----------
    names : annotators in the crowd's order, as are the other columns.
    weight : the method's own measure of reliability; larger is better.
    sentences, tokens : how much each labelled.
    agreement : strict span F1 of each annotator against the aggregated labels; nan where neither
        has a span.
    confusion : float32[W, L, L], P(tag | true label) where the method estimates it.
    """

    names: tuple[str, ...]
    weight: F64
    sentences: I64
    tokens: I64
    agreement: F64
    confusion: F32 | None = None

    def ranked(self) -> Annotators:
        """Worst first; who labelled nothing comes last."""
        order = np.lexsort((np.array(self.names, str), self.weight, self.sentences == 0))
        return Annotators(
            tuple(self.names[w] for w in order),
            self.weight[order],
            self.sentences[order],
            self.tokens[order],
            self.agreement[order],
            None if self.confusion is None else self.confusion[order],
        )

    def to_frame(self, library: str = "arrow") -> Any:
        """One row an annotator, worst first; ``library`` is ``"arrow"``, ``"pandas"`` or ``"polars"``."""
        ranked = self.ranked()
        columns = {
            "annotator": pa.array(ranked.names, pa.string()),
            "weight": ranked.weight,
            "sentences": ranked.sentences,
            "tokens": ranked.tokens,
            "agreement": ranked.agreement,
        }
        return in_library(pa.table(columns), library)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> dict[str, Any]:
        """One annotator's row by name."""
        if name not in self.names:
            raise DataError("no such annotator", got=repr(name))
        return self._row(self.names.index(name))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self._row, range(len(self)))

    def _row(self, w: int) -> dict[str, Any]:
        return {
            "annotator": self.names[w],
            "weight": float(self.weight[w]),
            "sentences": int(self.sentences[w]),
            "tokens": int(self.tokens[w]),
            "agreement": float(self.agreement[w]),
        }

    def __str__(self) -> str:
        wide = max([len("annotator"), *map(len, self.names)])
        lines = [f"{'annotator':<{wide}}  weight  sentences  agreement"]
        for row in self.ranked():
            agreement = "–" if np.isnan(row["agreement"]) else f"{row['agreement']:.3f}"
            lines.append(
                f"{row['annotator']:<{wide}}  {row['weight']:6.3f}  {row['sentences']:>9,}"
                f"  {agreement:>9}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Annotators: {count(len(self), 'annotator')}>"

    def _repr_html_(self) -> str:
        rows = [list(row.values()) for row in self.ranked()]
        columns = ["annotator", "weight", "sentences", "tokens", "agreement"]
        return html_table("annotators, worst first", columns, rows)
