"""What all aggregators share: hyper-parameters in a frozen dataclass, ``fit(crowd) -> Result``."""

from __future__ import annotations

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from seqtruth._version import __version__
from seqtruth.aggregators.loop import Checkpoint, Progress, Rules, fingerprint
from seqtruth.compiled import F32, F64, I8
from seqtruth.corpus import gather
from seqtruth.data import Crowd, Labelling
from seqtruth.errors import DataWarning, ParameterError
from seqtruth.metrics.align import align
from seqtruth.metrics.workers import worker_scores
from seqtruth.predictors.tagger import Tagger
from seqtruth.result import Result, Workers
from seqtruth.trace import Trace


class Task(NamedTuple):
    """What a method's inside gets to work on."""

    crowd: Crowd
    known: I8 | None
    checkpoint: Checkpoint | None
    progress: Progress | None

    def rules(self, max_iter: int, tol: float, measure: str = "objective") -> Rules:
        falls = measure == "objective"
        return Rules(max_iter, tol, measure, falls, self.checkpoint, self.progress)


class Outcome(NamedTuple):
    """What a method's inside hands back; ``judged`` marks sentences labelled without any vote."""

    tags: I8
    probabilities: F32
    weight: F64
    trace: Trace = Trace()
    tagger: Tagger | None = None
    confusion: F32 | None = None
    judged: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Aggregator(ABC):
    """Base of every method.

    Parameters
    ----------
    abstain : a tag that counts as "no opinion" and is no vote (for rules and language models that
        stay silent where they have nothing to say); missing tags never count.
    """

    name: ClassVar[str]
    #: Whether every output sentence obeys the label scheme.
    promises_legal: ClassVar[bool] = False
    #: Conformance checks that do not apply, each with the reason (see :mod:`seqtruth.checks`).
    exempt: ClassVar[Mapping[str, str]] = {}

    abstain: str | None = None

    def fit(
        self,
        crowd: Crowd,
        gold: Crowd | Labelling | None = None,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> Result:
        """Aggregate.

        Parameters
        ----------
        crowd : the annotations; left untouched.
        gold : true labels known for some sentences; kept fixed and used to judge the annotators.
        checkpoint : folder in which every finished round is kept.
        resume : go on from what is there.
        progress : called with each finished :class:`~seqtruth.trace.Step`.
        """
        if self.abstain is not None:
            crowd = crowd.abstaining(self.abstain)
        if crowd.n_workers == 1:
            warnings.warn(
                "there is only one annotator: the result repeats his labels",
                DataWarning,
                stacklevel=2,
            )
        crowd, known = _with_known(crowd, gold)
        digest = crowd.digest()
        if known is not None:
            digest += hashlib.sha256(known.tobytes()).hexdigest()
        kept = None
        if checkpoint is not None:
            print_ = fingerprint(self.name, self.parameters(), digest)
            kept = Checkpoint(Path(checkpoint), print_, resume)
        outcome = self._fit(Task(crowd, known, kept, progress))
        return self._result(crowd, known, digest, outcome)

    @abstractmethod
    def _fit(self, task: Task) -> Outcome: ...

    def parameters(self) -> dict[str, Any]:
        """Hyper-parameters as plain values."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            name: value if isinstance(value, str | int | float | None) else repr(value)
            for name, value in values.items()
        }

    def _result(self, crowd: Crowd, known: I8 | None, digest: str, outcome: Outcome) -> Result:
        decided = crowd.covered.copy()
        if outcome.judged is not None:
            decided |= outcome.judged
        if known is not None:
            has = np.repeat(np.arange(crowd.n_sentences), np.diff(crowd.corpus.token_offsets))
            decided[has[known >= 0]] = True
        per_token = np.repeat(decided, np.diff(crowd.corpus.token_offsets))
        tags = np.where(per_token, outcome.tags, np.int8(-1))
        labelling = Labelling(crowd.corpus, crowd.scheme, tags)
        workers = Workers(
            crowd.workers,
            outcome.weight,
            crowd.worker_sentences,
            crowd.worker_tokens,
            worker_scores(crowd, labelling).f1 if tags.size and decided.any()
            else np.full(crowd.n_workers, np.nan),
            outcome.confusion,
        )  # fmt: skip
        provenance = {
            "seqtruth": __version__,
            "method": self.name,
            "parameters": self.parameters(),
            "seed": getattr(self, "seed", None),
            "input": digest,
        }
        return Result(
            crowd.corpus, crowd.scheme, tags, outcome.probabilities, workers, outcome.trace,
            outcome.tagger, provenance,
        )  # fmt: skip


def _with_known(crowd: Crowd, gold: Crowd | Labelling | None) -> tuple[Crowd, I8 | None]:
    """Gold laid over the crowd's tokens (-1 where there is none), under labels that hold both."""
    if gold is None:
        return crowd, None
    blank = Labelling(crowd.corpus, crowd.scheme, np.full(crowd.n_tokens, -1, np.int8))
    pair = align(blank, gold)
    if pair.result.scheme.kind != crowd.scheme.kind:
        crowd = crowd.respell(pair.result.scheme.kind)
    known = np.full(crowd.n_tokens, -1, np.int8)
    known[gather(crowd.corpus.token_offsets, pair.places)[1]] = pair.gold.tags
    return crowd.with_labels(pair.gold.scheme), known


def check_positive(**values: float) -> None:
    """Raise for hyper-parameters that must be positive and are not."""
    for name, value in values.items():
        if not value > 0:
            raise ParameterError(f"{name} must be positive", got=str(value))
