"""Accord: annotators, taggers, label chain and document, each believed as far as it deserves."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from seqtruth.data.ragged import gather
from seqtruth.errors import ConvergenceWarning, ParameterError
from seqtruth.kernels.arrays import F32, F64, I64, Tags
from seqtruth.kernels.chain import FORBIDDEN, Chain, forward_backward
from seqtruth.methods.abstention import stretches
from seqtruth.methods.accord.calibration import (
    Confidence,
    Lines,
    confirmed_lines,
    known_lines,
    raw_confidence,
)
from seqtruth.methods.accord.documents import Documents
from seqtruth.methods.accord.span_choice import Decoded, best_spans
from seqtruth.methods.accord.trust import LEAST, Beliefs, learn_trust, log_evidence
from seqtruth.methods.base import Seeded, check_positive
from seqtruth.methods.bayes.bsc import BSCSeq
from seqtruth.methods.bayes.sequence_model import CrowdHMM, label_scores, majority
from seqtruth.methods.bayes.worker_models import information
from seqtruth.methods.crossfit import cross_fit, together, train_on_all
from seqtruth.methods.folds import document_folds
from seqtruth.methods.loop import Round, Rules, State, iterate
from seqtruth.methods.predicting import Predicting
from seqtruth.methods.reliability import check_reliability
from seqtruth.methods.task import Decision, Outcome, Task
from seqtruth.predictors.base import Predictor
from seqtruth.predictors.ensemble import Ensemble
from seqtruth.predictors.tagger import Tagger

DECODINGS = ("spans", "path")
#: Trusts to begin with: the chain's, a predictor's, the document's.
CHAIN, PREDICTOR, DOCUMENT = 0.5, 1.0, 0.5
#: Passes in which documents and trusts settle.
PASSES = 2

log = logging.getLogger("seqtruth")


@dataclass(frozen=True, kw_only=True)
class Accord(Predicting, Seeded):
    """The flagship: four kinds of evidence about each label, weighed without gold.

    *Aggregation.* A Bayesian model of each annotator (:class:`~seqtruth.methods.bayes.bsc.BSCSeq`) turns
    what he said into evidence W[i, l] = Σ_j E[log A^j]. It counts by the share α: annotators miss the
    same hard things, so five of them are fewer than five witnesses.

    *Prediction.* Taggers are trained on the annotators' mean opinion, softmax(W / number of annotators),
    and, from the second round on, on the posterior; each is cross-fitted, so that no sentence is judged
    by a model that has seen its labels. Their log probabilities are sources f_m.

    *Consistency.* The label chain (legal transitions only), and the document
    (:mod:`~seqtruth.methods.accord.documents`): what a word is elsewhere in the same text.

    One objective holds them together, the likelihood of the annotators' evidence under a log-linear
    model of the sources, F(θ) = Σ_s log Σ_t p_θ(t | x_s) exp(α W_s(t)); trusts θ maximise it
    (:mod:`~seqtruth.methods.accord.trust`). Labels are the spans worth naming under the posterior
    (:mod:`~seqtruth.kernels.span_decoding`), confidences are corrected by what held-out annotators confirm
    (:mod:`~seqtruth.methods.accord.calibration`).

    Parameters
    ----------
    predictor : by word or object (:class:`~seqtruth.methods.predicting.Predicting`);
        members of an :class:`~seqtruth.predictors.Ensemble` are trusted each for itself. ``"auto"`` is,
        where there is text, the best that is installed; None switches the prediction module off.
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
    ``evidence``, ``threshold``, ``max_iter``, ``folds`` and the modules' constants were chosen on
    ``nguyen_val`` and the even PICO documents; ``docs/methods.md`` has what each ingredient is worth.
    """

    name: ClassVar[str] = "accord"
    promises_legal: ClassVar[bool] = True
    usual_predictor: ClassVar[str] = "best"
    exempt: ClassVar[Mapping[str, str]] = {
        "check_unanimous_labels_come_back": (
            "a sure tagger or the rest of the document may outweigh annotators who agree: that is how"
            " what they all missed is found"
        ),
    }

    evidence: float | None = None
    chain: bool = True
    documents: bool = True
    trust: bool = True
    decoding: str = "spans"
    threshold: float = 0.35
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
        if self.folds < 2:
            raise ParameterError("folds must be at least 2", got=str(self.folds))

    def _fit(self, task: Task) -> Outcome:
        run = _Run(self, task)
        rounds = self.max_iter if run.members else 1
        with warnings.catch_warnings():
            # the number of rounds is chosen, which is not a run cut short
            warnings.simplefilter("ignore", ConvergenceWarning)
            rules = task.rules(rounds, 0.0, "log evidence")
            state, history = iterate(run.start, run.advance, rules)
        return run.outcome(state)._replace(history=replace(history, stop_reason="rounds"))


class _Run:
    """One run: the round as a function from state to state."""

    def __init__(self, method: Accord, task: Task) -> None:
        self.method, self.task, self.crowd = method, task, task.crowd
        self.members: tuple[Predictor, ...] = ()
        predictor = method.chosen_predictor
        if isinstance(predictor, Ensemble):
            self.members = predictor.members
        elif predictor is not None:
            self.members = (predictor,)
        self.share = method.evidence or (0.5 if self.members else 1.0)
        self.annotators = self._model(task)
        spoken = gather(self.offsets, self.crowd.row_sentence.astype(np.int64))[1]
        self.voices = np.bincount(
            spoken[self.crowd.tags >= 0], minlength=self.crowd.n_tokens
        )  # fmt: skip
        documents = Documents(self.crowd.corpus, self.crowd.scheme) if method.documents else None
        self.documents = documents if documents is not None and documents.repeat else None

    @property
    def offsets(self) -> I64:
        return self.crowd.corpus.token_offsets

    def start(self) -> State:
        """The annotators' own model, and their mean opinion as the first thing to learn from."""
        log.info("weighing %d annotators", self.crowd.n_annotators)
        quiet = Rules(100, 1e-6, "lower bound", False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            task = self._heard_part()
            model, begin = self._model(task), majority(task)
            state, _ = iterate(lambda: model.start(begin), model.advance, quiet)
        tables = model.tables(state)
        assert tables.transition is not None
        heard = label_scores(self.crowd, tables.annotators)
        mean = self._clamp(heard / np.maximum(self.voices, 1)[:, None])
        return {
            "table": tables.annotators,
            "chain": np.vstack([tables.transition, tables.start]),
            "targets": forward_backward(mean, self.offsets, Chain.free(mean.shape[1])).marginals,
            "trust": np.array([CHAIN, *[PREDICTOR] * len(self.members)]),
            "round": np.zeros(1, np.int64),
        }

    def _model(self, task: Task) -> CrowdHMM:
        method = self.method
        return BSCSeq(
            reliability=method.reliability, reliability_strength=method.reliability_strength
        ).model(task)

    def _heard_part(self) -> Task:
        """What annotators are judged by: where sources abstain, only where somebody speaks."""
        if self.method.abstain is None or self.task.known is None:
            return self.task
        part = stretches(self.crowd, self.voices > 0)
        return self.task.on(part.crowd, self.task.known[part.token])

    def advance(self, state: State) -> Round:
        """Taggers learn; trusts, documents and labels settle."""
        number = int(state["round"][0])
        opinions = cross_fit(
            self.members, self.crowd.corpus, self.crowd.scheme, state["targets"], self._usable(),
            self.method.folds, self.method.seed, number,
        )  # fmt: skip
        new = state | {f"opinion{m}": said for m, said in enumerate(opinions)}
        new["round"] = np.array([number + 1])
        new["trust"] = state["trust"][: 1 + len(self.members)]
        beliefs = self._beliefs(new)
        heard = self._clamp(self.share * self._heard(state))
        beliefs, value = self._settle(beliefs, heard)
        before = state.get("posterior")
        if self.documents is not None:
            for _ in range(PASSES):
                posterior = self._posterior(beliefs, heard)
                trust = beliefs.trust
                if len(trust) == 1 + len(self.members):
                    trust = np.append(trust, DOCUMENT)
                features = (
                    *beliefs.features[: len(self.members)],
                    self.documents.evidence(posterior),
                )
                beliefs, value = self._settle(Beliefs(beliefs.chain, features, trust), heard)
            new["document"] = beliefs.features[-1].astype(np.float32)
        posterior = self._posterior(beliefs, heard)
        taught = Beliefs(
            beliefs.chain,
            beliefs.features[: len(self.members)],
            beliefs.trust[: 1 + len(self.members)],
        )
        new |= {
            "trust": beliefs.trust,
            "posterior": posterior,
            # without the document, which would be heard twice in the next round
            "targets": self._posterior(taught, heard),
        }
        moved = None if before is None else np.abs(posterior - before)
        change = None if moved is None else float(moved.sum() / max(moved.size, 1))
        return Round(new, value, {"annotators": value}, change)

    def outcome(self, state: State) -> Outcome:
        """Labels, confidences, annotators' weights and the tagger."""
        scheme = self.crowd.scheme
        beliefs, heard = self._beliefs(state), self.share * self._heard(state)
        posterior = state["posterior"]
        taught = self.annotators.start(posterior)
        confusion = self.annotators.annotators.confusion(
            taught, self.annotators.prior, len(scheme.labels)
        )
        chosen = self._keep_known(beliefs, beliefs.scores(self._clamp(heard)))
        tags, raw = chosen.tags, raw_confidence(chosen, self.offsets, scheme)
        if self.task.known is not None:
            tags[:] = np.where(self.task.known >= 0, self.task.known, tags)

        def judge() -> Confidence:
            if not self.method.calibrate:
                return raw
            return self._honest(beliefs, heard, state["table"], raw)

        tagger, confidence = together([partial(self._tagger, state, tags), judge])
        if self.task.known is not None:
            given = np.flatnonzero(self.task.known >= 0)
            confidence.token[given] = 1.0
            confidence.span[given] = scheme.is_entity[tags[given]]
            told = np.concatenate([[0], np.cumsum(self.task.known >= 0)])[self.offsets]
            lengths = np.diff(self.offsets)
            confidence.sentence[(np.diff(told) == lengths) & (lengths > 0)] = 1.0
        labels = Decision(
            tags,
            _with_confidence(posterior, tags, confidence.token),
            self._judged(),
            confidence.span,
            confidence.sentence,
        )
        return Outcome(
            labels,
            information(confusion, posterior.sum(axis=0, dtype=np.float64)),
            tagger=tagger,
            confusion=confusion.astype(np.float32),
        )

    def _keep_known(self, beliefs: Beliefs, scores: F64) -> Decoded:
        """Choices; where known labels are inside spans not worth naming, the likeliest path."""
        chosen = self._decode(beliefs, scores, self.offsets)
        if self.task.known is None:
            return chosen
        lost = (self.task.known >= 0) & (chosen.tags != self.task.known)
        count = np.concatenate([[0], np.cumsum(lost)])[self.offsets]
        offsets, at = gather(self.offsets, np.flatnonzero(np.diff(count)))
        chain = beliefs.tempered_chain()
        path = best_spans(scores[at], offsets, chain, self.crowd.scheme, None)
        chosen.tags[at], chosen.span[at] = path.tags, path.span
        return chosen

    def _honest(self, beliefs: Beliefs, heard: F64, table: F64, raw: Confidence) -> Confidence:
        """Confidences corrected by held-out annotators, and by known labels where there are any."""
        log.info("confidences: holding out each annotator in turn")
        crowd, known = self.crowd, self.task.known
        free = beliefs.scores(heard)
        lines: Lines = confirmed_lines(
            crowd, table, self.share, free, lambda s, at: self._decode(beliefs, s, at)
        )
        if known is not None and (known >= 0).any():
            unaided = self._decode(beliefs, free, self.offsets)
            lines = known_lines(lines, unaided, known, self.offsets, crowd.scheme)
        span = np.where(raw.span > 0, lines["span"](raw.span), 0.0)
        return Confidence(
            lines["token"](raw.token).astype(np.float32),
            span.astype(np.float32),
            lines["sentence"](raw.sentence),
        )

    def _tagger(self, state: State, tags: Tags) -> Tagger | None:
        """Trained on the labels themselves: probabilities of single tags would blur where spans end."""
        usable = self._usable()
        if not self.members or not usable.any():
            return None
        corpus, scheme = self.crowd.corpus, self.crowd.scheme
        trained = train_on_all(self.members, corpus, scheme, tags, usable, self.method.seed)
        weights = state["trust"][1 : 1 + len(self.members)]
        return Tagger(trained[0] if len(trained) == 1 else Ensemble(trained, weights), scheme)

    def _heard(self, state: State) -> F64:
        return label_scores(self.crowd, state["table"])

    def _beliefs(self, state: State) -> Beliefs:
        scheme = self.crowd.scheme
        rows = state["chain"]
        chain = Chain(rows[-1].copy(), rows[:-1].copy(), scheme.end.astype(np.float64))
        if not self.method.chain:
            chain = Chain.legal(scheme.grammar)
        names = [f"opinion{m}" for m in range(len(self.members))]
        if len(state["trust"]) > 1 + len(self.members):
            names.append("document")
        features = tuple(_log(state[name]) if name != "document" else state[name].astype(np.float64)
                         for name in names)  # fmt: skip
        return Beliefs(chain, features, state["trust"])

    def _settle(self, beliefs: Beliefs, heard: F64) -> tuple[Beliefs, float]:
        known = None if self.task.known is None else self._clamp(np.zeros_like(heard))
        if not self.method.trust:
            return beliefs, log_evidence(beliefs, heard, self.offsets, known)[0]
        learnt = learn_trust(beliefs, heard, self.crowd.corpus, self.method.seed, known)
        return beliefs._replace(trust=learnt.trust), learnt.log_evidence

    def _posterior(self, beliefs: Beliefs, heard: F64) -> F32:
        chain = beliefs.tempered_chain()
        return forward_backward(beliefs.scores(heard), self.offsets, chain).marginals

    def _decode(self, beliefs: Beliefs, scores: F64, offsets: I64) -> Decoded:
        threshold = self.method.threshold if self.method.decoding == "spans" else None
        return best_spans(scores, offsets, beliefs.tempered_chain(), self.crowd.scheme, threshold)

    def _usable(self) -> np.ndarray:
        """bool[S]: is there anything to learn from in the sentence?"""
        covered = self.crowd.covered
        if self.task.known is None:
            return covered
        told = np.concatenate([[0], np.cumsum(self.task.known >= 0)])[self.offsets]
        return np.asarray(covered | (np.diff(told) > 0))

    def _judged(self) -> np.ndarray:
        """bool[S]: is there a tagger that learnt outside the sentence's fold?"""
        if not self.members:
            return np.zeros(self.crowd.n_sentences, np.bool_)
        fold = document_folds(self.crowd.corpus, self.method.folds, self.method.seed)
        usable = self._usable()
        taught = [bool((usable & (fold != k)).any()) for k in range(self.method.folds)]
        return np.array(taught)[fold]

    def _clamp(self, scores: F64) -> F64:
        """Known labels leave no other choice."""
        if self.task.known is None:
            return scores
        given = np.flatnonzero(self.task.known >= 0)
        scores = scores.copy()
        scores[given] = FORBIDDEN
        scores[given, self.task.known[given]] = 0.0
        return scores


def _log(probabilities: F32) -> F64:
    return np.maximum(np.log(np.maximum(probabilities, 1e-30, dtype=np.float64)), LEAST)


def _with_confidence(posterior: F32, tags: np.ndarray, confidence: F32) -> F32:
    """The posterior with the chosen tags' probabilities set, the others' scaled to what is left."""
    if posterior.shape[1] == 1:
        return np.ones_like(posterior)
    at = np.arange(len(tags))
    others = posterior.astype(np.float64)
    others[at, tags] = 0.0
    rest = others.sum(axis=1)
    others[rest <= 1e-6] = 1.0
    others[at, tags] = 0.0
    out = others * ((1.0 - confidence) / others.sum(axis=1))[:, None]
    out[at, tags] = confidence
    return np.asarray(np.clip(out, 0.0, 1.0), np.float32)
