"""What all aggregators share: hyper-parameters in a frozen dataclass, ``fit(crowd) -> Result``."""

from __future__ import annotations

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, overload

import numpy as np

from seqtruth._version import __version__
from seqtruth.data.crowd import Crowd, Labelling
from seqtruth.data.ragged import gather
from seqtruth.engine import Parts, PartsResult, SparkFrame, as_parts
from seqtruth.errors import DataWarning, InputError, ParameterError
from seqtruth.history import History
from seqtruth.kernels.arrays import F32, F64, I8, Bool
from seqtruth.kernels.vote import weighted_vote
from seqtruth.methods.abstention import spoken_and_seen, stretches
from seqtruth.methods.loop import Checkpoint, Progress, Rules, fingerprint, rules_for
from seqtruth.methods.parts import PartsOutcome, PartsTask, alone, result_of, unsupported
from seqtruth.metrics.align import align
from seqtruth.metrics.annotators import annotator_scores
from seqtruth.predictors.tagger import Tagger
from seqtruth.result import Annotators, Result


class Task(NamedTuple):
    """What a method's inside gets to work on."""

    crowd: Crowd
    known: I8 | None
    checkpoint: Checkpoint | None
    progress: Progress | None

    def rules(self, max_iter: int, tol: float, measure: str = "objective") -> Rules:
        return rules_for(max_iter, tol, measure, self.checkpoint, self.progress)


class Outcome(NamedTuple):
    """What a method's inside hands back.

    ``judged`` marks sentences labelled without any vote; ``span_confidence`` [T] and
    ``sentence_confidence`` [S] are for methods that have better than what follows from
    ``probabilities``.
    """

    tags: I8
    probabilities: F32
    weight: F64
    history: History = History()
    tagger: Tagger | None = None
    confusion: F32 | None = None
    judged: np.ndarray | None = None
    span_confidence: F32 | None = None
    sentence_confidence: F64 | None = None


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
    #: Conformance checks that do not apply, each with the reason (see :mod:`seqtruth.testing`).
    exempt: ClassVar[Mapping[str, str]] = {}

    abstain: str | None = None

    @overload
    def fit(
        self,
        crowd: Crowd,
        gold: Crowd | Labelling | None = None,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> Result: ...

    @overload
    def fit(
        self,
        crowd: Parts | SparkFrame,
        gold: None = None,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> PartsResult: ...

    def fit(
        self,
        crowd: Crowd | Parts | SparkFrame,
        gold: Crowd | Labelling | None = None,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> Result | PartsResult:
        """Aggregate.

        Parameters
        ----------
        crowd : the annotations; left untouched. A crowd in parts (:mod:`seqtruth.engine`) or a Spark
            frame is worked on where it lies, by methods that can.
        gold : true labels known for some sentences; kept fixed and used to judge the annotators.
        checkpoint : folder in which every finished round is kept.
        resume : go on from what is there.
        progress : called with each finished :class:`~seqtruth.history.Step`.
        """
        if getattr(self, "seed", 0) < 0:
            raise ParameterError("seed must not be negative", got=str(getattr(self, "seed", 0)))
        if checkpoint is not None and Path(checkpoint).exists() and not Path(checkpoint).is_dir():
            raise InputError("a checkpoint is a folder", where=str(checkpoint), got="a file")
        if not isinstance(crowd, Crowd):
            parts = as_parts(crowd)
            ready = self.resolved(parts.facts.has_text)
            return ready._on_parts(parts, gold, checkpoint, resume, progress)
        ready = self.resolved(crowd.corpus.tokens is not None)
        return ready._on_crowd(crowd, gold, checkpoint, resume, progress)

    def resolved(self, has_text: bool) -> Self:
        """The method with every word that depends on the data resolved, as :meth:`fit` does first.

        Parameters
        ----------
        has_text : whether there are tokens to learn from.
        """
        return self

    @property
    def trains_tagger(self) -> bool:
        """Whether the result will have a tagger, as far as can be told without the data."""
        return False

    def _on_crowd(
        self,
        crowd: Crowd,
        gold: Crowd | Labelling | None,
        checkpoint: str | Path | None,
        resume: bool,
        progress: Progress | None,
    ) -> Result:
        crowd, known = _with_known(crowd, gold)
        spoken = None
        if self.abstain is not None:
            label = crowd.scheme.index(self.abstain)
            spoken, seen = spoken_and_seen(crowd, self.abstain)
            crowd = crowd.abstaining(self.abstain)
            known = np.full(crowd.n_tokens, -1, np.int8) if known is None else known
            known = np.where(seen & ~spoken & (known < 0), np.int8(label), known)
        digest = crowd.digest()
        if known is not None:
            digest += hashlib.sha256(known.tobytes()).hexdigest()
        task = Task(crowd, known, self._kept(checkpoint, digest, resume), progress)
        if spoken is not None and known is not None and not self.trains_tagger:
            outcome = self._between_silences(task, spoken, known)
        else:
            outcome = self._alone(task) if crowd.n_annotators == 1 else self._fit(task)
        return self._result(crowd, known, digest, outcome)

    def _on_parts(
        self,
        parts: Parts,
        gold: Crowd | Labelling | None,
        checkpoint: str | Path | None,
        resume: bool,
        progress: Progress | None,
    ) -> PartsResult:
        if gold is not None or self.abstain is not None:
            what = "labels known beforehand" if gold is not None else "a tag that abstains"
            raise unsupported(self.name, f"{what} cannot be used", "read the crowd into memory")
        digest = parts.facts.digest
        task = PartsTask(parts, self._kept(checkpoint, digest, resume), progress)
        if parts.n_annotators == 1:
            outcome = alone(task, self.promises_legal)
        else:
            outcome = self._fit_parts(task)
        return result_of(parts, outcome, self._provenance(digest))

    def _kept(self, folder: str | Path | None, digest: str, resume: bool) -> Checkpoint | None:
        if folder is None:
            return None
        return Checkpoint(Path(folder), fingerprint(self.name, self.parameters(), digest), resume)

    def _between_silences(self, task: Task, spoken: Bool, known: I8) -> Outcome:
        """Fit where somebody speaks; elsewhere what is known, silence included, stands."""
        part = stretches(task.crowd, spoken)
        inner = task._replace(crowd=part.crowd, known=known[part.token])
        outcome = self._alone(inner) if task.crowd.n_annotators == 1 else self._fit(inner)
        n_labels = task.crowd.n_labels
        rest = np.full((task.crowd.n_tokens, n_labels), 1.0 / n_labels, np.float32)
        rest[known >= 0] = np.eye(n_labels, dtype=np.float32)[known[known >= 0]]
        return outcome._replace(
            tags=part.back(outcome.tags, known),
            probabilities=part.back(outcome.probabilities, rest),
            judged=None,
            span_confidence=None,
            sentence_confidence=None,
        )

    def _alone(self, task: Task) -> Outcome:
        """One annotator: nobody to compare him with. His labels stand, unless a tagger is wanted."""
        if self.trains_tagger:
            warnings.warn(
                "there is only one annotator, with nobody to compare him with",
                DataWarning,
                stacklevel=3,
            )
            return self._fit(task)
        warnings.warn(
            "there is only one annotator: his labels are taken as they are",
            DataWarning,
            stacklevel=3,
        )
        ones = np.ones(1)
        vote = weighted_vote(
            task.crowd, ones, np.ones(task.crowd.n_labels), known=task.known,
            decoding="exact" if self.promises_legal else "none",
        )  # fmt: skip
        return Outcome(vote.tags, vote.probabilities, ones)

    @abstractmethod
    def _fit(self, task: Task) -> Outcome: ...

    def _fit_parts(self, task: PartsTask) -> PartsOutcome:
        """The same on a crowd in parts; methods that need all of it at once do not have it."""
        raise unsupported(
            self.name, "this method needs all of it in memory",
            "read the crowd into memory, or use mv, ds, aggslc, hmm-crowd or bsc-seq",
        )  # fmt: skip

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
        annotators = Annotators(
            crowd.annotators,
            outcome.weight,
            crowd.annotator_sentences,
            crowd.annotator_tokens,
            annotator_scores(crowd, labelling).f1 if tags.size and decided.any()
            else np.full(crowd.n_annotators, np.nan),
            outcome.confusion,
        )  # fmt: skip
        return Result(
            crowd.corpus, crowd.scheme, tags, outcome.probabilities, annotators, outcome.history,
            outcome.tagger, self._provenance(digest), outcome.span_confidence,
            outcome.sentence_confidence,
        )  # fmt: skip

    def _provenance(self, digest: str) -> dict[str, Any]:
        return {
            "seqtruth": __version__,
            "method": self.name,
            "parameters": self.parameters(),
            "seed": getattr(self, "seed", None),
            "input": digest,
        }


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
