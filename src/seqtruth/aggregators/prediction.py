"""The prediction module: train on confident sentences, predict the others, count as one more worker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa

from seqtruth import archive
from seqtruth.aggregators.loop import State
from seqtruth.compiled import F32, F64, I8, I64, Bool
from seqtruth.corpus import Corpus, gather
from seqtruth.errors import ParameterError
from seqtruth.predictors.base import Predictor, Storable
from seqtruth.predictors.tagger import STORABLE
from seqtruth.scheme import Scheme
from seqtruth.ties import sentence_keys

SPLITS = ("cross-fit", "low-confidence")


@dataclass
class PredictionModule:
    """Trains copies of a predictor as the aggregate changes.

    ``low-confidence`` is the paper's split: one model, trained on sentences with ξ above the
    threshold, predicts the others. ``cross-fit`` keeps K models; each is trained on the confident
    sentences outside its fold and predicts all of its fold, so that every sentence gets a
    prediction from a model that has not seen its (noisy) labels. Folds are made of whole documents.
    Training is incremental: a model goes on from its parameters of the round before.

    Parameters
    ----------
    predictor : what to copy.
    corpus, scheme : the text and its labels.
    split : ``"cross-fit"`` or ``"low-confidence"``.
    threshold : ξ above which a sentence is used for training.
    folds : K.
    seed : shuffles the folds.
    """

    predictor: Predictor
    corpus: Corpus
    scheme: Scheme
    split: str
    threshold: float
    folds: int
    seed: int

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise ParameterError(
                f"prediction must be one of {', '.join(SPLITS)}", got=repr(self.split)
            )
        if self.folds < 2:
            raise ParameterError("folds must be at least 2", got=str(self.folds))
        count = self.folds if self.split == "cross-fit" else 1
        self.models: list[Predictor] = [self.predictor.clone() for _ in range(count)]
        self.fold = _folds(self.corpus, self.folds, self.seed)

    def update(self, targets: I8 | F32, confidence: F64, usable: Bool) -> tuple[F32, Bool, int]:
        """Train on the confident sentences, predict; returns ŷ[T, L], where given[S], how many were
        confident enough."""
        confident = usable & (confidence > self.threshold)
        predicted = np.zeros((self.corpus.n_tokens, len(self.scheme.labels)), np.float32)
        given = np.zeros(self.corpus.n_sentences, np.bool_)
        for number, model in enumerate(self.models):
            if self.split == "cross-fit":
                learn, ask = confident & (self.fold != number), self.fold == number
            else:
                learn, ask = confident, ~confident
            if learn.any() and ask.any():
                self._train(model, learn, targets)
                chosen = np.flatnonzero(ask)
                places = gather(self.corpus.token_offsets, chosen)[1]
                predicted[places] = model.predict_proba(self.corpus[chosen])
                given |= ask
        return predicted, given, int(confident.sum())

    def final(self, targets: I8 | F32, confidence: F64, usable: Bool) -> Predictor | None:
        """One model trained on all confident sentences, to hand back to the user."""
        learn = usable & (confidence > self.threshold)
        if not learn.any():
            return None
        model = self.models[0] if self.split == "low-confidence" else self.predictor.clone()
        self._train(model, learn, targets)
        return model

    def _train(self, model: Predictor, learn: Bool, targets: I8 | F32) -> None:
        chosen = np.flatnonzero(learn)
        places = gather(self.corpus.token_offsets, chosen)[1]
        model.fit(self.corpus[chosen], targets[places], scheme=self.scheme)

    def state(self) -> State:
        """All models as arrays, for a checkpoint."""
        arrays: State = {}
        for number, model in enumerate(self.models):
            if getattr(model, "name", None) not in STORABLE:
                raise ParameterError(
                    "a run with this predictor cannot be kept", got=type(model).__name__,
                    fix=f"leave out the checkpoint, or use one of {', '.join(STORABLE)}",
                )  # fmt: skip
            settings, parts = cast(Storable, model).state()
            text = json.dumps(settings).encode()
            arrays |= archive.under(parts, f"model{number}")
            arrays[f"model{number}/settings"] = np.frombuffer(text, np.uint8)
        return arrays

    def restore(self, arrays: State) -> None:
        """Take the models out of a checkpoint's state."""
        for number, model in enumerate(self.models):
            parts = archive.within(arrays, f"model{number}")
            if parts:
                settings: dict[str, Any] = json.loads(parts.pop("settings").tobytes())
                kind = STORABLE[cast(Storable, model).name]
                self.models[number] = cast(Predictor, kind.from_state(settings, parts, self.scheme))


def _folds(corpus: Corpus, folds: int, seed: int) -> I64:
    """Fold of every sentence: whole documents (or sentences where documents are too few), dealt out
    in an order that depends on their names and the seed, not on their places."""
    names: Sequence[str] = corpus.documents
    group = np.asarray(corpus.sentence_document, np.int64)
    if len(names) < 2 * folds:
        names, group = corpus.sentence_ids.to_pylist(), np.arange(corpus.n_sentences)
    order = np.argsort(sentence_keys(pa.array(names, pa.large_string()), seed), kind="stable")
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names)) % folds
    return rank[group]
