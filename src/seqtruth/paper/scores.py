"""Scores of runs beside the paper's figures, in per cent: mean and spread over seeds, difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.metrics import Averages, Evaluation, Score, evaluate
from seqtruth.paper.paper import Figures, Triple

#: Ways of scoring, and which of the paper's columns each stands beside.
SCORINGS = {
    "conlleval": "strict",
    "b-required": "strict",
    "label-set": "relaxed",
    "token-micro": "relaxed",
    "token-macro": "relaxed",
}


@dataclass(frozen=True)
class Row:
    """One system on one split by one way of scoring.

    ``spread`` is the standard deviation of F1 over seeds (None for one seed), ``difference`` ours
    minus the paper's F1.
    """

    table: str
    data: str
    split: str
    system: str
    spec: str
    abstain: str | None
    scoring: str
    precision: float
    recall: float
    f1: float
    spread: float | None
    seeds: int
    sentences: int
    paper_precision: float | None = None
    paper_recall: float | None = None
    paper_f1: float | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Row:
        """Inverse of :meth:`to_dict`."""
        return cls(**{one.name: values[one.name] for one in fields(cls)})

    @property
    def difference(self) -> float | None:
        return None if self.paper_f1 is None else self.f1 - self.paper_f1

    def to_dict(self) -> dict[str, Any]:
        """Plain values, rounded to what is worth keeping."""
        values = asdict(self) | {"difference": self.difference}
        return {k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()}


@dataclass(frozen=True)
class Subject:
    """Whose scores they are, and where they belong."""

    table: str
    data: str
    system: str
    spec: str
    abstain: str | None = None


def rows_of(
    subject: Subject,
    split: str,
    labellings: Sequence[Labelling],
    gold: Crowd,
    sentences: np.ndarray,
    paper: Figures | None,
) -> list[Row]:
    """A row for each way of scoring, from the labels of all seeds."""
    found = [evaluate(one, gold, sentences=sentences) for one in labellings]
    rows = []
    for scoring, kind in SCORINGS.items():
        figures = np.array([_three(one, scoring) for one in found])
        beside: Triple | None = None if paper is None else getattr(paper, kind)
        spread = float(figures[:, 2].std(ddof=1)) if len(found) > 1 else None
        rows.append(
            Row(
                **asdict(subject), split=split, scoring=scoring,
                precision=float(figures[:, 0].mean()), recall=float(figures[:, 1].mean()),
                f1=float(figures[:, 2].mean()), spread=spread, seeds=len(found),
                sentences=found[0].n_sentences,
                paper_precision=None if beside is None else beside.precision,
                paper_recall=None if beside is None else beside.recall,
                paper_f1=None if beside is None else beside.f1,
            )
        )  # fmt: skip
    return rows


def _three(found: Evaluation, scoring: str) -> tuple[float, float, float]:
    score: Score | Averages
    if scoring == "label-set":
        score = found.label_set
    elif scoring.startswith("token-"):
        score = getattr(found.token, scoring.removeprefix("token-"))
    else:
        score = found.spans[scoring]
    return 100 * score.precision, 100 * score.recall, 100 * score.f1


def pick(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """The rows whose fields have these values."""
    return [r for r in rows if all(getattr(r, name) == value for name, value in wanted.items())]
