"""AggSLC on a crowd in parts: one pass a round, in which only the annotators' losses travel.

Labels are a function of the weights, so nothing is kept between rounds but weights and losses; the
labels of the round before, for the share that changed, are made again from its weights.

With a predictor: the rounds first run without one; then each of two folds of the documents gives a
sample of confident sentences, from which a model is trained where the rounds are driven; then the rounds
go on with each model's opinion on the *other* fold as one more annotator.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from seqtruth import archive
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.engine import Labels, Sums
from seqtruth.kernels.arrays import F32, F64, I64, U64
from seqtruth.kernels.random import sentence_keys
from seqtruth.kernels.vote import Prediction, Vote, weighted_vote
from seqtruth.methods.loop import Round, State, iterate
from seqtruth.methods.parts import PartsOutcome, PartsTask, chosen, unsupported, voted
from seqtruth.methods.reliability import known_accuracies
from seqtruth.methods.vote.objective import (
    average_losses,
    class_weights,
    prediction_losses,
    vote_counts,
    weights_from_losses,
)
from seqtruth.predictors.base import Predictor
from seqtruth.predictors.tagger import Tagger

if TYPE_CHECKING:
    from seqtruth.methods.vote.aggslc import AggSLC

#: Sentences, about, that a model learns from: they are brought to where the rounds are driven.
SAMPLE = 20_000
FOLDS = 2


class Judges(NamedTuple):
    """Everything a part needs to make its labels.

    weights, units : of the annotators and of the labels.
    decoding, seed, average : as in :class:`~seqtruth.methods.vote.aggslc.AggSLC`.
    models : the predictor's copies, one per fold, none where there is no predictor (yet).
    w_dl : their weight.
    """

    weights: F64
    units: F64
    decoding: str
    seed: int
    average: str
    models: tuple[Predictor, ...] = ()
    w_dl: float = 0.0


def aggslc_on_parts(method: AggSLC, task: PartsTask) -> PartsOutcome:
    """Fit; see :class:`~seqtruth.methods.vote.aggslc.AggSLC`."""
    parts = task.parts
    if method.chosen_predictor is not None and not parts.facts.has_text:
        raise unsupported(method.name, "there is no text to learn from", "leave out the predictor")
    if method.chosen_predictor is not None:
        parts = parts.seeing_text()
        task = task._replace(parts=parts)
    fit = _Fit(method, task)
    state, history = iterate(fit.start, fit.advance, task.rules(method.max_iter, method.tol))
    tagger = None
    if method.chosen_predictor is not None:
        sample = parts.gather(partial(_confident, judges=fit.judges(state), share=fit.share,
                                      threshold=method.threshold))  # fmt: skip
        fit.models = _train(method.chosen_predictor, sample, parts.scheme)
        if fit.models:
            rules = task.after("predictor").rules(method.max_iter, method.tol)
            state, more = iterate(partial(fit.again, state), fit.advance, rules)
            history = history.then(more)
            whole = _train(method.chosen_predictor, sample, parts.scheme, folds=1)
            tagger = Tagger(whole[0], parts.scheme)
    label = partial(_label, judges=fit.judges(state))
    return PartsOutcome(label, state["weights"], history, tagger, reads=bool(fit.models))


@dataclass
class _Fit:
    """One run: rounds as functions from sums to sums."""

    method: AggSLC
    task: PartsTask

    def __post_init__(self) -> None:
        method, parts = self.method, self.task.parts
        self.units = class_weights(method.class_weights, parts.scheme, self._count)
        self.prior = -np.log(known_accuracies(parts, method.reliability))
        self.models: tuple[Predictor, ...] = ()
        self.share = min(1.0, SAMPLE * FOLDS / max(parts.facts.n_sentences, 1))

    def _count(self, contested: bool) -> I64:
        return self.task.parts.add_up(partial(_counts, contested=contested))["votes"]

    def judges(self, state: State) -> Judges:
        method = self.method
        if "weights" not in state:  # before the first round: the majority vote
            ones = np.ones(len(state["losses"][0]))
            return Judges(ones, np.ones(len(self.units)), "none", method.seed, method.average)
        return Judges(
            state["weights"], self.units, method.decoding, method.seed, method.average,
            self.models if "w_dl" in state else (), float(state.get("w_dl", np.zeros(1))[0]),
        )  # fmt: skip

    def start(self) -> State:
        parts = self.task.parts
        first = Judges(
            np.ones(parts.n_annotators), np.ones(parts.n_labels), "none", self.method.seed,
            self.method.average,
        )  # fmt: skip
        return {"losses": parts.add_up(partial(_round, judges=first, before=None))["losses"]}

    def again(self, state: State) -> State:
        """Where the rounds go on with a predictor: it is judged by the labels made without it."""
        judges = self.judges(state)._replace(models=self.models)
        found = self.task.parts.add_up(partial(_round, judges=judges, before=None))
        return {"weights": state["weights"], "w_dl": np.zeros(1), **_kept(found)}

    def advance(self, state: State) -> Round:
        method, parts = self.method, self.task.parts
        losses = average_losses(
            state["losses"], parts.facts.annotator_tokens, method.average, self.prior,
            method.reliability_strength,
        )  # fmt: skip
        if self.models:
            total, tokens = state["prediction"]
            losses = np.append(losses, total / tokens if tokens else np.nan)
        weights = weights_from_losses(losses, method.weight_norm)
        new: State = {"weights": weights[: parts.n_annotators]}
        if self.models:
            new["w_dl"] = weights[-1:]
        found = parts.add_up(
            partial(_round, judges=self.judges(new | {"losses": state["losses"]}),
                    before=self.judges(state))
        )  # fmt: skip
        objective = {
            "L_agg": float(new["weights"] @ found["losses"][0]),
            "L_pred": float(new["w_dl"][0] * found["hints"][0]) if self.models else 0.0,
            "L_inc": 2.0 * float(found["illegal"][0]),
        }
        change = float(found["changed"][0] / max(parts.facts.n_tokens, 1))
        return Round(new | _kept(found), sum(objective.values()), objective, change)


def _kept(found: Sums) -> State:
    return {name: found[name] for name in ("losses", "prediction") if name in found}


def _vote(part: Crowd, judges: Judges, predicted: F32 | None, soft: bool) -> Vote:
    hint = None
    if predicted is not None and judges.w_dl > 0:
        hint = Prediction(predicted, np.ones(part.n_sentences, np.bool_), judges.w_dl)
    return weighted_vote(
        part, judges.weights, judges.units, decoding=judges.decoding, seed=judges.seed,
        prediction=hint, probabilities=soft,
    )  # fmt: skip


def _round(part: Crowd, judges: Judges, before: Judges | None) -> Sums:
    """One part's share of a round: labels by ``judges``, and how many of ``before``'s they change."""
    predicted = _predict(part, judges)
    vote = _vote(part, judges, predicted, bool(judges.models))
    found: Sums = {
        "losses": vote.sums,
        "illegal": np.array([vote.illegal]),
        "hints": np.array([vote.prediction_loss]),
    }
    if predicted is not None:
        given = np.ones(part.n_sentences, np.bool_)
        found["prediction"] = np.array(
            prediction_losses(
                predicted,
                given,
                vote.tags,
                vote.probabilities,
                vote.confidence,
                part,
                judges.average,
            ),
            np.float64,
        )
    if before is not None:
        old = _vote(part, before, predicted if before.models else None, False)
        found["changed"] = np.array([np.count_nonzero(vote.tags != old.tags)])
    return found


def _label(part: Crowd, judges: Judges) -> Labels:
    predicted = _predict(part, judges)
    if predicted is None:
        return voted(part, judges.weights, judges.units, judges.decoding, seed=judges.seed)
    vote = _vote(part, judges, predicted, True)
    if judges.w_dl > 0:
        return Labels(vote.tags, vote.probabilities.max(axis=1))
    return chosen(part, vote.tags, vote.probabilities)


def _predict(part: Crowd, judges: Judges) -> F32 | None:
    """Each sentence's labels by the model that has not seen its fold."""
    if not judges.models:
        return None
    predicted = np.empty((part.n_tokens, part.n_labels), np.float32)
    fold = _folds(part.corpus)
    for number, model in enumerate(judges.models):
        ask = np.flatnonzero(fold != number)
        if len(ask):
            places = gather(part.corpus.token_offsets, ask)[1]
            predicted[places] = model.predict_proba(part.corpus[ask])
    return predicted


def _folds(corpus: Corpus) -> I64:
    """Fold of each sentence, by the name of its document, or its own where there are none."""
    if corpus.documents != ("",):
        keys = sentence_keys(pa.array(corpus.documents, pa.large_string()), 1)
        return _fold(keys)[corpus.sentence_document]
    return _fold(sentence_keys(corpus.sentence_ids, 1))


def _fold(keys: U64) -> I64:
    return ((keys >> np.uint64(32)) % np.uint64(FOLDS)).astype(np.int64)


def _confident(part: Crowd, judges: Judges, share: float, threshold: float) -> Sums:
    """Words and labels of sentences to learn from, drawn by name, so that parts do not matter."""
    vote = _vote(part, judges, None, False)
    drawn = (sentence_keys(part.corpus.sentence_ids, 2) >> np.uint64(11)) * 2.0**-53 < share
    take = np.flatnonzero(drawn & part.covered & (vote.confidence > threshold))
    corpus = part.corpus[take]
    assert corpus.tokens is not None
    return {
        "tags": vote.tags[gather(part.corpus.token_offsets, take)[1]],
        "lengths": np.diff(corpus.token_offsets),
        "fold": _folds(corpus),
        **archive.pack_strings("tokens", corpus.tokens),
    }


def _train(
    predictor: Predictor, sample: list[Sums], scheme: Scheme, folds: int = FOLDS
) -> tuple[Predictor, ...]:
    """One model a fold (or one for all); none where there is nothing to learn from."""
    if not sample:
        return ()
    tags = np.concatenate([one["tags"] for one in sample])
    lengths = np.concatenate([one["lengths"] for one in sample])
    fold = np.concatenate([one["fold"] for one in sample])
    words = pa.concat_arrays([archive.unpack_strings("tokens", one, "sample") for one in sample])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    names = pa.array([str(number) for number in range(len(lengths))], pa.large_string())
    corpus = Corpus(offsets, names, words)
    models = []
    for number in range(folds):
        learn = np.flatnonzero(fold == number) if folds > 1 else np.arange(len(lengths))
        if not len(learn):
            return ()
        model = predictor.clone()
        model.fit(corpus[learn], tags[gather(offsets, learn)[1]], scheme=scheme)
        models.append(model)
    return tuple(models)


def _counts(part: Crowd, contested: bool) -> Sums:
    return {"votes": vote_counts(part, contested)}
