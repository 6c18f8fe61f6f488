"""What an aggregator hands back where the crowd is not in memory: the labels stay with the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seqtruth.data.crowd import Crowd
from seqtruth.engine.base import Labels, Parts
from seqtruth.history import History
from seqtruth.plural import count
from seqtruth.predictors.tagger import Tagger
from seqtruth.result import Annotators


@dataclass(frozen=True, eq=False)
class StoredResult:
    """Annotators' reliabilities, the history, and a rule that labels each part on its own.

    Parameters
    ----------
    parts : the crowd.
    label : from a part to its labels; pure, so that writing twice gives the same.
    annotators, history, tagger, provenance, warnings : as in :class:`~seqtruth.result.Result`.
    """

    parts: Parts
    label: Callable[[Crowd], Labels]
    annotators: Annotators
    history: History = field(default_factory=History)
    tagger: Tagger | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def write(self, path: str | Path) -> None:
        """Write the labels as a long Parquet table with their confidence."""
        self.parts.write(self.label, path)

    def __str__(self) -> str:
        facts = self.parts.facts
        text = f"{self.provenance.get('method', 'labels')}: {count(facts.n_sentences, 'sentence')}"
        text += f" · {count(facts.n_annotations, 'token annotation')}"
        text += f" · {count(len(self.annotators), 'annotator')}"
        if self.history.steps:
            text += f" · {self.history.rounds}"
        return text
