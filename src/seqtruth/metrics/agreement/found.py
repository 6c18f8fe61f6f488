"""What was found about agreement, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.kernels.arrays import F64
from seqtruth.metrics.agreement.drawing import Estimate
from seqtruth.metrics.agreement.telling import tables, words
from seqtruth.metrics.score import ratio

_SPAN_COLUMNS = ("span_f1", "span_f1_overlap", "span_f1_untyped")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Every pair of annotators who labelled a token in common, in columns.

    Parameters
    ----------
    first, second : int64[P], numbers of the two annotators, first < second.
    tokens : int64[P], tokens both labelled.
    observed : float64[P], share of these on which they agree.
    kappa : float64[P], Cohen's kappa; nan where chance alone explains everything (both used one
        and the same label throughout).
    span_f1 : float64[P], F1 of one against the other; nan where neither marked a span.
    span_f1_overlap, span_f1_untyped : float64[P], the same by overlap, and by ends alone.
    kappa_low, kappa_high, span_f1_low, span_f1_high : float64[P], their intervals; nan where none were drawn.
    """

    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int64]
    observed: F64
    kappa: F64
    span_f1: F64
    span_f1_overlap: F64
    span_f1_untyped: F64
    kappa_low: F64
    kappa_high: F64
    span_f1_low: F64
    span_f1_high: F64

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of a crowd.

    Parameters
    ----------
    annotators : the annotators' names.
    pairs : one row per pair of annotators.
    overall : each of :data:`~seqtruth.metrics.agreement.MEASURES` with its interval.
    per_type : the same by type, the type against the rest.
    per_document : columns by document; empty where the corpus knows none.
    strict : the reading of spans.
    level : of the intervals.
    silent : annotators whose ``O`` was not counted as an opinion, on some type or all.
    marks : spans of each type (tokens, where tags are no spans) that all annotators together marked.
    tokens, documents : what two or more labelled; ``documents`` is 0 where the corpus knows none.
    """

    annotators: tuple[str, ...]
    pairs: Pairs
    overall: Mapping[str, Estimate]
    per_type: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    per_document: Mapping[str, Any] = field(default_factory=dict)
    strict: str = "conlleval"
    level: float = 0.95
    silent: tuple[str, ...] = ()
    marks: Mapping[str, int] = field(default_factory=dict)
    tokens: int = 0
    documents: int = 0

    @property
    def observed(self) -> float:
        """Share of agreeing pairs at a token, on average."""
        return self._value("observed")

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha over tokens."""
        return self._value("alpha")

    @property
    def alpha_u(self) -> float:
        """Krippendorff's unitising alpha over spans."""
        return self._value("alpha_u")

    @property
    def kappa(self) -> float:
        """Mean of Cohen's kappa over the pairs that have one, each by the tokens that both labelled."""
        return self._value("cohen_kappa")

    @property
    def span_f1(self) -> float:
        """Span F1 of one against the other, all pairs pooled."""
        return self._value("span_f1")

    def _value(self, name: str) -> float:
        return self.overall[name].value if name in self.overall else float("nan")

    def matrix(self, measure: str = "kappa") -> F64:
        """float64[W, W]: a column of :class:`Pairs` as a symmetric table; nan where two never met.

        Parameters
        ----------
        measure : ``kappa``, ``observed``, ``span_f1``, ``span_f1_overlap`` or ``span_f1_untyped``.
        """
        n = len(self.annotators)
        table = np.full((n, n), np.nan)
        table[self.pairs.first, self.pairs.second] = getattr(self.pairs, measure)
        table[self.pairs.second, self.pairs.first] = getattr(self.pairs, measure)
        return table

    def of_annotator(self, name: str) -> dict[str, float]:
        """Mean agreement of one annotator with all others they share tokens with."""
        number = self.annotators.index(name)
        return {
            measure: float(self.of_each(measure)[number])
            for measure in ("observed", "kappa", "span_f1")
        }

    def of_each(self, measure: str = "span_f1") -> F64:
        """float64[W]: each annotator's mean of a column of :class:`Pairs`, by the tokens that both labelled.

        Parameters
        ----------
        measure : as for :meth:`matrix`.
        """
        column = getattr(self.pairs, measure)
        known = np.isfinite(column) & (self.pairs.tokens > 0)
        both = np.concatenate([self.pairs.first[known], self.pairs.second[known]]).astype(np.int64)
        values, tokens = (
            np.tile(of[known], 2).astype(np.float64) for of in (column, self.pairs.tokens)
        )
        n = len(self.annotators)
        sums, weight = np.bincount(both, values * tokens, n), np.bincount(both, tokens, n)
        return np.where(weight > 0, ratio(sums, weight), np.nan)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON; None where a figure is not defined."""
        names = self.annotators
        columns = {
            name: getattr(self.pairs, name)
            for name in self.pairs.__dataclass_fields__
            if name not in ("first", "second")
        }
        rows = [
            {"first": names[a], "second": names[b], **{k: _plain(c[p]) for k, c in columns.items()}}
            for p, (a, b) in enumerate(
                zip(self.pairs.first.tolist(), self.pairs.second.tolist(), strict=True)
            )
        ]
        documents = [
            dict(zip(self.per_document, map(_plain, row), strict=True))
            for row in zip(*self.per_document.values(), strict=True)
        ]
        return {
            "overall": {name: found.to_dict() for name, found in self.overall.items()},
            "per_type": {
                kind: {name: found.to_dict() for name, found in rows.items()}
                for kind, rows in self.per_type.items()
            },
            "marks": dict(self.marks),
            "tokens": self.tokens,
            "documents": self.documents,
            "annotators": self._annotators(),
            "pairs": rows,
            "per_document": documents,
            "strict": self.strict,
            "level": self.level,
            "silent": list(self.silent),
            "words": self.words(),
        }

    def _annotators(self) -> list[dict[str, Any]]:
        columns = {name: self.of_each(name) for name in ("observed", "kappa", *_SPAN_COLUMNS)}
        return [
            {"annotator": name, **{key: _plain(column[w]) for key, column in columns.items()}}
            for w, name in enumerate(self.annotators)
        ]

    def tables(self, form: str = "text") -> str:
        """All of it as tables for people, long ones cut: ``text``, ``markdown`` or ``latex``.

        Parameters
        ----------
        form : how they are written.
        """
        return tables(self, form)

    def words(self) -> list[str]:
        """What the figures say and where to look, in sentences."""
        return words(self)

    def __str__(self) -> str:
        return self.tables()

    def __repr__(self) -> str:
        return f"<Agreement: alpha {self.alpha:.3f}, span F1 {self.span_f1:.3f}>"


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    number = float(value)
    return None if np.isnan(number) else int(number) if isinstance(value, np.integer) else number
