"""AggSLC's prediction module: learn from confident sentences, predict, count as one more annotator.

Models are trained where the rounds are driven, on a sample that the parts send; it is drawn by name
and is everything where a crowd is not large. Predictions are made part by part. So the module is the
same on every engine.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seqtruth import archive
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.engine import Parts, Remembered, Sums
from seqtruth.errors import DataError
from seqtruth.kernels.arrays import F32, I64, Bool, Tags
from seqtruth.kernels.random import uniform_by_name
from seqtruth.methods.folds import Folds
from seqtruth.methods.loop import State
from seqtruth.methods.vote.labeller import Votes
from seqtruth.predictors.base import Predictor
from seqtruth.predictors.registry import as_storable, restored, settings_array
from seqtruth.schema import Column, Schema

SPLITS = ("cross-fit", "low-confidence")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Who predicts what in a round.

    Parameters
    ----------
    models : one per fold, or one for all.
    taught : bool[M], the models that had anything to learn from.
    folds : each model predicts its own fold, which it has not seen.
    asked : bool[S] of a crowd in memory, where there are no folds: the sentences to be predicted.
    """

    models: tuple[Predictor, ...]
    taught: Bool
    folds: Folds | None
    asked: Bool | None = None

    @cached_property
    def on(self) -> Remembered[tuple[F32, Bool]]:
        """ŷ[T, L] on a part, and bool[S], the sentences that have one."""
        return Remembered(self._predict)

    def _predict(self, part: Crowd) -> tuple[F32, Bool]:
        predicted = np.zeros((part.n_tokens, part.n_labels), np.float32)
        given = np.zeros(part.n_sentences, np.bool_)
        fold = None if self.folds is None else self.folds.of(part.corpus)
        for number, model in enumerate(self.models):
            ask = self.asked if fold is None else fold == number
            assert ask is not None
            if self.taught[number] and ask.any():
                chosen = np.flatnonzero(ask)
                places = gather(part.corpus.token_offsets, chosen)[1]
                predicted[places] = model.predict_proba(part.corpus[chosen])
                given |= ask
        return predicted, given


class Sample(NamedTuple):
    """Sentences to learn from, with the labels they have now and the folds they are in."""

    corpus: Corpus
    tags: Tags
    fold: I64
    confident: int
    asked: Bool | None

    def teach(self, model: Predictor, scheme: Scheme, learn: Bool) -> None:
        chosen = np.flatnonzero(learn)
        places = gather(self.corpus.token_offsets, chosen)[1]
        model.fit(self.corpus[chosen], self.tags[places], scheme=scheme)


@dataclass(frozen=True, eq=False)
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
    parts : the crowd, with its text.
    split : ``"cross-fit"`` or ``"low-confidence"``.
    threshold : ξ above which a sentence is used for training.
    count : K.
    seed : shuffles the folds, and draws the sample.
    sample : about how many sentences may be learnt from.
    """

    predictor: Predictor
    parts: Parts
    split: str
    threshold: float
    count: int
    seed: int
    sample: int

    def __post_init__(self) -> None:
        if not self.parts.facts.has_text:
            raise DataError(
                "a predictor needs the words", got="a table without tokens",
                fix="give the token text, or switch the predictor off",
            )  # fmt: skip

    @cached_property
    def folds(self) -> Folds | None:
        if self.split != "cross-fit":
            return None
        return Folds.deal(self.parts, self.count, self.seed)

    def learn(self, now: Votes, before: Predictions | None) -> tuple[Predictions, int]:
        """Go on training on what ``now`` is confident of; and how many sentences that is."""
        found, scheme = self._draw(now), self.parts.scheme
        models = self._copies(before)
        taught = np.zeros(len(models), np.bool_)
        for number, model in enumerate(models):
            if self.folds is None:
                learn = np.ones(len(found.fold), np.bool_)
                asks = found.asked is not None and bool(found.asked.any())
            else:
                learn, asks = found.fold != number, self.folds.holds(number)
            if learn.any() and asks:
                found.teach(model, scheme, learn)
                taught[number] = True
        return Predictions(models, taught, self.folds, found.asked), found.confident

    def final(self, now: Votes, last: Predictions | None) -> Predictor | None:
        """One model trained on all that ``now`` is confident of, to hand back to the user."""
        found = self._draw(now)
        if not len(found.fold):
            return None
        model = self._copies(last)[0] if self.folds is None else self.predictor.clone()
        found.teach(model, self.parts.scheme, np.ones(len(found.fold), np.bool_))
        return model

    def _copies(self, before: Predictions | None) -> tuple[Predictor, ...]:
        """Models to go on with. Where parts are read anew, the old labels are made once more by the
        old models; in memory they are remembered, and training may change the models themselves."""
        if before is None:
            n = 1 if self.folds is None else self.count
            return tuple(self.predictor.clone() for _ in range(n))
        return before.models if self.parts.in_memory else deepcopy(before.models)

    def _draw(self, now: Votes) -> Sample:
        share = min(1.0, self.sample / max(self.parts.facts.n_sentences, 1))
        function = partial(
            _confident, now=now, folds=self.folds, threshold=self.threshold, share=share,
            seed=self.seed,
        )  # fmt: skip
        return _joined(self.parts.gather(function))

    def state(self, last: Predictions) -> State:
        """Everything about the predictions as arrays, for a checkpoint."""
        arrays: State = {"taught": last.taught}
        if last.asked is not None:
            arrays["asked"] = last.asked
        for number, model in enumerate(last.models):
            settings, parts = as_storable(model, "a run with this predictor").state()
            parts["settings"] = settings_array(settings)
            arrays |= archive.under(parts, f"model{number}")
        return arrays

    def schema(self, columns: dict[str, Column], sizes: dict[str, int]) -> Schema:
        """What :meth:`state` adds to a state that is otherwise made of ``columns``."""
        folders = tuple(f"model{number}" for number in range(len(self._copies(None))))
        own = {"taught": Column("bool", (len(folders),))}
        if self.folds is None:
            own["asked"] = Column("bool", (self.parts.facts.n_sentences,))
        return Schema(columns | own, sizes, folders, self.restore)

    def restore(self, arrays: State) -> Predictions:
        """The predictions of a checkpoint's state."""
        models = []
        for number, fresh in enumerate(self._copies(None)):
            parts = archive.within(arrays, f"model{number}")
            models.append(restored(fresh, parts, self.parts.scheme))
        taught = arrays["taught"].astype(np.bool_)
        asked = arrays.get("asked")
        return Predictions(
            tuple(models), taught, self.folds, None if asked is None else asked.astype(np.bool_)
        )


def _confident(
    part: Crowd, now: Votes, folds: Folds | None, threshold: float, share: float, seed: int
) -> Sums:
    """Words and labels of sentences to learn from, drawn by name, so that parts do not matter."""
    vote = now.vote(part)
    confident = part.covered & (vote.confidence > threshold)
    chosen = np.flatnonzero(confident & _drawn(part.corpus.sentence_ids, share, seed))
    corpus = part.corpus[chosen]
    assert corpus.tokens is not None
    names = pa.array(corpus.documents, pa.large_string())
    found = {
        "confident": np.array([confident.sum()]),
        "tags": vote.tags[gather(part.corpus.token_offsets, chosen)[1]],
        "lengths": np.diff(corpus.token_offsets),
        "fold": np.zeros(len(chosen), np.int64) if folds is None else folds.of(corpus),
        **archive.pack_strings("tokens", corpus.tokens),
        **archive.pack_strings("ids", corpus.sentence_ids),
        **archive.pack_strings("documents", names.take(pa.array(corpus.sentence_document))),
    }
    return found if folds is not None else found | {"asked": ~confident}


def _drawn(ids: pa.Array, share: float, seed: int) -> Bool:
    """bool[S]: about this share of the sentences, by their names and the seed."""
    if share >= 1.0:
        return np.ones(len(ids), np.bool_)
    chosen: Bool = uniform_by_name(ids, seed) < share
    return chosen


def _joined(found: list[Sums]) -> Sample:
    """What the parts sent, as one sample."""

    def column(name: str) -> np.ndarray:
        return np.concatenate([part[name] for part in found])

    def texts(name: str) -> pa.Array:
        return pa.concat_arrays([archive.unpack_strings(name, part, "sample") for part in found])

    offsets = np.concatenate([[0], np.cumsum(column("lengths"))]).astype(np.int64)
    documents = texts("documents").dictionary_encode()
    corpus = Corpus(
        offsets, texts("ids"), texts("tokens"),
        tuple(documents.dictionary.to_pylist()) or ("",),
        np.asarray(documents.indices).astype(np.int32),
    )  # fmt: skip
    asked = column("asked").astype(np.bool_) if "asked" in found[0] else None
    return Sample(corpus, column("tags"), column("fold"), int(column("confident").sum()), asked)
