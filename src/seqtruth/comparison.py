"""Several methods on one crowd, scored against a gold standard: the table, for people and for papers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from seqtruth.cost import measured
from seqtruth.data.crowd import Crowd
from seqtruth.datasets import Dataset
from seqtruth.engine.opening import Readable, opened_crowd
from seqtruth.errors import ParameterError
from seqtruth.frames import in_library
from seqtruth.html import html_table
from seqtruth.methods.base import Aggregator
from seqtruth.methods.choice import MethodLike, make_method, method_specs
from seqtruth.metrics import Calibration, Evaluation, Sentences, Source, evaluate
from seqtruth.text_tables import latex_table, markdown_table, text_table

#: The methods of those who name none.
USUAL = ("mv", "ds", "bsc-seq", "accord")
_FIGURES = ("precision", "recall", "f1")


@dataclass(frozen=True, eq=False)
class MethodScores:
    """One method on one choice of sentences in one reading; figures are means over seeds.

    Parameters
    ----------
    method : as the user named it.
    split, strict : which sentences, and how spans are read.
    evaluations : one a seed.
    seconds : wall time of a run, the mean.
    peak_mib : most memory of the process meanwhile; nan where the system does not tell.
    stop_reason : of the first run.
    """

    method: str
    split: str
    strict: str
    evaluations: tuple[Evaluation, ...]
    seconds: float
    peak_mib: float
    stop_reason: str

    @property
    def precision(self) -> float:
        return self._mean("precision")

    @property
    def recall(self) -> float:
        return self._mean("recall")

    @property
    def f1(self) -> float:
        return self._mean("f1")

    @property
    def f1_spread(self) -> float | None:
        """Standard deviation over seeds; None for one."""
        f1 = [one.f1 for one in self.evaluations]
        return float(np.std(f1, ddof=1)) if len(f1) > 1 else None

    @property
    def per_type(self) -> dict[str, dict[str, float]]:
        """Mean precision, recall and F1 of each type, and how many spans of it are in the gold."""
        found: dict[str, dict[str, float]] = {}
        for name in sorted({name for one in self.evaluations for name in one.per_type}):
            scores = [one.per_type[name] for one in self.evaluations if name in one.per_type]
            found[name] = {
                key: float(np.mean([getattr(score, key) for score in scores])) for key in _FIGURES
            } | {"gold": scores[0].gold}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "method": self.method,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "per_type": self.per_type,
            "strict": self.strict,
            "seconds": round(self.seconds, 3),
            "peak_mib": None if np.isnan(self.peak_mib) else round(self.peak_mib, 1),
            "split": self.split,
            "sentences": self.evaluations[0].n_sentences,
            "seeds": len(self.evaluations),
            "f1_spread": self.f1_spread,
            "stop_reason": self.stop_reason,
            **_mean_calibration([one.calibration for one in self.evaluations]),
        }

    def _mean(self, name: str) -> float:
        return float(np.mean([getattr(one, name) for one in self.evaluations]))


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """The table of :func:`compare`: print it, or take it as Markdown, LaTeX or a frame.

    Parameters
    ----------
    rows : one per method (and choice of sentences, and reading).
    name : of the data.
    plain : whether tags are plain, so that F1 is accuracy.
    """

    rows: tuple[MethodScores, ...]
    name: str = ""
    plain: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[MethodScores]:
        return iter(self.rows)

    def __getitem__(self, method: str) -> MethodScores:
        """The first row of a method."""
        for row in self.rows:
            if row.method == method:
                return row
        raise KeyError(method)

    @property
    def title(self) -> str:
        """What the figures are, and what is the same in all rows."""
        parts = [
            f"{self.name}: " if self.name else "",
            "tags, %" if self.plain else "strict spans, %",
        ]
        words = ["".join(parts)]
        for name, key in (("split", "split"), ("read as", "strict")):
            values = {getattr(row, key) for row in self.rows}
            if len(values) == 1 and (key == "split" or not self.plain):
                words.append(f"{name} {values.pop()}")
        seeds = len(self.rows[0].evaluations) if self.rows else 0
        return " · ".join([*words, f"{seeds} seed{'' if seeds == 1 else 's'}"])

    def columns(self) -> dict[str, list[Any]]:
        """The overall figures in per cent, by column."""
        columns = self._heads()
        for name, key in (("precision", "precision"), ("recall", "recall"), ("F1", "f1")):
            columns[name] = [100 * getattr(row, key) for row in self.rows]
        if any(row.f1_spread is not None for row in self.rows):
            columns["±"] = [100 * (row.f1_spread or 0.0) for row in self.rows]
        return columns | {"seconds": [row.seconds for row in self.rows]}

    def type_columns(self) -> dict[str, list[Any]]:
        """F1 of each type in per cent, by column; nothing where there is one type or none."""
        names = sorted({name for row in self.rows for name in row.per_type})
        if len(names) < 2:
            return {}
        columns = self._heads()
        for name in names:
            scores = [row.per_type.get(name, {}) for row in self.rows]
            columns[name] = [100 * score.get("f1", float("nan")) for score in scores]
        return columns

    def _heads(self) -> dict[str, list[Any]]:
        """What tells the rows apart."""
        columns: dict[str, list[Any]] = {"method": [row.method for row in self.rows]}
        for name, key in (("split", "split"), ("read as", "strict")):
            if len({getattr(row, key) for row in self.rows}) > 1:
                columns[name] = [getattr(row, key) for row in self.rows]
        return columns

    def to_frame(self, kind: str = "methods", library: str = "arrow") -> Any:
        """One row a method (``"methods"``) or one a method and type (``"types"``), from 0 to 1."""
        if kind not in ("methods", "types"):
            raise ParameterError("a frame is one of methods, types", got=repr(kind))
        if kind == "methods":
            names = ("method", "split", "strict", *_FIGURES, "f1_spread", "seconds")
            rows = [{name: getattr(row, name) for name in names} for row in self.rows]
        else:
            rows = [
                {
                    "method": row.method,
                    "split": row.split,
                    "strict": row.strict,
                    "type": name,
                    **score,
                }
                for row in self.rows
                for name, score in row.per_type.items()
            ]
        return in_library(pa.Table.from_pylist(rows), library)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Plain values, for JSON."""
        return [{"dataset": self.name, **row.to_dict()} for row in self.rows]

    def to_markdown(self) -> str:
        """Two tables, overall and F1 by type."""
        return "\n".join(markdown_table(*one) for one in self._tables())

    def to_latex(self) -> str:
        """Two tables for a paper (package booktabs), overall and F1 by type; the best F1 is bold."""
        return "\n".join(latex_table(*one) for one in self._tables())

    def __str__(self) -> str:
        return "\n".join(text_table(*one) for one in self._tables())

    def __repr__(self) -> str:
        return f"<MethodComparison: {len(self)} rows>"

    def _repr_html_(self) -> str:
        return "".join(
            html_table(title, list(columns), list(zip(*columns.values(), strict=True)))
            for title, columns in self._tables()
        )

    def _tables(self) -> list[tuple[str, dict[str, list[Any]]]]:
        types = self.type_columns()
        return [(self.title, self.columns()), *([("F1 by type, %", types)] if types else [])]


def compare(
    source: Readable | Dataset,
    gold: Source | None = None,
    methods: str | Iterable[MethodLike] = USUAL,
    *,
    sentences: Sentences | None = None,
    strict: str = "conlleval",
    seed: int = 0,
    seeds: int = 1,
    **settings: Any,
) -> MethodComparison:
    """Run several methods and score each against the gold standard, which none of them sees.

    Parameters
    ----------
    source : anything that :func:`seqtruth.aggregate` takes, or a data set, which has its own gold.
    gold : the truth: a labelling, a crowd of one, a path or a frame.
    methods : names with settings where wanted, classes or methods; or a text of names with commas.
    sentences : score these only, as in :func:`seqtruth.evaluate`.
    strict : reading of spans, ``"conlleval"`` or ``"b-required"``.
    seed, seeds : run so many seeds from ``seed`` on; figures are means.
    settings : for all methods, such as ``abstain="O"``.

    Examples
    --------
    >>> import seqtruth as st
    >>> table = st.compare(st.datasets.load("demo"), methods=["mv", "ds"])
    >>> table["ds"].f1 > table["mv"].f1
    True
    """
    if isinstance(source, Dataset):
        crowd, truth, name = source.crowd, source.gold if gold is None else gold, source.name
    else:
        crowd, truth, name = opened_crowd(source), gold, ""
    if truth is None:
        raise ParameterError("methods are compared against a gold standard", fix="give gold=")
    chosen = prepare(methods, seed, seeds, settings)
    found = [
        row
        for method, ready in chosen.items()
        for row in score_method(method, ready, crowd, truth, {"all": sentences}, [strict])
    ]
    return MethodComparison(tuple(found), name, found[0].evaluations[0].plain)


def prepare(
    methods: str | Iterable[MethodLike],
    seed: int = 0,
    seeds: int = 1,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, list[Aggregator]]:
    """Each method by its name, once a seed; all are known before the first one runs."""
    wanted: Sequence[MethodLike] = (
        method_specs(methods) if isinstance(methods, str) else list(methods)
    )
    if not wanted:
        raise ParameterError("no method named")
    return {
        one if isinstance(one, str) else one.name: [
            make_method(one, settings, seed + n) for n in range(seeds)
        ]
        for one in wanted
    }


def score_method(
    name: str,
    methods: Sequence[Aggregator],
    crowd: Crowd,
    gold: Source,
    splits: Mapping[str, Sentences | None],
    readings: Sequence[str],
) -> Iterator[MethodScores]:
    """Fit a method, once a seed; its scores on each choice of sentences in each reading."""
    runs = [measured(partial(method.fit, crowd)) for method in methods]
    for split, sentences in splits.items():
        for strict in readings:
            yield MethodScores(
                name,
                split,
                strict,
                tuple(evaluate(result, gold, sentences, strict) for result, _ in runs),
                float(np.mean([cost.seconds for _, cost in runs])),
                float(np.max([cost.peak_mib for _, cost in runs])),
                runs[0][0].history.stop_reason,
            )


def _mean_calibration(found: Sequence[Calibration | None]) -> dict[str, Any]:
    """Calibration errors (None where a confidence is no probability) and F1 of the surest sentences."""
    known = [one for one in found if one is not None]
    errors: dict[str, Any] = {}
    for kind in ("token", "span", "sentence"):
        scores = [getattr(one, kind) for one in known]
        values = [score.ece for score in scores if score is not None]
        errors[kind] = float(np.mean(values)) if values else None
    surest = {
        f"{rows[0].share:g}": float(np.mean([row.f1 for row in rows]))
        for rows in zip(*(one.selective for one in known), strict=True)
    }
    return {"calibration_error": errors, "f1_of_surest": surest}
