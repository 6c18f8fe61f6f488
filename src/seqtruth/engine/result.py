"""What an aggregator hands back for a crowd in parts: the labels stay where the data is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seqtruth.corpus import count
from seqtruth.data import Crowd
from seqtruth.engine.base import Labels, Parts
from seqtruth.predictors.tagger import Tagger
from seqtruth.result import Workers
from seqtruth.trace import Trace


@dataclass(frozen=True, eq=False)
class PartsResult:
    """Annotators' reliabilities, the trace, and a rule that labels each part on its own.

    Parameters
    ----------
    parts : the crowd.
    label : from a part to its labels; pure, so that writing twice gives the same.
    workers, trace, tagger, provenance : as in :class:`~seqtruth.result.Result`.
    """

    parts: Parts
    label: Callable[[Crowd], Labels]
    workers: Workers
    trace: Trace = field(default_factory=Trace)
    tagger: Tagger | None = None
    provenance: dict[str, Any] = field(default_factory=dict)

    def write(self, path: str | Path) -> None:
        """Write the labels as a long Parquet table with their confidence."""
        self.parts.write(self.label, path)

    def __str__(self) -> str:
        facts = self.parts.facts
        text = f"{self.provenance.get('method', 'labels')}: {count(facts.n_sentences, 'sentence')}"
        text += f" · {count(facts.n_annotations, 'token annotation')}"
        text += f" · {count(len(self.workers), 'annotator')}"
        if self.trace.steps:
            text += f" · {count(len(self.trace), 'round')} ({self.trace.stop_reason})"
        return text
