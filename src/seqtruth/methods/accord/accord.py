"""Accord: the labels that annotators, taggers, label chain and document agree on."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from seqtruth.archive import within
from seqtruth.engine import Parts
from seqtruth.errors import ConvergenceWarning, DataWarning, ParameterError
from seqtruth.methods.accord.by_text import complete
from seqtruth.methods.accord.calibration import (
    Lines,
    confirmed_lines,
    known_lines,
    raised_lines,
)
from seqtruth.methods.accord.labeller import Labeller, final_sums, with_confidences
from seqtruth.methods.accord.opinions import Opinion
from seqtruth.methods.accord.options import HEARD
from seqtruth.methods.accord.readings import well_read
from seqtruth.methods.accord.remembering import fitted_of
from seqtruth.methods.accord.run import Run
from seqtruth.methods.accord.taggers import tagger_of
from seqtruth.methods.base import Seeded, check_positive
from seqtruth.methods.bayes.worker_models import information
from seqtruth.methods.folds import check_folds
from seqtruth.methods.loop import State, iterate
from seqtruth.methods.marked import Marked
from seqtruth.methods.predicting import Predicting
from seqtruth.methods.reliability import check_reliability
from seqtruth.methods.task import Decide, Outcome, Task
from seqtruth.predictors.decoding import Decoded
from seqtruth.predictors.tagger import Tagger

DECODINGS = ("spans", "path")

log = logging.getLogger("seqtruth")


@dataclass(frozen=True, kw_only=True)
class Accord(Predicting, Seeded):
    """The default: understands who says what, and hears a tagger where that helps.

    It is made for every kind of annotator, from crowd workers to labelling rules, and finds out
    from the labels alone which kind it has before it. In order:

    1. **Copies** (:mod:`~seqtruth.methods.dependence`). Annotators who agree with each other, right or
       wrong, far more than with anybody else count as one witness, and relatives, who make the same
       mistakes, as fewer than they are (:mod:`~seqtruth.methods.accord.relatives`). Where a few people
       hardly agree at all, those whose marks cannot be learnt from the text are no witnesses
       (:mod:`~seqtruth.methods.accord.learnable`).
    2. **Silence** (:mod:`~seqtruth.methods.abstention`). For each type: is a claim that only one source
       makes right often enough to be worth naming? Then the others' ``O`` is silence, not a vote; but an
       ``O`` beside one's own mark says where a span ends. Where hardly anything is labelled by three,
       both readings are tried (:mod:`~seqtruth.methods.accord.readings`).
    3. **Annotators** (:mod:`~seqtruth.methods.accord.annotators`). A confusion matrix for each, with a
       prior learnt from all of them, found by EM from a vote that knows 1 and 2. Beside it a second
       model, :class:`~seqtruth.methods.bayes.bsc.BSCSeq`, in which what annotators say depends on
       what they said before, with a prior as strong as left-out annotators want it
       (:mod:`~seqtruth.methods.accord.sequences`).
    4. **Other sources** (:mod:`~seqtruth.methods.accord.opinions`). A tagger that is cross-fitted, so
       that no sentence is judged by a model that has seen its labels, and heard as it speaks, of whole
       sequences (its scores and its own chain); the label chain; the rest of
       the document (:mod:`~seqtruth.methods.accord.documents`). Sources are heard in one log-linear
       model with the annotators' evidence W, F(θ) = Σ_s log Σ_t p_θ(t | x_s) exp(α W_s(t)), whose
       trusts θ maximise the likelihood of what annotators said
       (:mod:`~seqtruth.methods.accord.trust`). Beside a tagger α = 1/2: annotators miss the same hard
       things, so five of them are fewer than five witnesses.
    5. **Choice** (:mod:`~seqtruth.methods.accord.leave_one_out`). Which annotator model or
       mixture of both (:mod:`~seqtruth.methods.accord.options`), whether the tagger is heard, and whether
       the label chain is beside it, is decided by leaving out each annotator and comparing the labels
       with theirs. Where only pairs overlap, or people miss much, a tagger must be
       clearly better, and so must a model of sequences. Where next to nobody overlaps, a tagger that
       learnt from the others tells annotators apart and is heard beside them, if it knows enough
       (:mod:`~seqtruth.methods.accord.by_text`). Where nobody can judge, confusion matrices decide
       alone, and of types on which all sources are silent a tagger that foretells a third of what they
       claim is heard where nobody speaks (:mod:`~seqtruth.methods.accord.gaps`); what only one
       annotator saw has the benefit of the doubt;
       where there is next to nothing to learn from (fewer than 40 marked places), a vote.
    6. **Labels** are the spans worth naming (:mod:`~seqtruth.kernels.span_decoding`); confidences are
       corrected, type by type, by what held-out annotators confirm
       (:mod:`~seqtruth.methods.accord.calibration`); silent sources cannot confirm each other, and spans
       of their types are taken to be right as often as is usual, cautiously.

    On every engine the same: what is learnt about annotators is summed up over all parts, what is learnt by
    example comes from all documents, or from a sample of them in a crowd of more than 500,000 tokens or
    6,000,000 annotations (:mod:`seqtruth.engine.sample`, ``docs/scale.md``).

    What was found out is in ``result.provenance`` (``"chosen"``, ``"copies"``, ``"silence"``,
    ``"by_text"``), and what a person should know before trusting the labels in ``result.warnings``.

    Parameters
    ----------
    predictor : by word or object (:class:`~seqtruth.methods.predicting.Predicting`);
        members of an :class:`~seqtruth.predictors.Ensemble` are trusted each for itself. ``"auto"`` is,
        where there is text, the CRF, with the BiLSTM beside it where torch is installed and there are
        from 2,000 to 20,000 sentences for it to learn from; None switches the prediction module off.
    evidence : α; None means 0.5 beside a predictor and 1 without.
    chain : use the learnt label chain (off: legal or not is all it says).
    documents : hear the rest of the document.
    trust : learn θ (off: chain 0.5, each predictor 1, document 0.5).
    decoding : ``"spans"``, or ``"path"``: the likeliest legal path.
    threshold : θ of :mod:`~seqtruth.kernels.span_decoding`.
    folds : for cross-fitting.
    calibrate : correct the confidences.
    reliability, reliability_strength : accuracy of annotators known beforehand, by name, and how many
        tokens that is worth.
    max_iter : rounds of training the taggers. All are made (``stop_reason`` is ``"rounds"``), except
        that without a predictor there is nothing to repeat.
    seed : folds, and the predictors' own.

    Notes
    -----
    Constants (``threshold``, ``folds``, ``max_iter``, those of the modules above) were chosen on the
    tuning parts of seven data sets and on simulated crowds; ``docs/accord.md`` has them, what each
    step is worth, and where the method falls short.
    """

    name: ClassVar[str] = "accord"
    promises_legal: ClassVar[bool] = True
    usual_predictor: ClassVar[str] = "best"
    silence: ClassVar[str] = "finds"
    adds_up: ClassVar[bool] = True

    abstain: str | None = "auto"
    evidence: float | None = None
    chain: bool = True
    documents: bool = True
    trust: bool = True
    decoding: str = "spans"
    threshold: float = 0.4
    folds: int = 3
    calibrate: bool = True
    reliability: Mapping[str, float] | None = None
    reliability_strength: float = 100.0
    max_iter: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(max_iter=self.max_iter)
        check_reliability(self.reliability, self.reliability_strength)
        if self.evidence is not None and not 0 < self.evidence < np.inf:
            raise ParameterError("evidence must be positive", got=str(self.evidence))
        if self.decoding not in DECODINGS:
            raise ParameterError(
                f"decoding must be one of {', '.join(DECODINGS)}", got=repr(self.decoding)
            )
        if not 0 <= self.threshold < 1:
            raise ParameterError("threshold must be from 0 to below 1", got=str(self.threshold))
        check_folds(self.folds)

    def _fit(self, task: Task) -> Outcome:
        reading = well_read(self, task)
        run = reading.run
        rounds = self.max_iter if run.hears else 1
        with warnings.catch_warnings():
            # the number of rounds is chosen, which is not a run cut short
            warnings.simplefilter("ignore", ConvergenceWarning)
            rules = task.rules(rounds, 0.0, "log evidence")
            state, history = iterate(reading.begin, reading.advance, rules, run.schema)
        return outcome(run, state)._replace(history=replace(history, stop_reason="rounds"))


def outcome(run: Run, state: State, tagger: Tagger | None = None) -> Outcome:
    """Labels, confidences, annotators' weights and the tagger, which is trained where none is given."""
    name, opinion, scores = run.chosen(state)
    found = run.labels(name, opinion)
    needed = run.task.tagger or run.applies or not run.usable.all()
    if tagger is None and needed:
        tagger = tagger_of(run, state, name, found.tags)
    judged = run.judge_unlabelled(tagger, found)
    lines = _lines(run, name, opinion, found)
    parts = run.task.parts
    labeller = Labeller.of(run, state, name, lines.now, tagger) if run.applies else None
    fitted = None
    if parts.in_memory:
        crowd, marked, known = parts.whole, run.told.marked, run.task.known
        if labeller is not None:  # the sample was not everything
            opinion, marked = labeller.opinion(crowd), Marked(crowd, known)
            found = labeller.choose(crowd, opinion)
            judged = labeller.judge_unlabelled(crowd, found)
        sums = final_sums(marked, found)
        labels: Decide = with_confidences(crowd, found, lines.now, judged, known)
        fitted = fitted_of(run, state, name, opinion, sums, lines.first)
    else:
        assert labeller is not None
        log.info("labelling all parts")
        labels, sums = labeller, _seen(parts).add_up(labeller.sums)
    confusion = run.confusion(sums["counts"])
    weight = information(confusion, sums["prior"])
    if run.by_text is not None:
        weight = complete(run.by_text.reliability)
    against = int(sums["against"][0]) if name.endswith(HEARD) else 0
    for notice in run.notices(confusion, against):
        warnings.warn(notice, DataWarning, stacklevel=2)
    return Outcome(
        labels, weight, tagger=tagger,
        confusion=confusion.astype(np.float32), fitted=fitted,
        reads=parts.facts.has_text, notes=run.notes(state, name, scores),
        judged=within(sums, "judged") or None,
    )  # fmt: skip


def _seen(parts: Parts) -> Parts:
    """Parts with their text, where they have any."""
    return parts.seeing_text() if parts.facts.has_text else parts


class _Lines(NamedTuple):
    """How to correct confidences: by held-out annotators, and by known labels, too."""

    first: Lines | None
    now: Lines | None


def _lines(run: Run, name: str, opinion: Opinion, found: Decoded) -> _Lines:
    scheme, offsets, known = run.crowd.scheme, run.offsets, run.known
    if not run.method.calibrate:
        return _Lines(None, None)
    log.info("confidences: holding out each annotator in turn")
    free = opinion.scores(run.crowd)

    def decode(scores: np.ndarray, at: np.ndarray) -> Decoded:
        return run.decode(name, opinion, scores, at)

    first = confirmed_lines(run.told, opinion.table, opinion.share, free, decode)
    first = raised_lines(first, found, run.told.silence, scheme)
    if known is None or not (known >= 0).any():
        return _Lines(first, first)
    return _Lines(first, known_lines(first, decode(free, offsets), known, offsets, scheme))
