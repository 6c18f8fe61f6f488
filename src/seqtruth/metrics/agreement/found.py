"""What was found about agreement, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.kernels.arrays import F64
from seqtruth.metrics.agreement.drawing import Estimate
from seqtruth.metrics.score import ratio
from seqtruth.plural import count
from seqtruth.text_tables import latex_table, markdown_table, text_table

#: Every measure by name, with its words for people.
MEASURES = {
    "observed": "observed agreement (tokens)",
    "alpha": "Krippendorff's alpha (tokens)",
    "alpha_u": "Krippendorff's alpha_U (spans)",
    "fleiss_kappa": "Fleiss' kappa (tokens)",
    "cohen_kappa": "Cohen's kappa (tokens, pairs)",
    "ac1": "Gwet's AC1 (tokens)",
    "span_f1": "span F1 (strict)",
    "span_f1_overlap": "span F1 (partial, by overlap)",
    "span_f1_untyped": "span F1 (ends only, any type)",
    "gamma": "gamma (spans)",
}
#: What is said of an alpha from each value on (Landis and Koch's words, which are conventions).
WORDS = ((0.8, "very high"), (0.67, "high"), (0.4, "moderate"), (0.2, "low"), (-2.0, "very low"))
#: A type or an annotator is named where it lies this far below the others.
BELOW = 0.1
#: Pairs and documents that a table for people shows.
SHOWN = 20
_SHORT = {
    "observed": "observed", "alpha": "alpha", "alpha_u": "alpha_U", "fleiss_kappa": "Fleiss",
    "cohen_kappa": "Cohen", "ac1": "AC1", "span_f1": "span F1", "span_f1_overlap": "partial F1",
}  # fmt: skip
FORMS = {"text": text_table, "markdown": markdown_table, "latex": latex_table}


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
    overall : each of :data:`MEASURES` with its interval.
    per_type : the same by type, the type against the rest.
    per_document : columns by document; empty where the corpus knows none.
    strict : the reading of spans.
    level : of the intervals.
    silent : annotators whose ``O`` was not counted as an opinion, on some type or all.
    """

    annotators: tuple[str, ...]
    pairs: Pairs
    overall: Mapping[str, Estimate]
    per_type: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    per_document: Mapping[str, Any] = field(default_factory=dict)
    strict: str = "conlleval"
    level: float = 0.95
    silent: tuple[str, ...] = ()

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
        mine = (self.pairs.first == number) | (self.pairs.second == number)
        tokens = self.pairs.tokens[mine].astype(np.float64)
        columns = {"observed": self.pairs.observed, "kappa": self.pairs.kappa}
        means = {key: _mean(column[mine], tokens) for key, column in columns.items()}
        return {**means, "span_f1": _mean(self.pairs.span_f1[mine], tokens)}

    def span_f1_of_each(self) -> F64:
        """float64[W]: what :meth:`of_annotator` says of ``span_f1``, of all of them at once."""
        known = np.isfinite(self.pairs.span_f1)
        both = np.concatenate([self.pairs.first[known], self.pairs.second[known]]).astype(np.int64)
        values, tokens = (
            np.tile(column[known], 2).astype(np.float64)
            for column in (self.pairs.span_f1, self.pairs.tokens)
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
            "pairs": rows,
            "per_document": documents,
            "strict": self.strict,
            "level": self.level,
            "silent": list(self.silent),
            "words": self.words(),
        }

    def tables(self, form: str = "text") -> str:
        """All of it as tables for people, long ones cut: ``text``, ``markdown`` or ``latex``.

        Parameters
        ----------
        form : how they are written.
        """
        from seqtruth.errors import ParameterError

        if form not in FORMS:
            raise ParameterError(f"form must be one of {', '.join(FORMS)}", got=repr(form))
        write = FORMS[form]
        share = f"{100 * self.level:g} %"
        parts = [
            write(
                f"agreement of {count(len(self.annotators), 'annotator')}, {share} intervals over documents",
                {
                    "measure": [MEASURES[name] for name in self.overall],
                    "value": [round(e.value, 4) for e in self.overall.values()],
                    "from": [e.low for e in self.overall.values()],
                    "to": [e.high for e in self.overall.values()],
                },
            )
        ]
        if len(self.per_type) > 1:
            parts.append(write("by type", self._types()))
        if len(self.pairs):
            parts.append(write(*self._closest()))
        if len(self.per_document.get("document", ())) > 1:
            parts.append(write(*self._documents()))
        if self.silent:
            parts.append(
                f"{len(self.silent):,} silent: {', '.join(self.silent[:SHOWN])}"
                " (O is not counted as an opinion)\n"
            )
        if form == "text":
            parts.insert(0, "\n".join(self.words()) + "\n")
        return "\n".join(parts)

    def words(self) -> list[str]:
        """What the figures say and where to look, in sentences."""
        found = self.overall.get("alpha")
        if found is None or np.isnan(found.value):
            return ["No two annotators labelled the same tokens: nothing can be said of agreement."]
        interval = "" if np.isnan(found.low) else f" ({found.low:.2f} to {found.high:.2f})"
        out = [
            f"Agreement is {word(found.value)}: alpha {found.value:.2f}{interval}, where 1 is full"
            " agreement and 0 is chance."
        ]
        known = {
            kind: rows["alpha"].value
            for kind, rows in self.per_type.items()
            if "alpha" in rows and not np.isnan(rows["alpha"].value)
        }
        if len(known) > 1:
            least = min(known, key=lambda kind: known[kind])
            others = [value for kind, value in known.items() if kind != least]
            if known[least] < float(np.median(others)) - BELOW:
                out.append(
                    f"{least} is agreed on least (alpha {known[least]:.2f}): make its rule clearer."
                )
        each = self.span_f1_of_each()
        if np.isfinite(each).sum() > 2:
            k = int(np.nanargmin(each))
            if each[k] < float(np.nanmedian(each)) - BELOW:
                out.append(
                    f"{self.annotators[k]} agrees least with the others (span F1 {each[k]:.2f}; half of"
                    f" all have {np.nanmedian(each):.2f} or more): look at what they mark."
                )
        return out

    def _types(self) -> dict[str, list[Any]]:
        return {
            "type": list(self.per_type),
            **{
                short: [rows[name].value for rows in self.per_type.values()]
                for name, short in _SHORT.items()
                if all(name in rows for rows in self.per_type.values())
            },
        }

    def _closest(self) -> tuple[str, dict[str, list[Any]]]:
        pairs = self.pairs
        order = np.lexsort((-pairs.tokens, -np.nan_to_num(pairs.kappa, nan=-2.0)))[:SHOWN]
        more = f", the {SHOWN} of {len(pairs):,} who agree most" if len(pairs) > SHOWN else ""
        return f"by pair{more}", {
            "first": [self.annotators[k] for k in pairs.first[order]],
            "second": [self.annotators[k] for k in pairs.second[order]],
            "tokens": pairs.tokens[order].tolist(),
            "Cohen": pairs.kappa[order].tolist(),
            "from": pairs.kappa_low[order].tolist(),
            "to": pairs.kappa_high[order].tolist(),
            "span F1": pairs.span_f1[order].tolist(),
            "partial F1": pairs.span_f1_overlap[order].tolist(),
        }

    def _documents(self) -> tuple[str, dict[str, list[Any]]]:
        columns = self.per_document
        order = np.argsort(np.nan_to_num(columns["ac1"], nan=2.0), kind="stable")[:SHOWN]
        n = len(columns["document"])
        more = f", the {SHOWN} of {n:,} that are agreed on least" if n > SHOWN else ""
        return f"by document{more}", {
            "document": [columns["document"][k] for k in order],
            "tokens": columns["tokens"][order].astype(int).tolist(),
            **{
                _SHORT[name]: columns[name][order].tolist()
                for name in ("observed", "alpha", "ac1", "span_f1", "span_f1_overlap")
            },
        }

    def __str__(self) -> str:
        return self.tables()

    def __repr__(self) -> str:
        return f"<Agreement: alpha {self.alpha:.3f}, span F1 {self.span_f1:.3f}>"


def word(alpha: float) -> str:
    """How high an alpha is, in a word.

    >>> word(0.72), word(float("nan"))
    ('high', 'unknown')
    """
    if np.isnan(alpha):
        return "unknown"
    return next(text for least, text in WORDS if alpha >= least)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    number = float(value)
    return None if np.isnan(number) else int(number) if isinstance(value, np.integer) else number


def _mean(values: F64, weight: F64) -> float:
    known = np.isfinite(values) & (weight > 0)
    if not known.any():
        return float("nan")
    return float(np.average(values[known], weights=weight[known]))
