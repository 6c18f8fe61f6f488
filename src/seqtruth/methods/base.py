"""What all aggregators share: hyper-parameters in a frozen dataclass, ``fit(crowd) -> Result``."""

from __future__ import annotations

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self, overload

import numpy as np

from seqtruth._version import __version__
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.engine import ChangedParts, MemoryParts, Parts, Remembered, SparkFrame, StoredResult
from seqtruth.engine.opening import Readable, in_parts, opened
from seqtruth.errors import DataWarning, InputError, MissingExtraError, ParameterError
from seqtruth.fitted import AGREED
from seqtruth.kernels.arrays import Bool, Tags
from seqtruth.methods.abstention import (
    spoken_and_seen,
    stretches,
    understand_silence,
    without_silence,
)
from seqtruth.methods.layers import Layer, fit_layers, is_layered
from seqtruth.methods.loop import Checkpoint, Progress, fingerprint
from seqtruth.methods.task import (
    Decision,
    Outcome,
    Task,
    decided,
    judged,
    settled,
    voted,
    written,
)
from seqtruth.metrics.align import Source, align, as_labelling
from seqtruth.metrics.annotators import AnnotatorScores, counts_table
from seqtruth.metrics.characters import on_same_tokens
from seqtruth.noticing import noticed
from seqtruth.result import Annotators, Result


@dataclass(frozen=True, kw_only=True)
class Aggregator(ABC):
    """Base of every method.

    Parameters
    ----------
    abstain : whose ``O`` is a vote, and whose is silence. ``"auto"``: found from the data for each
        source and type (:mod:`seqtruth.methods.abstention`) and said in the result's warnings and
        provenance. ``"none"`` or None: every tag is a vote. A tag, such as ``"O"``: it counts as "no opinion"
        whoever gives it. Missing tags never count.
    """

    name: ClassVar[str]
    #: Whether every output sentence obeys the label scheme.
    promises_legal: ClassVar[bool] = False
    #: Conformance checks that do not apply, each with the reason (see :mod:`seqtruth.testing`).
    exempt: ClassVar[Mapping[str, str]] = {}
    #: Whether sums over parts are all the method needs, so that it runs on every engine.
    adds_up: ClassVar[bool] = False
    abstain: str | None = "auto"

    @overload
    def fit(
        self,
        crowd: Parts | SparkFrame,
        gold: None = None,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
        tagger: bool = True,
    ) -> StoredResult: ...

    @overload
    def fit(
        self,
        crowd: Readable,
        gold: Source | None = None,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
        tagger: bool = True,
    ) -> Result: ...

    def fit(
        self,
        crowd: Readable,
        gold: Source | None = None,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
        tagger: bool = True,
    ) -> Result | StoredResult:
        """Aggregate.

        Parameters
        ----------
        crowd : the annotations: a crowd, which is left untouched, or anything that :func:`seqtruth.read`
            reads (a path, several, a pandas, Polars or Arrow table). A crowd in parts
            (:mod:`seqtruth.engine`) or a Spark frame is worked on where it lies, by methods that can
            (:meth:`check_engine`).
        gold : true labels known for some sentences, as a labelling, a crowd of one, a path or a frame;
            kept fixed and used to judge the annotators.
        checkpoint : folder in which every finished round is kept.
        resume : go on from what is there.
        progress : called with each finished :class:`~seqtruth.history.Step`.
        tagger : whether the result is to have its tagger. Without, one that labels need not (Accord's, where
            no sentence is without votes) is not trained.
        """
        if self._seed is not None and self._seed < 0:
            raise ParameterError("seed must not be negative", got=str(self._seed))
        if checkpoint is not None and Path(checkpoint).exists() and not Path(checkpoint).is_dir():
            raise InputError("a checkpoint is a folder", where=str(checkpoint), got="a file")
        if in_parts(crowd):
            self.check_engine("parts", known=gold is not None)
        source = opened(crowd)
        if gold is not None and isinstance(source, Crowd):
            source, gold = on_same_tokens(source, as_labelling(gold))
        with noticed() as said:
            result = self._fitted(source, gold, checkpoint, resume, progress, tagger)
        if isinstance(result, StoredResult):
            return replace(result, warnings=tuple(said))
        assert isinstance(source, Crowd)
        return replace(result, warnings=tuple(said), crowd=source)

    def fit_predict(self, crowd: Readable, gold: Source | None = None) -> Any:
        """The labels alone, as crowd-kit gives them: a pandas Series of lists, indexed by task.

        Parameters
        ----------
        crowd, gold : as for :meth:`fit`.
        """
        found: Result = self.fit(crowd, gold)
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("pandas", "frames", "fit_predict") from error
        index = pandas.Index(found.corpus.sentence_ids.to_pylist(), name="task")
        return pandas.Series(found.labels, index, name="agg_label")

    def _fitted(
        self,
        crowd: Crowd | Parts,
        gold: Source | None,
        checkpoint: str | Path | None,
        resume: bool,
        progress: Progress | None,
        tagger: bool,
    ) -> Result | StoredResult:
        if isinstance(crowd, Crowd) and is_layered(crowd):
            return self._fit_layers(crowd, gold, checkpoint, resume, progress, tagger)
        if isinstance(crowd, Crowd):
            crowd, known = _with_known(crowd, gold)
            crowd, known, spoken = self._without_abstentions(crowd, known)
            digest = crowd.digest()
            if known is not None:
                digest += hashlib.sha256(known.tobytes()).hexdigest()
            parts: Parts = MemoryParts(crowd, digest)
        else:
            parts, known, spoken = crowd, None, None
        ready = self.resolved(parts.facts.has_text, parts.facts.n_sentences)
        kept = ready._kept(checkpoint, parts.facts.digest, resume)
        task = Task(parts, known, kept, progress, tagger=tagger)
        if spoken is not None and not ready.trains_tagger:
            outcome = ready._between_silences(task, spoken)
        elif ready.abstain == "auto" and ready.silence != "finds":
            outcome = ready._understanding(task)
        else:
            outcome = ready._outcome(task)
        if spoken is not None:  # the model has seen another crowd than the one the user has
            outcome = outcome._replace(fitted=None)
        return ready._result(task, outcome)

    def _understanding(self, task: Task) -> Outcome:
        """Fit after finding out whose ``O`` is a vote."""
        found = understand_silence(task.parts)
        if not found.overlaps and not self.trains_tagger and task.parts.n_annotators > 1:
            return self._as_they_are(
                task, "no claim was judged by a second annotator: labels are taken as they are"
            )
        if not found.found:
            return self._outcome(task)
        warnings.warn(found.sentence(), DataWarning, stacklevel=4)
        task = task._replace(silent=found.silent)
        if self.silence == "keeps":
            outcome = self._outcome(task)
        else:
            parts = ChangedParts(task.parts, partial(without_silence, silent=found.silent))
            outcome = self._outcome(task._replace(parts=parts))._replace(fitted=None)
            if callable(outcome.labels):
                outcome = outcome._replace(labels=parts.asked(outcome.labels))
        return outcome._replace(notes={**outcome.notes, "silence": found.to_dict()})

    def _fit_layers(
        self,
        crowd: Crowd,
        gold: Source | None,
        checkpoint: str | Path | None,
        resume: bool,
        progress: Progress | None,
        tagger: bool,
    ) -> Result:
        """Each layer on its own (:mod:`seqtruth.methods.layers`), with a checkpoint of its own."""
        known = None if gold is None else as_labelling(gold)

        def fit(number: int, layer: Layer) -> Result:
            kept = None if checkpoint is None else Path(checkpoint) / f"layer-{number + 1}"
            if kept is not None:
                kept.parent.mkdir(exist_ok=True)
            return self.fit(
                layer.crowd, layer.gold, checkpoint=kept, resume=resume, progress=progress,
                tagger=tagger,
            )  # fmt: skip

        return fit_layers(crowd, known, fit)

    def resolved(self, has_text: bool, n_sentences: int | None = None) -> Self:
        """The method with every word that depends on the data resolved, as :meth:`fit` does first.

        Parameters
        ----------
        has_text : whether there are tokens to learn from.
        n_sentences : how many sentences there are, where that is known.
        """
        return self

    @property
    def trains_tagger(self) -> bool:
        """Whether the result will have a tagger, as far as can be told without the data."""
        return False

    @property
    def silence(self) -> str:
        """What the method does with ``O`` that was found to be silence (``abstain="auto"``).

        ``"drops"``: it gets the crowd without. ``"keeps"``: it gets it as a label that sources give and
        reads ``task.silent``. ``"finds"``: it asks :mod:`seqtruth.methods.abstention` by itself.
        """
        return "drops"

    def check_engine(self, engine: str, known: bool = False) -> None:
        """Raise for what cannot be had on an engine, before anything is opened.

        Parameters
        ----------
        engine : ``"memory"``; all others have the crowd in parts.
        known : whether labels known beforehand are to be used.
        """
        if engine == "memory":
            return
        reason = self._needs_memory()
        if reason is None and known:
            reason = "labels known beforehand cannot be used", "read the crowd into memory"
        if reason is not None:
            what, fix = reason
            raise ParameterError(f"{self.name} on a crowd in parts: {what}", fix=fix)

    def _needs_memory(self) -> tuple[str, str] | None:
        """Why these settings need the whole crowd in memory, and what to do; None where they do not."""
        if not self.adds_up:
            return (
                "this method needs all of it in memory",
                f"read the crowd into memory, or use one of {', '.join(_that_add_up())}",
            )
        if self._abstaining is not None:
            return "a tag that abstains cannot be used", "read the crowd into memory"
        return None

    @property
    def _seed(self) -> int | None:
        """Methods that draw anything are :class:`Seeded`."""
        return None

    def _kept(self, folder: str | Path | None, digest: str, resume: bool) -> Checkpoint | None:
        if folder is None:
            return None
        return Checkpoint(Path(folder), fingerprint(self.name, self.parameters(), digest), resume)

    @property
    def _abstaining(self) -> str | None:
        """The tag that is no vote, where the user has named one."""
        return None if self.abstain in ("auto", "none") else self.abstain

    def _without_abstentions(
        self, crowd: Crowd, known: Tags | None
    ) -> tuple[Crowd, Tags | None, Bool | None]:
        """The crowd without votes for the abstaining tag, which is known where nobody says more;
        and the tokens on which somebody does."""
        tag = self._abstaining
        if tag is None:
            return crowd, known, None
        label = crowd.scheme.index(tag)
        spoken, seen = spoken_and_seen(crowd, tag)
        known = crowd.scheme.unlabelled(crowd.n_tokens) if known is None else known
        known = np.where(seen & ~spoken & (known < 0), known.dtype.type(label), known)
        return crowd.abstaining(tag), known, spoken

    def _between_silences(self, task: Task, spoken: Bool) -> Outcome:
        """Fit where somebody speaks; elsewhere what is known, silence included, stands."""
        crowd, known = task.crowd, task.known
        assert known is not None
        part = stretches(crowd, spoken)
        outcome = self._outcome(task.on(part.crowd, known[part.token]))
        found = decided(outcome.labels, part.crowd)
        n_labels = crowd.n_labels
        rest = np.full((crowd.n_tokens, n_labels), 1.0 / n_labels, np.float32)
        rest[known >= 0] = np.eye(n_labels, dtype=np.float32)[known[known >= 0]]
        labels = Decision(part.back(found.tags, known), part.back(found.probabilities, rest))
        return outcome._replace(labels=labels, fitted=None)

    def _outcome(self, task: Task) -> Outcome:
        """Fit; but an annotator alone has nobody to be compared with.

        Their labels stand, made legal where the method promises that, unless a tagger is wanted.
        """
        if not task.parts.n_annotators:
            warnings.warn("nobody labelled anything", DataWarning, stacklevel=3)
        if task.parts.n_annotators != 1:
            return self._fit(task)
        if self.trains_tagger:
            warnings.warn(
                "there is only one annotator, with nobody to compare them with",
                DataWarning,
                stacklevel=3,
            )
            return self._fit(task)
        return self._as_they_are(
            task, "there is only one annotator: their labels are taken as they are"
        )

    def _as_they_are(self, task: Task, why: str) -> Outcome:
        """Labels that nobody can be compared with stand, made legal where the method promises that."""
        warnings.warn(why, DataWarning, stacklevel=4)
        ones = np.ones(task.parts.n_annotators)
        labels = partial(
            voted,
            weights=ones,
            units=np.ones(task.parts.n_labels),
            known=task.known,
            decoding="exact" if self.promises_legal else "none",
        )
        return Outcome(labels, ones)

    @abstractmethod
    def _fit(self, task: Task) -> Outcome: ...

    def parameters(self) -> dict[str, Any]:
        """Hyper-parameters as plain values."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            name: value if isinstance(value, str | int | float | None) else repr(value)
            for name, value in values.items()
        }

    def _result(self, task: Task, outcome: Outcome) -> Result | StoredResult:
        """Judge the annotators against the labels, in one more pass, and put everything together."""
        parts, facts = task.parts, task.parts.facts
        parts = parts.seeing_text() if outcome.reads else parts
        labels = Remembered(partial(settled, labels=outcome.labels, known=task.known))
        counts = outcome.judged or parts.add_up(partial(judged, labels=labels))
        annotators = Annotators(
            facts.annotators, outcome.weight, facts.annotator_sentences, facts.annotator_tokens,
            AnnotatorScores.of(facts.annotators, counts).f1, outcome.confusion,
        )  # fmt: skip
        provenance = self._provenance(facts.digest) | dict(outcome.notes)
        about = annotators, outcome.history, outcome.tagger, provenance
        if not parts.in_memory:
            return StoredResult(parts, partial(written, labels=labels), *about)
        found, corpus, fitted = labels(parts.whole), parts.whole.corpus, outcome.fitted
        if fitted is not None:  # so that an update need not count everything again
            fitted = replace(fitted, sums={**fitted.sums, AGREED: counts_table(counts)})
        return Result(
            corpus, parts.scheme, found.tags, found.probabilities, *about, found.span_confidence,
            found.sentence_confidence, fitted=fitted,
        )  # fmt: skip

    def _provenance(self, digest: str) -> dict[str, Any]:
        return {
            "seqtruth": __version__,
            "method": self.name,
            "parameters": self.parameters(),
            "seed": self._seed,
            "input": digest,
        }


@dataclass(frozen=True, kw_only=True)
class Seeded(Aggregator):
    """A method that draws at random.

    Parameters
    ----------
    seed : same seed, same bytes.
    """

    seed: int = 0

    @property
    def _seed(self) -> int | None:
        return self.seed


def _that_add_up() -> list[str]:
    """Names of the methods that run on every engine as they come."""
    from seqtruth.methods.registry import METHODS  # which imports this module

    return [
        name for name, kind in METHODS.items() if kind.adds_up and kind()._needs_memory() is None
    ]


def _with_known(crowd: Crowd, gold: Source | None) -> tuple[Crowd, Tags | None]:
    """Gold laid over the crowd's tokens (-1 where there is none), under labels that hold both."""
    if gold is None:
        return crowd, None
    blank = Labelling(crowd.corpus, crowd.scheme, crowd.scheme.unlabelled(crowd.n_tokens))
    pair = align(blank, gold)
    if pair.result.scheme.kind != crowd.scheme.kind:
        crowd = crowd.respell(pair.result.scheme.kind)
    known = pair.gold.scheme.unlabelled(crowd.n_tokens)
    known[gather(crowd.corpus.token_offsets, pair.places)[1]] = pair.gold.tags
    return crowd.recode(pair.gold.scheme), known


def check_positive(**values: float) -> None:
    """Raise for hyper-parameters that must be positive and are not."""
    for name, value in values.items():
        if not value > 0:
            raise ParameterError(f"{name} must be positive", got=str(value))
