"""AggSLC: truth discovery in sequence labels from crowds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F64
from seqtruth.kernels.random import sentence_keys
from seqtruth.kernels.vote import Prediction, Vote, weighted_vote
from seqtruth.methods.base import Outcome, Task, check_positive
from seqtruth.methods.crossfit import PredictionModule
from seqtruth.methods.loop import Round, State, iterate
from seqtruth.methods.parts import PartsOutcome, PartsTask
from seqtruth.methods.predicting import Predicting
from seqtruth.methods.reliability import check_reliability, known_accuracies
from seqtruth.methods.vote.aggslc_parts import aggslc_on_parts
from seqtruth.methods.vote.objective import (
    AVERAGES,
    WEIGHT_NORMS,
    average_losses,
    class_weights,
    prediction_losses,
    vote_counts,
    weights_from_losses,
)
from seqtruth.predictors.tagger import Tagger


@dataclass(frozen=True, kw_only=True)
class AggSLC(Predicting):
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
    average : an annotator's loss is averaged over tokens where he or the aggregate names an entity
        (``"entity"``), or over all he labelled (``"token"``).
    class_weights : U; ``"inverse"`` (the paper), ``"contested"``, a factor for entity labels, or
        ``"none"``; see :func:`seqtruth.methods.vote.objective.class_weights`.
    decoding : consistency module: ``"bidirectional"`` (the paper), ``"exact"``, OptSLA's
        ``"unidirectional"``, or ``"none"`` to switch it off.
    predictor : prediction module, by word or object (:class:`~seqtruth.methods.predicting.Predicting`);
        ``"auto"`` is the CRF where there is text, None switches it off.
    prediction : ``"cross-fit"``, or ``"low-confidence"`` (the paper).
    threshold : confidence ξ a sentence needs to be learnt from (paper: 0.9).
    folds : for cross-fitting.
    reliability : accuracy (0 to 1) of annotators known beforehand, by name. One of accuracy r is
        expected to lose -log r a token (what H charges where y* gives his label probability r).
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
    count); the history shows what it did.

    References
    ----------
    Sabetpour, Kulkarni, Xie & Li (2021), Truth discovery in sequence labels from crowds, ICDM.
    doi:10.48550/arXiv.2109.04470
    """

    name: ClassVar[str] = "aggslc"
    promises_legal: ClassVar[bool] = True

    weight_norm: str = "max"
    average: str = "entity"
    class_weights: str | float = 2.0
    decoding: str = "bidirectional"
    prediction: str = "cross-fit"
    threshold: float = 0.8
    folds: int = 5
    reliability: Mapping[str, float] | None = None
    reliability_strength: float = 100.0
    max_iter: int = 20
    tol: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(max_iter=self.max_iter)
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

    def _fit(self, task: Task) -> Outcome:
        fit = _Fit(self, task)
        state, history = iterate(fit.start, fit.advance, task.rules(self.max_iter, self.tol))
        if fit.module is None:
            soft = fit.vote(state["weights"]).probabilities
            return Outcome(state["tags"], soft, state["weights"], history)
        fit.module.restore(state)
        model = fit.module.final(state["tags"], state["confidence"], task.crowd.covered)
        return Outcome(
            state["tags"], state["probabilities"], state["weights"], history,
            None if model is None else Tagger(model, task.crowd.scheme),
            judged=state["given"].astype(np.bool_),
        )  # fmt: skip

    def _fit_parts(self, task: PartsTask) -> PartsOutcome:
        return aggslc_on_parts(self, task)


class _Weights(NamedTuple):
    annotators: F64
    prediction: float


@dataclass
class _Fit:
    """One run: the round as a function from state to state."""

    method: AggSLC
    task: Task

    def __post_init__(self) -> None:
        method, crowd = self.method, self.task.crowd
        self.units = class_weights(method.class_weights, crowd.scheme, partial(vote_counts, crowd))
        self.prior = -np.log(known_accuracies(crowd, method.reliability))
        self.keys = sentence_keys(crowd.corpus.sentence_ids, method.seed)
        self.module = None
        if method.chosen_predictor is not None:
            self.module = PredictionModule(
                method.chosen_predictor, crowd.corpus, crowd.scheme, method.prediction, method.threshold,
                method.folds, method.seed,
            )  # fmt: skip

    def vote(
        self, weights: F64, prediction: Prediction | None = None, probabilities: bool = True
    ) -> Vote:
        """The Y* step."""
        return weighted_vote(
            self.task.crowd, weights, self.units, decoding=self.method.decoding,
            seed=self.method.seed, prediction=prediction, known=self.task.known,
            probabilities=probabilities, keys=self.keys,
        )  # fmt: skip

    def start(self) -> State:
        """The majority vote."""
        crowd = self.task.crowd
        vote = weighted_vote(
            crowd, np.ones(crowd.n_annotators), np.ones(crowd.n_labels), seed=self.method.seed,
            known=self.task.known, probabilities=self.module is not None,
        )  # fmt: skip
        return self._as_state(vote)

    def advance(self, state: State) -> Round:
        """Weights, predictor, labels."""
        crowd, method = self.task.crowd, self.method
        losses = average_losses(
            state["losses"], crowd.annotator_tokens, method.average, self.prior,
            method.reliability_strength,
        )  # fmt: skip
        prediction, confident, more = None, 0, {}
        if self.module:
            self.module.restore(state)
            predicted, given, confident = self.module.update(
                state["tags"], state["confidence"], crowd.covered
            )
            total, tokens = prediction_losses(
                predicted, given, state["tags"], state["probabilities"], state["confidence"],
                crowd, method.average,
            )  # fmt: skip
            loss = total / tokens if tokens else np.nan
            both = weights_from_losses(np.append(losses, loss), method.weight_norm)
            weights = _Weights(both[:-1], float(both[-1]))
            prediction = Prediction(predicted, given, weights.prediction)
            more = {"given": given, "w_dl": np.array([weights.prediction])}
            if self.task.checkpoint:
                more |= self.module.state()
        else:
            weights = _Weights(weights_from_losses(losses, method.weight_norm), 0.0)
        vote = self.vote(weights.annotators, prediction, self.module is not None)
        parts = {
            "L_agg": float(weights.annotators @ vote.losses),
            "L_pred": weights.prediction * vote.prediction_loss,
            "L_inc": 2.0 * vote.illegal,
        }
        tags = state["tags"]
        change = np.count_nonzero(vote.tags != tags) / max(len(tags), 1)
        new = self._as_state(vote) | {"weights": weights.annotators} | more
        return Round(new, sum(parts.values()), parts, change, confident)

    def _as_state(self, vote: Vote) -> State:
        """What the next round needs to know of this one; y* and ξ only where a predictor asks."""
        state: State = {"tags": vote.tags, "losses": vote.sums}
        if self.module:
            state |= {"probabilities": vote.probabilities, "confidence": vote.confidence}
        return state
