"""AggSLC: truth discovery in sequence labels from crowds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.engine import Remembered, Sums
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64, I64, U64
from seqtruth.kernels.random import sentence_keys
from seqtruth.methods.base import Seeded, check_positive
from seqtruth.methods.folds import check_folds
from seqtruth.methods.loop import Round, State, iterate
from seqtruth.methods.predicting import Predicting
from seqtruth.methods.reliability import check_reliability, known_accuracies
from seqtruth.methods.task import Outcome, Task
from seqtruth.methods.vote.descent import Descent, DescentLabeller
from seqtruth.methods.vote.labeller import Labeller, prediction_sums, round_sums
from seqtruth.methods.vote.objective import (
    AVERAGES,
    WEIGHT_NORMS,
    average_losses,
    class_weights,
    vote_counts,
    weights_from_losses,
)
from seqtruth.methods.vote.prediction import SPLITS, PredictionModule, Predictions
from seqtruth.methods.vote.prediction_weight import (
    LEARNT,
    PREDICTION_WEIGHTS,
    foretelling_losses,
    weight_of,
)
from seqtruth.predictors.tagger import Tagger
from seqtruth.schema import Column, Schema


@dataclass(frozen=True, kw_only=True)
class AggSLC(Predicting, Seeded):
    """Aggregation, prediction and consistency, optimised together.

    min F = L_agg + L_pred + L_inc  over the labels Y*, the annotators' weights w_j, the predictor's
    weight w_dl and its parameters θ (see :mod:`seqtruth.methods.vote.objective` for the terms). Each round:

    1. weights from losses (Eq 10), the predictor's among them;
    2. the predictor goes on learning from confident sentences and predicts;
    3. Y* by the weighted vote of annotators and predictor (Eq 12), then a legal path (Eq Y-2, Y-3).

    Starts from the majority vote.

    Parameters
    ----------
    weight_norm : ``"max"`` (the paper's Eq 10) or ``"sum"`` (the exact minimiser under eq 1).
    average : an annotator's loss is averaged over tokens where they or the aggregate name an entity
        (``"entity"``), or over all they labelled (``"token"``).
    class_weights : U; ``"inverse"`` (the paper), ``"contested"``, a factor for entity labels, or
        ``"none"``; see :func:`seqtruth.methods.vote.objective.class_weights`.
    decoding : consistency module: ``"bidirectional"`` (the paper), ``"exact"``, OptSLA's
        ``"unidirectional"``, or ``"none"`` to switch it off.
    predictor : prediction module, by word or object (:class:`~seqtruth.methods.predicting.Predicting`);
        ``"auto"`` is the CRF where there is text, None switches it off.
    prediction : ``"cross-fit"``, or ``"low-confidence"`` (the paper).
    prediction_weight : w_dl by Eq 10 (``"loss"``, the paper), or ``"learnt"``: as far as the predictor
        foretells the annotators (:mod:`seqtruth.methods.vote.prediction_weight`).
    threshold : confidence ξ a sentence needs to be learnt from (paper: 0.9).
    folds : for cross-fitting.
    sample : about so many sentences, drawn by name, may be learnt from; all where there are fewer.
    descent : block coordinate descent proper, in which F cannot rise
        (:mod:`seqtruth.methods.vote.descent` says how that differs from the print);
        ``weight_norm``, ``average`` and ``decoding`` are then not used, and ``prediction`` must be
        ``"cross-fit"``.
    reliability : accuracy (0 to 1) of annotators known beforehand, by name. One of accuracy r is
        expected to lose -log r a token (what H charges where y* gives their label probability r).
    reliability_strength : how many tokens of evidence that is worth.
    max_iter, tol : at most so many rounds; stop when F moves by no more than ``tol`` of its size, or
        no more than this share of the labels changes.
    seed : for ties between the two traversals and for the folds.

    Notes
    -----
    *Differs from the paper.* The paper's settings are ``weight_norm="max", class_weights="inverse",
    decoding="bidirectional", prediction="low-confidence", threshold=0.9`` with a BERT tagger. Our
    defaults for ``class_weights``, ``average``, ``threshold`` and ``prediction`` were chosen on
    ``nguyen_val``. The Y* step uses the closed form instead of gradient descent, and Eq 5's order
    of H. F need not fall in every round (ξ moves with Y*, and the traversals choose by entity
    count); the history shows what it did. With ``descent`` it cannot rise.

    References
    ----------
    Sabetpour, Kulkarni, Xie & Li (2021), Truth discovery in sequence labels from crowds, ICDM.
    doi:10.48550/arXiv.2109.04470
    """

    name: ClassVar[str] = "aggslc"
    promises_legal: ClassVar[bool] = True
    adds_up: ClassVar[bool] = True

    weight_norm: str = "max"
    average: str = "entity"
    class_weights: str | float = 2.0
    decoding: str = "bidirectional"
    prediction: str = "cross-fit"
    prediction_weight: str = "loss"
    threshold: float = 0.8
    folds: int = 5
    sample: int = 50_000
    descent: bool = False
    reliability: Mapping[str, float] | None = None
    reliability_strength: float = 100.0
    max_iter: int = 20
    tol: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(max_iter=self.max_iter, sample=self.sample)
        if self.prediction not in SPLITS:
            raise ParameterError(
                f"prediction must be one of {', '.join(SPLITS)}", got=repr(self.prediction)
            )
        if self.prediction_weight not in PREDICTION_WEIGHTS:
            raise ParameterError(
                f"prediction_weight must be one of {', '.join(PREDICTION_WEIGHTS)}",
                got=repr(self.prediction_weight),
            )
        check_folds(self.folds)
        if self.descent and self.prediction_weight == LEARNT:
            raise ParameterError(
                "descent has its own weight for the predictor", got="prediction_weight='learnt'",
                fix="set prediction_weight to loss, or leave descent off",
            )  # fmt: skip
        if self.descent and self.prediction != "cross-fit":
            raise ParameterError(
                "descent needs predictions for every sentence", got=f"prediction={self.prediction!r}",
                fix="set prediction to cross-fit, or leave descent off",
            )  # fmt: skip
        if self.weight_norm not in WEIGHT_NORMS:
            raise ParameterError(
                f"weight_norm must be one of {', '.join(WEIGHT_NORMS)}", got=repr(self.weight_norm)
            )
        if self.average not in AVERAGES:
            raise ParameterError(
                f"average must be one of {', '.join(AVERAGES)}", got=repr(self.average)
            )
        check_reliability(self.reliability, self.reliability_strength)
        if not 0 <= self.threshold < 1:
            raise ParameterError("threshold must be from 0 to below 1", got=str(self.threshold))

    def _needs_memory(self) -> tuple[str, str] | None:
        if self.predictor is not None and self.prediction == "low-confidence":
            return (
                "which sentences are predicted depends on all rounds before",
                "set prediction to cross-fit, or switch the predictor off",
            )
        return super()._needs_memory()

    def _fit(self, task: Task) -> Outcome:
        if self.chosen_predictor is not None:
            task = task._replace(parts=task.parts.seeing_text())
        run = _Descending(self, task) if self.descent else _Rounds(self, task)
        rules = task.rules(self.max_iter, self.tol)
        state, history = iterate(run.start, run.advance, rules, run.schema)
        labels = run.labeller(state)
        tagger = None
        if run.module is not None:
            model = run.module.final(labels, run.predictions)
            tagger = None if model is None else Tagger(model, task.parts.scheme)
        return Outcome(labels, state["weights"], history, tagger, reads=run.module is not None)


class _Setting:
    """What a run has, however it goes: label weights, prior losses, the predictor, the first vote."""

    #: What a state holds besides weights and models.
    columns: ClassVar[dict[str, Column]] = {}

    def __init__(self, method: AggSLC, task: Task) -> None:
        self.method, self.task, self.parts = method, task, task.parts
        self.units = class_weights(method.class_weights, self.parts.scheme, self._count)
        self.prior = -np.log(known_accuracies(self.parts, method.reliability))
        self.module = None
        if method.chosen_predictor is not None:
            self.module = PredictionModule(
                method.chosen_predictor, self.parts, method.prediction, method.threshold,
                method.folds, method.seed, method.sample,
            )  # fmt: skip
        self.first = Labeller(
            np.ones(self.parts.n_annotators), np.ones(self.parts.n_labels), seed=method.seed,
            known=task.known, soft=self.module is not None,
        )  # fmt: skip

    def _count(self, contested: bool) -> I64:
        return self.parts.add_up(partial(_votes, contested=contested))["votes"]

    def schema(self) -> Schema:
        """What a state is after a round."""
        columns = self.columns | {"weights": Column("float64", ("annotators",), 0.0)}
        sizes = {"annotators": self.parts.n_annotators}
        if self.module is None:
            return Schema(columns, sizes)
        columns["w_dl"] = Column("float64", (1,), 0.0)
        return self.module.schema(columns, sizes)


class _Descending(_Setting):
    """One run by :class:`~seqtruth.methods.vote.descent.Descent`."""

    def __init__(self, method: AggSLC, task: Task) -> None:
        super().__init__(method, task)
        expected, strength = ~np.isnan(self.prior), method.reliability_strength
        losses = np.where(expected, strength * self.prior, 0.0)
        prior = losses, np.where(expected, strength, 0.0)
        self.blocks = Descent(
            self.parts, self.first, self.units, self.module, prior, task.checkpoint is not None
        )
        self.predictions: Predictions | None = None
        self.start, self.advance = self.blocks.start, self.blocks.advance

    def labeller(self, state: State) -> DescentLabeller:
        """What makes the labels given out."""
        now = self.blocks.labeller(state)
        self.predictions = now.predictions
        return replace(now, legal=True)


class _Rounds(_Setting):
    """One run as printed: the round as a function from sums to sums, in one pass without a predictor.

    With one, a pass draws the sample that its models learn from, another finds how far they are from
    the present labels (hence their weight), and a third makes the new labels.
    """

    columns: ClassVar[dict[str, Column]] = {"losses": Column("float64", (3, "annotators"))}

    def __init__(self, method: AggSLC, task: Task) -> None:
        super().__init__(method, task)
        self.keys = Remembered(partial(_keys, seed=method.seed))
        self.predictions: Predictions | None = None
        self._now: Labeller | None = None

    def start(self) -> State:
        """The majority vote."""
        self._now = self.first
        found = self.parts.add_up(partial(round_sums, now=self._now, before=None))
        return {"losses": found["losses"]}

    def labeller(self, state: State) -> Labeller:
        """What makes the labels of a state."""
        if self._now is None:  # the state is from a checkpoint
            if self.module is not None:
                self.predictions = self.module.restore(state)
            w_dl = float(state["w_dl"][0]) if self.module is not None else 0.0
            self._now = self._labeller(state["weights"], w_dl)
        return self._now

    def _labeller(self, weights: F64, w_dl: float) -> Labeller:
        """By the present predictions."""
        method = self.method
        return Labeller(
            weights, self.units, method.decoding, seed=method.seed, known=self.task.known,
            keys=self.keys, predictions=self.predictions, w_dl=w_dl, soft=self.module is not None,
        )  # fmt: skip

    def advance(self, state: State) -> Round:
        """Weights, predictor, labels."""
        method, parts, before = self.method, self.parts, self.labeller(state)
        losses = average_losses(
            state["losses"], parts.facts.annotator_tokens, method.average, self.prior,
            method.reliability_strength,
        )  # fmt: skip
        confident = 0
        if self.module is not None:
            self.predictions, confident = self.module.learn(before, self.predictions)
            function = partial(
                prediction_sums, predictions=self.predictions, now=before, average=method.average
            )
            total, tokens = parts.add_up(function)["prediction"]
            losses = np.append(losses, total / tokens if tokens else np.nan)
        both = weights_from_losses(losses, method.weight_norm)
        weights, w_dl = both[: parts.n_annotators], both[parts.n_annotators :]
        if self.predictions is not None and method.prediction_weight == LEARNT:
            learnt = partial(
                foretelling_losses, predictions=self.predictions, weights=weights, units=self.units
            )
            w_dl = np.array([weight_of(parts.add_up(learnt)["foretelling"], weights)])
        self._now = self._labeller(weights, float(w_dl.sum()))
        found = parts.add_up(partial(round_sums, now=self._now, before=before))
        objective = {
            "L_agg": float(weights @ found["losses"][0]),
            "L_pred": self._now.w_dl * float(found["prediction_loss"][0]),
            "L_inc": 2.0 * float(found["illegal"][0]),
        }
        change = float(found["changed"][0]) / max(parts.facts.n_tokens, 1)
        new: State = {"losses": found["losses"], "weights": weights}
        if self.predictions is not None:
            new["w_dl"] = w_dl
        if self.module is not None and self.predictions is not None and self.task.checkpoint:
            new |= self.module.state(self.predictions)
        return Round(new, sum(objective.values()), objective, change, confident)


def _keys(part: Crowd, seed: int) -> U64:
    return sentence_keys(part.corpus.sentence_ids, seed)


def _votes(part: Crowd, contested: bool) -> Sums:
    return {"votes": vote_counts(part, contested)}
